import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { HOUR } from '../../src/core/units.ts'
import { createOutbox, OUTBOX_QUEUE } from '../../src/engine/outbox.ts'
import { createSend } from '../../src/engine/send.ts'
import type { SendArgs } from '../../src/engine/send-target.ts'
import { createSendLater } from '../../src/features/send-later/send-later.ts'
import { silent as log, saying } from '../contract/store/kit.ts'
import { until } from '../fixtures/until.ts'
import { cleanup } from '../runtime/support/cleanup.ts'
import { storeKinds } from '../runtime/support/store.ts'
import { callFrom } from './kit.ts'

const operator = callFrom()
const CHAT = { gateway: 'chat', to: 'ada' }

for (const { kind, place, open } of storeKinds()) {
  describe(`the key of a planned send on the ${kind} store`, () => {
    async function make(t: TestContext) {
      let time = Date.UTC(2026, 0, 1, 12)
      const now = () => time
      const store = await open(t, await place(t))
      const outbox = createOutbox(store, now)
      const later = createSendLater({ store, outbox, unanswerable: () => undefined, log, now })
      later.start()
      cleanup(t, () => later.stop())
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
          (await later.service.list({ limit: 10 }, operator)).map((send) => String(Object(send).id)),
        /** Marks what the outbox has as sent, and returns its texts. */
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

    test('makes a later immediate send with the same key a duplicate, which changes nothing', async (t) => {
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

    test('makes the planned send a duplicate of an earlier immediate send, also of a reply', async (t) => {
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

    test('belongs to one of several sends that are made at the same time', async (t) => {
      const site = await make(t)
      const all = Array.from({ length: 12 }, (_, n) =>
        n % 2 === 0
          ? { ...CHAT, key: 'race', text: 'later', in: HOUR }
          : { ...CHAT, key: 'race', text: 'now' },
      )
      const answers = await Promise.all(all.map(site.send))
      assert.equal(answers.filter(({ duplicate }) => !duplicate).length, 1)
      const winner = all[answers.findIndex(({ duplicate }) => !duplicate)]?.text
      const sent = await site.sent()
      site.pass(2 * HOUR)
      await until(async () => (await site.listed()).length === 0, 'an empty list')
      if (winner === 'later') sent.push(await until(async () => (await site.sent()).at(0), 'the send'))
      assert.deepEqual([...sent, ...(await site.sent())], [winner])
    })

    test('stays in use after its send was cancelled', async (t) => {
      const site = await make(t)
      await site.send({ ...CHAT, text: 'later', in: HOUR, key: 'W1' })
      await site.cancel({ key: 'W1' })
      for (const when of [{}, { in: HOUR }]) {
        const answer = await site.send({ ...CHAT, text: 'again', key: 'W1', ...when })
        assert.partialDeepStrictEqual(answer, { duplicate: true, state: 'cancelled', sent: false })
      }
      assert.deepEqual(await site.sent(), [])
    })

    test('makes the send "not sent" if the outbox already has another text with it', async (t) => {
      const site = await make(t)
      const messageId = await accept(site)
      const { key } = await site.send({ messageId, text: 'later', in: HOUR, key: 'K1' })
      const message = await site.store.journal.get(messageId)
      assert.ok(message)
      await site.outbox.reply(message, { key, text: 'from elsewhere' })
      site.pass(HOUR)
      const note = await until(async () => {
        const notes = await site.store.journal.history(messageId)
        return notes.find(({ what }) => what === 'not sent')
      }, 'the note in the history')
      assert.match(String(Object(note.detail).reason), /same key/)
      assert.equal((await site.send({ messageId, text: 'later', in: HOUR, key: 'K1' })).state, 'unsent')
      await assert.rejects(site.cancel({ messageId, key: 'K1' }), {
        code: 'send_decided',
        message: /not sent/,
      })
      assert.deepEqual(await site.sent(), ['from elsewhere'])
    })

    test('cancels the only send that has it; the error about several sends lists them', async (t) => {
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

    test('cancels no send that is due; the error says whether it is in the outbox or sent', async (t) => {
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
