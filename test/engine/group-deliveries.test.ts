import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { Store } from '../../src/core/store.ts'
import { createEventsRoad } from '../../src/engine/events-road.ts'
import { createLongWork } from '../../src/engine/long-work.ts'
import { createReplayEvents } from '../../src/engine/replay-events.ts'
import { until } from '../fixtures/until.ts'
import { storeKinds } from '../runtime/support/store.ts'
import { begin, callOf, partsOf } from './kit.ts'

const GROUP = { topic: 'work', queue: 'workers' }

/** A group with `maxDeliveries: 1`, and one event. */
async function stage(t: TestContext, store: Store) {
  const parts = { ...partsOf(store), store }
  const work = createLongWork({ ...parts, owner: 'a' })
  const { events, deliveries } = createEventsRoad({
    ...parts,
    groupSettings: () => ({ maxDeliveries: 1 }),
    retentionOf: () => ({ maxAge: 60_000, maxCount: 10 }),
    permit: async () => {},
    replay: createReplayEvents({ store, work, now: Date.now }),
  })
  begin(t, deliveries)
  await events.subscribe({ ...GROUP, replay: false }, callOf())
  const { id } = await events.emit({ topic: GROUP.topic, data: 'poison' }, callOf())
  const { deadLetters } = store.jobs
  const wait = async () => {
    const args = { ...GROUP, timeout: 0, ack: false, lease: 60_000, max: 1 }
    return (await events.wait(args, callOf())).map((event) => event.id)
  }
  return {
    id,
    wait,
    seek: () => events.seek({ ...GROUP, to: 'start', dryRun: false }, callOf()),
    /** Reads the event and returns it once too often. Resolves with the id of its dead letter. */
    async exceed(): Promise<string> {
      await until(async () => (await wait())[0] === id, 'the delivery')
      await events.ack({ ...GROUP, ids: [id], nack: true, delay: 0 }, callOf())
      assert.deepEqual(await wait(), [])
      const [letter] = await until(async () => {
        const ids = await deadLetters.ids()
        return ids.length > 0 ? ids : undefined
      }, 'the dead letter')
      return letter ?? ''
    },
    drop: (letter: string) => deadLetters.drop(letter, 'events'),
    retry: (letter: string) => deadLetters.retry(letter, 'events'),
    letters: () => deadLetters.ids(),
  }
}

for (const { kind, place, open } of storeKinds()) {
  describe(`an event that exceeds max-deliveries, on the ${kind} store`, () => {
    test('becomes a dead letter again if it is redelivered after its dead letter was dropped', async (t) => {
      const { exceed, drop, seek, retry, wait, id } = await stage(t, await open(t, await place(t)))
      const letters = new Set<string>()
      for (let round = 1; round <= 3; round++) {
        const letter = await exceed()
        letters.add(letter)
        assert.equal(await drop(letter), true)
        await seek()
      }
      assert.equal(letters.size, 3)
      const last = await exceed()
      assert.equal(await retry(last), true)
      await until(async () => (await wait())[0] === id, 'the delivery after the retry')
    })

    test('keeps its dead letter if it is redelivered before that was dropped', async (t) => {
      const { exceed, seek, letters } = await stage(t, await open(t, await place(t)))
      const letter = await exceed()
      await seek()
      assert.equal(await exceed(), letter)
      assert.deepEqual(await letters(), [letter])
    })
  })
}
