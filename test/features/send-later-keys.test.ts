import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { createOutbox, OUTBOX_QUEUE } from '../../src/engine/outbox.ts'
import { createSend } from '../../src/engine/send.ts'
import type { SendArgs } from '../../src/engine/send-target.ts'
import { createSendLater } from '../../src/features/send-later/send-later.ts'
import { createEmbeddedStore } from '../../src/stores/embedded/index.ts'
import { silent as log, saying } from '../contract/store/kit.ts'
import { until } from '../fixtures/until.ts'
import { redisOf } from '../stores/redis/kit.ts'
import { callFrom, temporaryDir, toEvent } from './kit.ts'

const HOUR = 3_600_000
const operator = callFrom()
const CHAT = { gateway: 'chat', to: 'ada' }

for (const kind of ['embedded', 'redis'] as const) {
  describe(`the key of a planned send on the ${kind} store`, () => {
    async function make(t: TestContext) {
      let time = Date.UTC(2026, 0, 1, 12)
      const now = () => time
      const store =
        kind === 'embedded'
          ? await createEmbeddedStore({ dir: temporaryDir(t), log, toEvent, now })
          : await (await redisOf(t)).open()
      if (kind === 'embedded') t.after(() => store.close())
      const outbox = createOutbox(store, now)
      const later = createSendLater({ store, outbox, unanswerable: () => undefined, log, now })
      later.start()
      t.after(() => later.stop())
      const { send } = createSend({
        outbox,
        store,
        gateway: () => ({ open: true }),
        transport: () => undefined,
        files: { requireAll: async () => {} },
        later: later.plan,
        newKey: () => 'random',
      })
      const claim = async () => (await store.jobs.claim(OUTBOX_QUEUE, { max: 10, lease: HOUR })).items
      return {
        store,
        outbox,
        send: async (args: SendArgs) => Object(await send(args, operator)),
        cancel: (args: Parameters<typeof later.service.cancel>[0]) => later.service.cancel(args, operator),
        listed: async () =>
          (await later.service.list({ limit: 10 }, operator)).map((one) => String(Object(one).id)),
        /** What is in the outbox, which then is sent. */
        async sent() {
          const jobs = await claim()
          const done = jobs.map(({ id, token }) => ({ id, token, outcome: 'done' as const }))
          await store.jobs.settle(OUTBOX_QUEUE, done)
          return jobs.map(({ data }) => String(Object(data).text))
        },
        pass(ms: number) {
          time += ms
        },
      }
    }
    const accept = async ({ store }: Awaited<ReturnType<typeof make>>) => {
      const [accepted] = await store.journal.accept([saying('hello', { gateway: 'chat' })])
      return String(Object(accepted).id)
    }

    test('is that of an immediate send too: the second is a duplicate and changes nothing', async (t) => {
      const site = await make(t)
      const planned = await site.send({ ...CHAT, text: 'later', in: HOUR, key: 'W1' })
      const second = await site.send({ ...CHAT, text: 'now', key: 'W1' })
      assert.deepEqual([planned.duplicate, planned.state], [false, 'waiting'])
      assert.deepEqual(second, { ...planned, duplicate: true })
      assert.deepEqual(await site.sent(), [])
      site.pass(HOUR)
      assert.equal(await until(async () => (await site.sent()).at(0), 'the planned send'), 'later')
      assert.equal((await site.send({ ...CHAT, text: 'now', key: 'W1' })).state, 'sent')
      assert.deepEqual(await site.sent(), [])
    })

    test('is refused as a duplicate after an immediate send, also by the message', async (t) => {
      const site = await make(t)
      const messageId = await accept(site)
      for (const where of [CHAT, { messageId }]) {
        assert.equal((await site.send({ ...where, text: 'now', key: 'K1' })).duplicate, false)
        assert.equal((await site.send({ ...where, text: 'now', key: 'K1' })).duplicate, true)
        const { duplicate, state } = await site.send({ ...where, text: 'later', in: HOUR, key: 'K1' })
        assert.deepEqual([duplicate, state], [true, 'outbox'])
        assert.deepEqual(await site.sent(), ['now'])
        assert.equal((await site.send({ ...where, text: 'later', in: HOUR, key: 'K1' })).state, 'sent')
      }
      assert.deepEqual(await site.listed(), [])
      const history = await site.store.journal.history(messageId)
      assert.deepEqual(
        history.filter(({ what }) => what === 'planned'),
        [],
      )
    })

    test('goes to one of many sends that are made at once', async (t) => {
      const site = await make(t)
      const all = Array.from({ length: 12 }, (_, at) => ({
        ...{ ...CHAT, text: at % 2 ? 'now' : 'later', key: 'race' },
        ...(at % 2 ? {} : { in: HOUR }),
      }))
      const answers = await Promise.all(all.map(site.send))
      assert.equal(answers.filter(({ duplicate }) => !duplicate).length, 1)
      const winner = all[answers.findIndex(({ duplicate }) => !duplicate)]?.text
      const before = await site.sent()
      site.pass(2 * HOUR)
      await until(async () => (await site.listed()).length === 0, 'an empty list')
      const after = winner === 'later' ? await until(async () => (await site.sent()).at(0), 'the send') : []
      assert.deepEqual([...before, after].flat(), [winner])
    })

    test('stays taken after it was cancelled, whenever the next send is for', async (t) => {
      const site = await make(t)
      await site.send({ ...CHAT, text: 'later', in: HOUR, key: 'W1' })
      await site.cancel({ key: 'W1' })
      for (const when of [{}, { in: HOUR }]) {
        const { duplicate, state, sent } = await site.send({ ...CHAT, text: 'again', key: 'W1', ...when })
        assert.deepEqual([duplicate, state, sent], [true, 'cancelled', false])
      }
      assert.deepEqual(await site.sent(), [])
    })

    test('that the outbox had from elsewhere is told as not sent', async (t) => {
      const site = await make(t)
      const messageId = await accept(site)
      const { key } = await site.send({ messageId, text: 'later', in: HOUR, key: 'K1' })
      const message = await site.store.journal.get(messageId)
      assert.ok(message)
      await site.outbox.reply(message, { key, text: 'from elsewhere' })
      site.pass(HOUR)
      const truth = await until(async () => {
        const notes = await site.store.journal.history(messageId)
        return notes.find(({ what }) => what === 'not sent')
      }, 'the truth')
      assert.match(String(Object(truth.detail).reason), /same key/)
      assert.equal((await site.send({ messageId, text: 'later', in: HOUR, key: 'K1' })).state, 'unsent')
      await assert.rejects(site.cancel({ messageId, key: 'K1' }), {
        code: 'send_decided',
        message: /not sent/,
      })
      assert.deepEqual(await site.sent(), ['from elsewhere'])
    })

    test('cancels the only send that has it, and lists the candidates where several have it', async (t) => {
      const site = await make(t)
      const messageId = await accept(site)
      const plan = async (where: object, key: string) =>
        (await site.send({ text: 'later', in: HOUR, ...where, key })).key
      const chat = await plan(CHAT, 'W1')
      const mail = await plan({ gateway: 'mail', to: 'ada' }, 'W1')
      const answer = await plan({ messageId }, 'W1')
      await plan(CHAT, 'xW1')
      for (const wanted of [{ key: 'W1' }, { id: 'W1' }])
        await assert.rejects(site.cancel(wanted), (error) => {
          assert.equal(Object(error).code, 'send_key_ambiguous')
          for (const id of [chat, mail, answer]) assert.ok(String(error).includes(id), id)
          return true
        })
      assert.equal((await site.cancel({ key: 'W1', gateway: 'mail' })).id, mail)
      assert.equal((await site.cancel({ key: 'W1', messageId })).id, answer)
      assert.equal((await site.cancel({ key: 'W1' })).id, chat)
      await assert.rejects(site.cancel({ key: 'W1' }), { code: 'send_not_found' })
      await assert.rejects(site.cancel({ key: 'xW1', gateway: 'mail' }), { code: 'send_not_found' })
      await plan(CHAT, 'W2')
      assert.equal((await site.cancel({ id: 'W2' })).id, 'chat:W2')
      assert.deepEqual(await site.listed(), ['chat:xW1'])
    })

    test('tells of a send that is due whether it is in the outbox or sent', async (t) => {
      const site = await make(t)
      await site.send({ ...CHAT, text: 'later', in: HOUR, key: 'W1' })
      site.pass(HOUR)
      await until(async () => (await site.listed()).length === 0, 'an empty list')
      const wanted = { key: 'W1', gateway: 'chat' }
      await until(
        () =>
          site.cancel(wanted).then(
            () => assert.fail('cancelled'),
            (error) => {
              assert.equal(error.code, 'send_decided')
              return /is in the outbox/.test(error.message)
            },
          ),
        'it is in the outbox',
      )
      assert.deepEqual(await site.sent(), ['later'])
      await assert.rejects(site.cancel(wanted), { code: 'send_decided', message: /has been sent/ })
    })
  })
}
