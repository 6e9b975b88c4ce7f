import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { TriviumError } from '../../src/core/errors.ts'
import type { Store } from '../../src/core/store.ts'
import { createGroupDeliveries } from '../../src/engine/group-deliveries.ts'
import { createMaxDeliveries } from '../../src/engine/max-deliveries.ts'
import { until } from '../fixtures/until.ts'
import { storeKinds } from '../runtime/support/store.ts'
import { begin, newMessage, partsOf, untilEmpty } from './kit.ts'

/**
 * The method with the reply of its first call lost: the store did the work, and the caller cannot
 * know it.
 */
function losingReply<Args extends unknown[], Answer>(call: (...args: Args) => Promise<Answer>) {
  let calls = 0
  return async (...args: Args): Promise<Answer> => {
    const answer = await call(...args)
    calls++
    if (calls === 1) throw new TriviumError('store_unavailable', { store: 'redis', reason: 'timeout' })
    return answer
  }
}

/** Waits for the dead letter, and retries it. */
async function retryLetter({ jobs: { deadLetters } }: Store): Promise<void> {
  const [letter = ''] = await until(async () => {
    const ids = await deadLetters.ids()
    return ids.length > 0 ? ids : undefined
  }, 'the dead letter')
  assert.equal(await deadLetters.retry(letter), true)
}

/**
 * A message whose dead letter was retried, and the reply of the store when it was put back on the
 * road was lost.
 */
async function retriedMessage(t: TestContext, store: Store) {
  const receive = { ...store.receive, restore: losingReply(store.receive.restore) }
  const deliveries = createMaxDeliveries({ ...partsOf({ ...store, receive }), limitOf: () => 1 })
  begin(t, deliveries)
  const [accepted] = await store.journal.accept([newMessage()])
  for (const isRefused of [false, true]) {
    const taken = await store.receive.take({}, 60_000)
    assert.ok(taken)
    assert.equal(await deliveries.removeIfExhausted(taken), isRefused)
    if (!isRefused) await store.receive.release(taken.receipt ?? '')
  }
  await retryLetter(store)
  return accepted?.id
}

for (const { kind, place, open } of storeKinds()) {
  describe(`a retried dead letter whose redelivery got no reply, on the ${kind} store`, {
    timeout: 60_000,
  }, () => {
    test('does not become a dead letter again', async (t) => {
      const store = await open(t, await place(t))
      const id = await retriedMessage(t, store)
      await untilEmpty(store, 'receive')
      assert.deepEqual(await store.jobs.deadLetters.ids(), [])
      assert.equal((await store.receive.take({}))?.message.id, id)
      assert.equal(await store.receive.take({}), undefined)
    })

    test('is delivered once, even if it is consumed before the job is tried again', async (t) => {
      const store = await open(t, await place(t))
      const id = await retriedMessage(t, store)
      const taken = await until(() => store.receive.take({}), 'the message')
      assert.equal(taken.message.id, id)
      await untilEmpty(store, 'receive')
      assert.equal(await store.receive.take({}), undefined)
      assert.deepEqual(await store.jobs.deadLetters.ids(), [])
    })

    test('does not become a dead letter again if the daemon died after the redelivery of an event', async (t) => {
      const store = await open(t, await place(t))
      const settle = store.jobs.settle.bind(store.jobs)
      let isDying = false
      const { promise: hasDied, resolve: died } = Promise.withResolvers<void>()
      const dying: Store = {
        ...store,
        jobs: {
          ...store.jobs,
          claim: (queue, request) => store.jobs.claim(queue, { ...request, ...(isDying && { lease: 1 }) }),
          settle: async (queue, outcomes) => {
            if (outcomes.every(({ outcome }) => outcome !== 'done')) return settle(queue, outcomes)
            died()
            return outcomes.map(() => false)
          },
        },
      }
      const first = createGroupDeliveries(partsOf(dying))
      begin(t, first)
      await store.topics.subscribe('work', 'workers', 'now')
      const [id = ''] = await store.topics.publish('work', [{ type: 'order', source: 'shop', data: {} }])
      const read = { group: 'workers', max: 1, mode: 'consume' } as const
      const [batch] = await store.topics.read('work', [read])
      await first.bury('workers', batch?.items ?? [])
      await until(async () => (await store.jobs.deadLetters.ids()).length > 0, 'the dead letter')
      isDying = true
      await retryLetter(store)
      await hasDied
      await first.stop(0)

      begin(t, createGroupDeliveries(partsOf(store)))
      await untilEmpty(store, 'events')
      assert.deepEqual(await store.jobs.deadLetters.ids(), [])
      const [again] = await store.topics.read('work', [read])
      assert.deepEqual(
        again?.items.map((event) => event.id),
        [id],
      )
    })
  })
}
