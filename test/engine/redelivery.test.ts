import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { TriviumError } from '../../src/core/errors.ts'
import { MESSAGE_TOPIC } from '../../src/core/event.ts'
import type { Store } from '../../src/core/store.ts'
import type { EventRange } from '../../src/engine/event-range.ts'
import { createGroupSettings } from '../../src/engine/group-settings.ts'
import { createLongWork } from '../../src/engine/long-work.ts'
import { createReplayEvents } from '../../src/engine/replay-events.ts'
import { createSubscriptionRunner } from '../../src/engine/subscription-runner.ts'
import { createSubscriptions } from '../../src/engine/subscriptions.ts'
import { until } from '../fixtures/until.ts'
import { cleanup } from '../runtime/support/cleanup.ts'
import { createMemoryLog } from '../runtime/support/log.ts'
import { storeKinds } from '../runtime/support/store.ts'
import { begin, callOf, newMessage } from './kit.ts'

const BY = callOf({ caller: { kind: 'cli', id: 'ada@host' } })
const GROUP = 'bookkeeping'

/**
 * A skill with a subscription to `topic`. `start` starts a daemon that runs it; `ran` has the ids
 * of its events.
 */
async function subscribeSkill(t: TestContext, store: Store, topic: string) {
  const ran: string[] = []
  const subscriptions = createSubscriptions(store, Date.now)
  const log = createMemoryLog()
  let isFailing = false
  const start = (ownStore = store) =>
    begin(
      t,
      createSubscriptionRunner({
        store: ownStore,
        settings: createGroupSettings(ownStore, () => undefined),
        async invoke({ event }) {
          ran.push(event.id)
          if (isFailing) throw new TriviumError('skill_not_found', { name: 'book', hint: '' })
        },
        log,
        now: Date.now,
      }),
    )
  const work = createLongWork({ store, owner: 'a', log, now: Date.now })
  cleanup(t, () => work.stop())
  const replay = createReplayEvents({ store, work, now: Date.now })
  await store.topics.subscribe(topic, GROUP, 'now')
  await subscriptions.add({ topic, group: GROUP, ref: 'book', by: { kind: 'cli' } })
  return {
    ran,
    start,
    subscriptions,
    /** Makes the skill fail permanently, or succeed again. */
    setFailing(value: boolean) {
      isFailing = value
    },
    /** Waits until there were `count` runs, and no events or jobs are left. */
    untilRuns: (count: number) =>
      until(async () => {
        const [group] = await store.topics.groups(topic)
        const queue = (await store.stats()).jobs.find((each) => each.queue === 'subscriptions')
        const unfinished =
          (group?.lag ?? 0) + (group?.pending ?? 0) + (queue?.waiting ?? 0) + (queue?.running ?? 0)
        return ran.length >= count && unfinished === 0
      }, `${count} runs`),
    /** Replays events of the group, and waits until they are available. */
    async replayRange(range: EventRange) {
      const { id } = await replay.begin({ topic, group: GROUP, range }, BY)
      return until(async () => (await work.service.show({ id })).state === 'done', 'the end of the replay')
    },
  }
}

/** Publishes `count` events. Returns their ids. */
async function publishEvents(store: Store, topic: string, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let n = 0; n < count; n++) {
    if (topic === MESSAGE_TOPIC)
      ids.push(...(await store.journal.accept([newMessage({ text: `${n}` })])).map(({ id }) => id))
    else ids.push(...(await store.topics.publish(topic, [{ type: 'order', source: 'shop', data: { n } }])))
  }
  return ids
}

for (const { kind, place, open } of storeKinds()) {
  describe(`events that an operator redelivers to a skill, on the ${kind} store`, () => {
    for (const topic of ['orders', MESSAGE_TOPIC]) {
      test(`run again after every replay of ${topic}, but other events do not`, async (t) => {
        const store = await open(t, await place(t))
        const { ran, start, untilRuns, replayRange } = await subscribeSkill(t, store, topic)
        start()
        const ids = await publishEvents(store, topic, 5)
        await untilRuns(ids.length)
        const range = ids.slice(1, 4)
        for (let replays = 1; replays <= 2; replays++) {
          await replayRange({ from: range[0], to: range[2] })
          const runs = ids.length + replays * range.length
          await untilRuns(runs)
          assert.equal(ran.length, runs)
          assert.deepEqual(ran.slice(-range.length), range)
        }
      })

      test(`run again after a seek of ${topic} to the start`, async (t) => {
        const store = await open(t, await place(t))
        const { ran, start, untilRuns } = await subscribeSkill(t, store, topic)
        start()
        const ids = await publishEvents(store, topic, 3)
        await untilRuns(3)
        await store.topics.seek(topic, GROUP, 'start')
        await untilRuns(6)
        await store.topics.seek(topic, GROUP, 'start')
        await untilRuns(9)
        assert.deepEqual(ran, [...ids, ...ids, ...ids])
      })
    }

    test('run again after their dead letter was dropped', async (t) => {
      const store = await open(t, await place(t))
      const { ran, start, setFailing, untilRuns, replayRange } = await subscribeSkill(t, store, 'orders')
      setFailing(true)
      start()
      const [id = ''] = await publishEvents(store, 'orders', 1)
      await untilRuns(1)
      const [letter] = await store.jobs.deadLetters.ids()
      assert.ok(letter)
      await store.jobs.deadLetters.drop(letter)
      setFailing(false)
      await replayRange({})
      await untilRuns(2)
      assert.deepEqual(ran, [id, id])
    })

    test('run again for a subscription that was removed and created again', async (t) => {
      const store = await open(t, await place(t))
      const { ran, start, untilRuns, subscriptions } = await subscribeSkill(t, store, 'orders')
      start()
      const [id = ''] = await publishEvents(store, 'orders', 1)
      await untilRuns(1)
      await subscriptions.remove(undefined, { topic: 'orders', group: GROUP })
      await store.topics.unsubscribe('orders', GROUP)
      await store.topics.subscribe('orders', GROUP, 'start')
      await subscriptions.add({ topic: 'orders', group: GROUP, ref: 'book', by: { kind: 'cli' } })
      await untilRuns(2)
      assert.deepEqual(ran, [id, id])
    })

    test('run once if a crash prevented their acknowledgement, also during a replay of another event', async (t) => {
      const store = await open(t, await place(t))
      const { ran, start, untilRuns, replayRange } = await subscribeSkill(t, store, 'orders')
      const [first = '', second = '', third = ''] = await publishEvents(store, 'orders', 3)
      // This daemon dies before it acknowledges the events. Their lease expires, so they are read
      // again.
      const { promise: hasDied, resolve } = Promise.withResolvers<void>()
      const dyingDaemon = start({
        ...store,
        topics: {
          ...store.topics,
          read: (topic, requests) =>
            store.topics.read(
              topic,
              requests.map((request) => ({
                ...request,
                ...(request.mode === 'lease' && { lease: 0 }),
                max: 3,
              })),
            ),
          ack: async () => {
            resolve()
            throw new Error('the daemon died')
          },
        },
      })
      await hasDied
      await until(() => ran.length === 3, 'the runs')
      await dyingDaemon.stop(0)
      await store.topics.ack('orders', GROUP, [first])
      await replayRange({ from: first, to: first })
      start()
      await until(async () => {
        const [group] = await store.topics.groups('orders')
        return group?.lag === 0 && group.pending === 0
      }, 'all events to be read')
      await untilRuns(4)
      assert.deepEqual(ran.toSorted(), [first, first, second, third].toSorted())
    })

    test('run again even if their first delivery is acknowledged after the replay', async (t) => {
      const store = await open(t, await place(t))
      const { ran, start, untilRuns, replayRange } = await subscribeSkill(t, store, 'orders')
      const { promise: ackCalled, resolve: onAck } = Promise.withResolvers<void>()
      const { promise: mayAck, resolve: allowAck } = Promise.withResolvers<void>()
      start({
        ...store,
        topics: {
          ...store.topics,
          ack: async (...args) => {
            onAck()
            await mayAck
            return store.topics.ack(...args)
          },
        },
      })
      const [id = ''] = await publishEvents(store, 'orders', 1)
      await ackCalled
      await replayRange({})
      allowAck()
      await untilRuns(2)
      assert.deepEqual(ran, [id, id])
    })
  })
}
