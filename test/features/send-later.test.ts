import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { Call } from '../../src/core/call.ts'
import { createOutbox, OUTBOX_QUEUE, type Sending } from '../../src/engine/outbox.ts'
import { createSendLater } from '../../src/features/send-later/send-later.ts'
import { createEmbeddedStore } from '../../src/stores/embedded/index.ts'
import { silent as log } from '../contract/store/kit.ts'
import { until } from '../fixtures/until.ts'
import { redisOf } from '../stores/redis/kit.ts'
import { callFrom, temporaryDir, toEvent } from './kit.ts'

const HOUR = 3_600_000
const START = Date.UTC(2026, 0, 1, 12)
const operator = callFrom()

for (const kind of ['embedded', 'redis'] as const) {
  describe(`sends at a time on the ${kind} store`, () => {
    async function make(t: TestContext) {
      let time = START
      const now = () => time
      const store =
        kind === 'embedded'
          ? await createEmbeddedStore({ dir: temporaryDir(t), log, toEvent, now })
          : await (await redisOf(t)).open()
      if (kind === 'embedded') t.after(() => store.close())
      const outbox = createOutbox(store, now)
      const begin = (out: Pick<typeof outbox, 'reply' | 'sendTo'> = outbox) => {
        const later = createSendLater({ store, outbox: out, unanswerable: () => undefined, log, now })
        later.start()
        t.after(() => later.stop())
        return later
      }
      const sent = async () => {
        const { items: jobs } = await store.jobs.claim(OUTBOX_QUEUE, { max: 10, lease: HOUR })
        const done = jobs.map(({ id, token }) => ({ id, token, outcome: 'done' as const }))
        await store.jobs.settle(OUTBOX_QUEUE, done)
        return jobs.map(({ data }) => String(Object(data).text))
      }
      return {
        begin,
        sent,
        store,
        outbox,
        pass(ms: number) {
          time += ms
        },
      }
    }
    type Begun = ReturnType<Awaited<ReturnType<typeof make>>['begin']>
    const plan = (later: Begun, key: string, after: number, call: Call = operator) => {
      const sending: Sending = { key, text: `text of ${key}` }
      return later.plan({ text: sending.text, in: after }, { gateway: 'mail', to: 'ada@x' }, sending, call)
    }
    const keys = async (later: Begun, call = operator) =>
      (await later.service.list({ limit: 10 }, call)).map((one) => String(Object(one).id))

    test('are listed soonest first, wait, and go out once', async (t) => {
      const { begin, sent, pass } = await make(t)
      const [later, other] = [begin(), begin()]
      await plan(later, 'b', 2 * HOUR)
      const first = await plan(later, 'a', HOUR)
      const again = await plan(later, 'a', 3 * HOUR)
      assert.deepEqual([first?.duplicate, again?.duplicate, again?.at], [false, true, first?.at])
      assert.deepEqual(await keys(other), ['a', 'b'])
      assert.deepEqual(await sent(), [])
      pass(HOUR)
      assert.deepEqual(await until(async () => (await sent()).at(0), 'the first'), 'text of a')
      assert.deepEqual(await keys(later), ['b'])
      pass(HOUR)
      assert.deepEqual(await until(async () => (await sent()).at(0), 'the second'), 'text of b')
      assert.equal((await plan(later, 'a', HOUR))?.state, 'sent')
      await until(async () => (await keys(later)).length === 0, 'an empty list')
      assert.deepEqual(await sent(), [])
    })

    test('are cancelled or sent, never both, however often both are tried at once', async (t) => {
      const { begin, sent, pass } = await make(t)
      const [later, other] = [begin(), begin()]
      const all = Array.from({ length: 10 }, (_, at) => `k${at}`)
      for (const key of all) await plan(later, key, HOUR)
      pass(HOUR)
      const results = await Promise.all(
        all.map((id, at) => {
          const { service } = at % 2 ? later : other
          return service.cancel({ id }, operator).then(
            () => ({ id, isCancelled: true }),
            (error) => {
              assert.equal(error.code, 'send_decided')
              return { id, isCancelled: false }
            },
          )
        }),
      )
      await until(async () => (await keys(later)).length === 0, 'an empty list')
      const expected = results.filter(({ isCancelled }) => !isCancelled).map(({ id }) => `text of ${id}`)
      const found: string[] = []
      await until(async () => {
        found.push(...(await sent()))
        return found.length >= expected.length
      }, 'what was not cancelled')
      assert.deepEqual(found.toSorted(), expected.toSorted())
      assert.deepEqual(await sent(), [])
    })

    test('that a kill cuts off in the middle are sent once', async (t) => {
      for (const cut of ['before the outbox', 'after the outbox'] as const) {
        const { begin, sent, pass, outbox } = await make(t)
        let kills = 0
        const dying = begin({
          ...outbox,
          async sendTo(...args) {
            if (cut === 'after the outbox') await outbox.sendTo(...args)
            kills += 1
            throw new Error('killed')
          },
        })
        await plan(dying, 'a', HOUR)
        pass(HOUR)
        await until(() => kills > 0, 'the kill')
        await dying.stop()
        await assert.rejects(dying.service.cancel({ id: 'a' }, operator), { code: 'send_decided' })
        begin()
        const found: string[] = []
        await until(async () => {
          found.push(...(await sent()))
          return found.length > 0
        }, 'the send')
        await until(async () => (await keys(dying)).length === 0, 'an empty list')
        assert.deepEqual([...found, ...(await sent())], ['text of a'])
      }
    })

    test('belong to who made them, and to the gateways of a token', async (t) => {
      const { begin } = await make(t)
      const later = begin()
      const [ada, bob] = [callFrom('team'), callFrom('team', { who: 'bob' })]
      const token = (...gateways: string[]): Call => ({
        ...operator,
        caller: { kind: 'http', id: 'program', skills: ['send-*'], gateways },
      })
      await plan(later, 'a', HOUR, ada)
      assert.deepEqual(await keys(later, ada), ['a'])
      assert.deepEqual(await keys(later, bob), [])
      assert.deepEqual(await keys(later, token('mail')), ['a'])
      assert.deepEqual(await keys(later, token('team')), [])
      await assert.rejects(later.service.cancel({ id: 'a' }, bob), { code: 'send_not_found' })
      await assert.rejects(later.service.cancel({ id: 'a' }, token('team')), { code: 'send_not_found' })
      assert.equal((await later.service.cancel({ id: 'a' }, token('mail'))).cancelled, true)
      assert.equal((await later.service.cancel({ id: 'a' }, ada)).cancelled, true, 'again')
      assert.deepEqual(await keys(later), [])
    })

    test('follow a clock that jumps back, by the jump and no more', async (t) => {
      const { begin, sent, pass } = await make(t)
      pass(24 * HOUR)
      const later = begin()
      await plan(later, 'a', HOUR)
      pass(-24 * HOUR)
      assert.deepEqual(await sent(), [])
      pass(25 * HOUR)
      await until(async () => (await sent()).length === 1, 'the send')
    })

    test('are refused in the past, too far ahead, and with what cannot wait', async (t) => {
      const { begin } = await make(t)
      const later = begin()
      const target = { gateway: 'mail', to: 'ada@x' }
      const sending = { key: 'a', text: 'x' }
      const file = { name: 'a', type: 'text/plain', size: 1, sha256: 'a', path: 'a' }
      for (const [args, message] of [
        [{ at: START - HOUR }, /has passed/],
        [{ at: START + HOUR, in: HOUR }, /not both/],
        [{ in: 400 * 24 * HOUR }, /at most 366 days/],
        [{ in: HOUR, wait: 100 }, /`wait` cannot be combined with/],
        [{ in: 100 * HOUR, attachments: [file] }, /at most two days/],
      ] as const) {
        assert.throws(
          () =>
            later.plan(
              { text: 'x', ...args, attachments: [...(args.attachments ?? [])] },
              target,
              sending,
              operator,
            ),
          message,
        )
      }
      assert.equal(later.plan({ text: 'x' }, target, sending, operator), undefined)
    })
  })
}
