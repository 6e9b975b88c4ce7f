import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { TriviumError } from '../../src/core/errors.ts'
import { MESSAGE_TOPIC } from '../../src/core/event.ts'
import type { Store } from '../../src/core/store.ts'
import { createGroupSettings } from '../../src/engine/group-settings.ts'
import { createLongWork } from '../../src/engine/long-work.ts'
import { createReplayEvents, type EventRange } from '../../src/engine/replay-events.ts'
import { createSubscriptionRunner } from '../../src/engine/subscription-runner.ts'
import { createSubscriptions } from '../../src/engine/subscriptions.ts'
import { until } from '../fixtures/until.ts'
import { cleanup } from '../runtime/support/cleanup.ts'
import { createMemoryLog } from '../runtime/support/log.ts'
import { storeKinds } from '../runtime/support/store.ts'
import { begin, callOf, newMessage } from './kit.ts'

const BY = callOf({ caller: { kind: 'cli', id: 'ada@host' } })
const GROUP = 'bookkeeping'

/** A skill that is subscribed to a topic, and the daemon that runs it. */
async function subscribed(t: TestContext, store: Store, topic: string) {
  const ran: string[] = []
  const subscriptions = createSubscriptions(store, Date.now)
  const log = createMemoryLog()
  let failing = false
  const start = (own = store) =>
    begin(
      t,
      createSubscriptionRunner({
        store: own,
        settings: createGroupSettings(own, () => undefined),
        async invoke({ event }) {
          ran.push(event.id)
          if (failing) throw new TriviumError('skill_not_found', { name: 'book', hint: '' })
        },
        log,
        now: Date.now,
      }),
    )
  const work = createLongWork({ store, owner: 'a', log, now: Date.now })
  cleanup(t, () => work.stop())
  const replay = createReplayEvents({ topics: store.topics, work, now: Date.now })
  await store.topics.subscribe(topic, GROUP, 'now')
  await subscriptions.add({ topic, group: GROUP, ref: 'book', by: { kind: 'cli' } })
  return {
    ran,
    start,
    subscriptions,
    fail(does: boolean) {
      failing = does
    },
    /** Waits until so many have run, nothing is left unread, and no job is left. */
    settled: (count: number) =>
      until(async () => {
        const [group] = await store.topics.groups(topic)
        const queue = (await store.stats()).jobs.find((each) => each.queue === 'subscriptions')
        const open = (group?.lag ?? 0) + (group?.pending ?? 0) + (queue?.waiting ?? 0) + (queue?.running ?? 0)
        return ran.length >= count && open === 0
      }, `${count} runs, of which there were ${ran.length}`),
    async replayed(range: EventRange) {
      const { id } = await replay.begin({ topic, group: GROUP, range }, BY)
      return until(async () => (await work.service.show({ id })).state === 'done', 'the end of the replay')
    },
  }
}

/** Publishes so many events, and returns their ids. */
async function published(store: Store, topic: string, count: number): Promise<string[]> {
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
      test(`run again after a replay of ${topic}, each time that one is asked for, and no others do`, async (t) => {
        const store = await open(t, await place(t))
        const { ran, start, settled, replayed } = await subscribed(t, store, topic)
        start()
        const ids = await published(store, topic, 5)
        await settled(5)
        for (const round of [1, 2]) {
          await replayed({ from: ids[1], to: ids[3] })
          await settled(5 + 3 * round)
          assert.deepEqual(ran.slice(2 + 3 * round), ids.slice(1, 4))
          assert.equal(ran.length, 5 + 3 * round)
        }
      })

      test(`run again after a seek of ${topic} to the start`, async (t) => {
        const store = await open(t, await place(t))
        const { ran, start, settled } = await subscribed(t, store, topic)
        start()
        const ids = await published(store, topic, 3)
        await settled(3)
        await store.topics.seek(topic, GROUP, 'start')
        await settled(6)
        await store.topics.seek(topic, GROUP, 'start')
        await settled(9)
        assert.deepEqual(ran, [...ids, ...ids, ...ids])
      })
    }

    test('run again after their dead letter was dropped', async (t) => {
      const store = await open(t, await place(t))
      const { ran, start, fail, settled, replayed } = await subscribed(t, store, 'orders')
      fail(true)
      start()
      const [id = ''] = await published(store, 'orders', 1)
      await settled(1)
      const [letter] = await store.jobs.deadLetters.ids()
      assert.ok(letter)
      await store.jobs.deadLetters.drop(letter)
      fail(false)
      await replayed({})
      await settled(2)
      assert.deepEqual(ran, [id, id])
    })

    test('run again for a subscription that was removed and is made again', async (t) => {
      const store = await open(t, await place(t))
      const { ran, start, settled, subscriptions } = await subscribed(t, store, 'orders')
      start()
      const [id = ''] = await published(store, 'orders', 1)
      await settled(1)
      await subscriptions.remove(undefined, { topic: 'orders', group: GROUP })
      await store.topics.unsubscribe('orders', GROUP)
      await store.topics.subscribe('orders', GROUP, 'start')
      await subscriptions.add({ topic: 'orders', group: GROUP, ref: 'book', by: { kind: 'cli' } })
      await settled(2)
      assert.deepEqual(ran, [id, id])
    })

    test('run once if a crash hid that they had been handed over, also beside a replay', async (t) => {
      const at = await place(t)
      const store = await open(t, at)
      const { ran, start, settled, replayed } = await subscribed(t, store, 'orders')
      const [first = '', second = '', third = ''] = await published(store, 'orders', 3)
      // It dies before it acknowledges: the lease of the events expires, and they are read again.
      const { promise: died, resolve } = Promise.withResolvers<void>()
      const dying = start({
        ...store,
        topics: {
          ...store.topics,
          read: (topic, requests) =>
            store.topics.read(
              topic,
              requests.map((each) => ({ ...each, ...(each.mode === 'lease' && { lease: 0 }), max: 3 })),
            ),
          ack: async () => {
            resolve()
            throw new Error('it died')
          },
        },
      })
      await died
      await dying.stop(0)
      await store.topics.ack('orders', GROUP, [first])
      await replayed({ from: first, to: first })
      start()
      await until(async () => {
        const [group] = await store.topics.groups('orders')
        return group?.lag === 0 && group.pending === 0
      }, 'all events to be read')
      await settled(4)
      assert.deepEqual(ran.toSorted(), [first, first, second, third].toSorted())
    })

    test('run again although their first delivery is acknowledged only after the replay', async (t) => {
      const store = await open(t, await place(t))
      const { ran, start, settled, replayed } = await subscribed(t, store, 'orders')
      const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
      const { promise: acked, resolve: letGo } = Promise.withResolvers<void>()
      start({
        ...store,
        topics: {
          ...store.topics,
          ack: async (...args) => {
            ask()
            await acked
            return store.topics.ack(...args)
          },
        },
      })
      const [id = ''] = await published(store, 'orders', 1)
      await asked
      await replayed({})
      letGo()
      await settled(2)
      assert.deepEqual(ran, [id, id])
    })
  })
}
