import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { Caller } from '../../src/core/call.ts'
import { MESSAGE_TOPIC } from '../../src/core/event.ts'
import type { Store } from '../../src/core/store.ts'
import { callOf, newMessage } from '../engine/kit.ts'
import { until } from '../fixtures/until.ts'
import { storeKinds } from '../runtime/support/store.ts'
import { emit, startPush, subscription } from './push-kit.ts'
import { startReceiver } from './push-receiver.ts'

const CALLER: Caller = { kind: 'cli', id: 'ada@host' }
const OPERATOR = callOf({ caller: CALLER })
/** More than the successful attempts that are kept. */
const MANY = 230

/** A push whose receiver answers with `status.now`, and a way to replay all of its events. */
async function startReplays(t: TestContext, store: Store, parts: object = {}) {
  const status = { now: 204 }
  const { url, got, wait } = await startReceiver(t, (response) => response.writeHead(status.now).end())
  const retry = { attempts: 50, delay: 5, 'max-delay': 10 }
  const push = await startPush(t, store, [subscription(url, { retry, ...parts })])
  const { service, work, undeliveredEventsOf } = push
  return {
    ...push,
    status,
    got,
    wait,
    untilIdle: () => until(async () => (await service.list())[0]?.waiting === 0, 'an empty queue'),
    async replay() {
      const { job } = await service.replay({ name: 'crm', dryRun: false }, OPERATOR)
      const show = () => work.service.show({ id: job?.id ?? '' })
      const described = async (caller = CALLER) => undeliveredEventsOf(await show(), caller)
      const undelivered = async (caller = CALLER) => (await described(caller)).messages
      return { show, undelivered, described }
    },
  }
}

for (const { kind, place, open } of storeKinds()) {
  describe(`the events that a replay has not delivered, on the ${kind} store`, () => {
    test('are listed up to 20, all are counted by cause, and none when all were delivered', async (t) => {
      const store = await open(t, await place(t))
      const push = await startReplays(t, store, { concurrency: 4 })
      for (let n = 0; n < MANY; n++) await emit(store, { n, conversation: `c${n}` })
      await push.wait(MANY)
      await push.untilIdle()
      push.status.now = 503
      const replay = await push.replay()
      const listed = await until(async () => {
        const [{ outcomes }, events] = await Promise.all([replay.show(), replay.undelivered()])
        const isTried = events.some(({ outcome }) => outcome === 'retrying')
        return outcomes?.waiting === MANY && events.length === 20 && isTried ? events : undefined
      }, 'the list')
      assert.equal(new Set(listed.map(({ id }) => id)).size, 20)
      assert.deepEqual(new Set(listed.map(({ outcome }) => outcome)), new Set(['retrying', 'waiting']))
      const { groups } = await replay.described()
      assert.equal(
        groups.reduce((sum, { count }) => sum + count, 0),
        MANY,
      )
      assert.deepEqual(
        groups.map(({ outcome, error }) => [outcome, error]),
        [
          ['retrying', 'it answered 503'],
          ['waiting', undefined],
        ],
      )
      const [{ id = '' } = {}] = listed
      push.status.now = 204
      await push.service.retry({ name: 'crm' })
      await push.untilIdle()
      await until(async () => (await replay.show()).outcomes?.delivered === MANY, 'all deliveries')
      assert.deepEqual(await replay.undelivered(), [])
      // The failed attempts are still kept, and the successful ones after them are not.
      const { attempts } = await push.show()
      assert.ok(attempts.every(({ nextAt }: { nextAt?: number }) => nextAt === undefined))
      const { eventState } = Object(await push.service.show({ name: 'crm', event: id, limit: 50 }, OPERATOR))
      assert.equal(eventState.state, 'delivered')
    })

    test('have the sender and the subject of messages that the caller may read', async (t) => {
      const store = await open(t, await place(t))
      const push = await startReplays(t, store, { topic: MESSAGE_TOPIC })
      const from = { id: 'ada', address: 'ada@example.com' }
      await store.journal.accept([newMessage({ gateway: 'support', subject: 'Order 7', from })])
      await push.wait(1)
      await push.untilIdle()
      push.status.now = 503
      const replay = await push.replay()
      const [row] = await until(async () => {
        const rows = await replay.undelivered()
        return rows[0]?.outcome === 'retrying' ? rows : undefined
      }, 'the failed event')
      assert.equal(row?.text, 'ada@example.com: Order 7')
      const [other] = await replay.undelivered({ ...CALLER, gateways: ['shop'] })
      assert.equal(other?.text, undefined)
    })
  })
}
