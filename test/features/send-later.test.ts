import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import type { Call } from '../../src/core/call.ts'
import { DAY, HOUR } from '../../src/core/units.ts'
import { createOutbox, OUTBOX_QUEUE, type Sending } from '../../src/engine/outbox.ts'
import { createSendLater } from '../../src/features/send-later/send-later.ts'
import { silent as log } from '../contract/store/kit.ts'
import { until } from '../fixtures/until.ts'
import { cleanup } from '../runtime/support/cleanup.ts'
import { storeKinds } from '../runtime/support/store.ts'
import { callFrom } from './kit.ts'

const START = Date.UTC(2026, 0, 1, 12)
const operator = callFrom()

for (const { kind, place, open } of storeKinds()) {
  describe(`sends at a time on the ${kind} store`, () => {
    async function make(t: TestContext) {
      let time = START
      const now = () => time
      const store = await open(t, await place(t))
      const outbox = createOutbox(store, now)
      /** A daemon that plans and sends. */
      const start = (out: Pick<typeof outbox, 'reply' | 'sendTo'> = outbox) => {
        const later = createSendLater({ store, outbox: out, unanswerable: () => undefined, log, now })
        later.start()
        cleanup(t, () => later.stop())
        return later
      }
      /** Marks what the outbox has as sent, and returns its texts. */
      const sent = async () => {
        const { items: jobs } = await store.jobs.claim(OUTBOX_QUEUE, { max: 10, lease: HOUR })
        const done = jobs.map(({ id, token }) => ({ id, token, outcome: 'done' as const }))
        await store.jobs.settle(OUTBOX_QUEUE, done)
        return jobs.map(({ data }) => String(Object(data).text))
      }
      /** Advances the clock. */
      const pass = (ms: number) => {
        time += ms
      }
      return { start, sent, store, outbox, pass }
    }
    type Later = ReturnType<Awaited<ReturnType<typeof make>>['start']>
    const plan = (later: Later, key: string, after: number, call: Call = operator) => {
      const sending: Sending = { key, text: `text of ${key}` }
      return later.plan({ text: sending.text, in: after }, { gateway: 'mail', to: 'ada@x' }, sending, call)
    }
    const keys = async (later: Later, call = operator) =>
      (await later.service.list({ limit: 10 }, call)).map((send) => String(Object(send).id))

    test('are listed by time, wait, and are sent once', async (t) => {
      const { start, sent, pass } = await make(t)
      const [later, other] = [start(), start()]
      await plan(later, 'b', 2 * HOUR)
      const first = await plan(later, 'a', HOUR)
      const repeated = await plan(later, 'a', 3 * HOUR)
      assert.equal(first?.duplicate, false)
      assert.partialDeepStrictEqual(repeated, { duplicate: true, at: first?.at })
      assert.deepEqual(await keys(other), ['a', 'b'])
      assert.deepEqual(await sent(), [])
      pass(HOUR)
      assert.equal(await until(async () => (await sent()).at(0), 'the first'), 'text of a')
      assert.deepEqual(await keys(later), ['b'])
      pass(HOUR)
      assert.equal(await until(async () => (await sent()).at(0), 'the second'), 'text of b')
      assert.equal((await plan(later, 'a', HOUR))?.state, 'sent')
      await until(async () => (await keys(later)).length === 0, 'an empty list')
      assert.deepEqual(await sent(), [])
    })

    test('are either cancelled or sent if both happen at the same time', async (t) => {
      const { start, sent, pass } = await make(t)
      const [later, other] = [start(), start()]
      const all = Array.from({ length: 10 }, (_, n) => `k${n}`)
      for (const key of all) await plan(later, key, HOUR)
      pass(HOUR)
      const results = await Promise.all(
        all.map((id, index) => {
          const { service } = index % 2 ? later : other
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
      }, 'the sends that were not cancelled')
      assert.deepEqual(found.toSorted(), expected.toSorted())
      assert.deepEqual(await sent(), [])
    })

    for (const when of ['before', 'after'] as const)
      test(`are sent once if the daemon is killed ${when} it puts one into the outbox`, async (t) => {
        const { start, sent, pass, outbox } = await make(t)
        let kills = 0
        const dying = start({
          ...outbox,
          async sendTo(...args) {
            if (when === 'after') await outbox.sendTo(...args)
            kills += 1
            throw new Error('killed')
          },
        })
        await plan(dying, 'a', HOUR)
        pass(HOUR)
        await until(() => kills > 0, 'the kill')
        await dying.stop()
        await assert.rejects(dying.service.cancel({ id: 'a' }, operator), { code: 'send_decided' })
        start()
        const found: string[] = []
        await until(async () => {
          found.push(...(await sent()))
          return found.length > 0
        }, 'the send')
        await until(async () => (await keys(dying)).length === 0, 'an empty list')
        assert.deepEqual([...found, ...(await sent())], ['text of a'])
      })

    test('keep their time if a crash cuts short a repetition with an earlier time', async (t) => {
      const { start, sent, store, pass } = await make(t)
      const later = start()
      await plan(later, 'a', 2 * HOUR)
      // All that the repetition has written.
      const entry = `send-due:${String(START + HOUR).padStart(15, '0')}:a`
      await store.kv.set(entry, 'a')
      pass(HOUR)
      await plan(later, 'b', 0)
      await until(async () => (await store.kv.get(entry)) === undefined, 'the end of the entry')
      await until(async () => isDeepStrictEqual(await keys(later), ['a']), 'the end of b')
      pass(HOUR)
      await plan(later, 'c', 0)
      const found: string[] = []
      await until(async () => found.push(...(await sent())) && found.length === 3, 'all sends')
      assert.deepEqual(found.toSorted(), ['text of a', 'text of b', 'text of c'])
    })

    test('are sent if they are stored while another daemon looks for them', async (t) => {
      const { sent, store, outbox, start } = await make(t)
      const later = start()
      let reads = 0
      const kv = {
        ...store.kv,
        async get(key: string) {
          const found = await store.kv.get(key)
          if (key === 'send-later:a' && ++reads === 1) {
            await later.stop()
            await plan(later, 'a', 0)
          }
          return found
        },
      }
      await store.kv.set(`send-due:${String(START).padStart(15, '0')}:a`, 'a')
      const other = createSendLater({
        store: { ...store, kv },
        outbox,
        unanswerable: () => undefined,
        log,
        now: () => START,
      })
      await later.stop()
      other.start()
      cleanup(t, () => other.stop())
      const found: string[] = []
      await until(async () => found.push(...(await sent())) > 0, 'the send')
      assert.deepEqual(found, ['text of a'])
    })

    test('are listed and cancelled only by their creator and by tokens for their gateway', async (t) => {
      const { start } = await make(t)
      const later = start()
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
      assert.equal((await later.service.cancel({ id: 'a' }, ada)).cancelled, true, 'a second cancellation')
      assert.deepEqual(await keys(later), [])
    })

    test('keep their time if the clock jumps back', async (t) => {
      const { start, sent, pass } = await make(t)
      pass(DAY)
      const later = start()
      await plan(later, 'a', HOUR)
      pass(-DAY)
      assert.deepEqual(await sent(), [])
      pass(DAY + HOUR)
      await until(async () => (await sent()).length === 1, 'the send')
    })

    test('are refused in the past, too far ahead, and with options that cannot wait', async (t) => {
      const { start } = await make(t)
      const later = start()
      const target = { gateway: 'mail', to: 'ada@x' }
      const sending = { key: 'a', text: 'x' }
      const file = { name: 'a', type: 'text/plain', size: 1, sha256: 'a', path: 'a' }
      for (const [args, message] of [
        [{ at: START - HOUR }, /has passed/],
        [{ at: START + HOUR, in: HOUR }, /not both/],
        [{ in: 400 * DAY }, /at most 366 days/],
        [{ in: HOUR, wait: 100 }, /`wait` cannot be combined with/],
        [{ in: 4 * DAY, attachments: [file] }, /at most two days/],
      ] as const) {
        const given = { text: 'x', ...args, attachments: [...(args.attachments ?? [])] }
        assert.throws(() => later.plan(given, target, sending, operator), message)
      }
      assert.equal(later.plan({ text: 'x' }, target, sending, operator), undefined)
    })
  })
}
