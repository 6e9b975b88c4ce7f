import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createGroupHistory } from '../../src/engine/group-history.ts'
import { storeKinds } from '../runtime/support/store.ts'

const TOPIC = 'orders'

for (const { kind, place, open } of storeKinds()) {
  describe(`the history of groups, on the ${kind} store`, () => {
    test('shows how a group fell behind and caught up, until the group is removed', async (t) => {
      const { topics } = await open(t, await place(t))
      let time = Date.now()
      const history = createGroupHistory({ topics, isLasting: (group) => group !== 'own', now: () => time })
      const sample = async () => {
        time += history.every
        await history.sample()
      }
      for (const group of ['audit', 'own']) await topics.subscribe(TOPIC, group, 'start')
      await sample()
      await topics.publish(
        TOPIC,
        [1, 2, 3].map((data) => ({ type: 'order', source: 'test', data })),
      )
      await sample()
      await topics.read(TOPIC, [{ group: 'audit', max: 10, mode: 'consume' }])
      await sample()
      const points = history.of(TOPIC, 'audit')
      assert.deepEqual(
        points.map(({ lag }) => lag),
        [0, 3, 0],
      )
      assert.ok((points[1]?.behind ?? -1) >= 0)
      assert.equal(points[2]?.behind, undefined)
      assert.deepEqual(history.of(TOPIC, 'own'), [])
      await topics.unsubscribe(TOPIC, 'audit')
      await sample()
      assert.deepEqual(history.of(TOPIC, 'audit'), [])
    })

    test('shows how fast a group read, but not for a push', async (t) => {
      const { topics } = await open(t, await place(t))
      const time = Date.now()
      const rateOf = (_topic: string, group: string) => (group === 'audit' ? 12 : 0)
      const history = createGroupHistory({ topics, isLasting: () => true, rateOf, now: () => time })
      for (const group of ['audit', 'crm']) await topics.subscribe(TOPIC, group, 'start')
      await history.sample([{ topic: TOPIC, name: 'crm', waiting: 0 }])
      assert.deepEqual(history.of(TOPIC, 'audit'), [{ at: time, lag: 0, perMinute: 12 }])
      assert.deepEqual(history.of(TOPIC, 'crm'), [{ at: time, lag: 0 }])
    })

    test('counts for a push what waits for an attempt, from the oldest event on', async (t) => {
      const { topics } = await open(t, await place(t))
      const time = Date.now()
      const history = createGroupHistory({ topics, isLasting: () => true, now: () => time })
      await topics.subscribe(TOPIC, 'crm', 'start')
      const push = { topic: TOPIC, name: 'crm', waiting: 6, oldestAt: time - 90_000 }
      await history.sample([push, { topic: 'others', name: 'crm', waiting: 9 }])
      assert.deepEqual(history.of(TOPIC, 'crm'), [{ at: time, lag: 6, behind: 90_000 }])
    })

    test('has the longest wait of the unread and of the redelivered events', async (t) => {
      const { topics } = await open(t, await place(t))
      let time = Date.now()
      const history = createGroupHistory({ topics, isLasting: () => true, now: () => time })
      await topics.subscribe(TOPIC, 'audit', 'start')
      const events = [1, 2, 3].map((data) => ({ type: 'order', source: 'test', data, timestamp: time }))
      const [first = ''] = await topics.publish(TOPIC, events)
      await topics.read(TOPIC, [{ group: 'audit', max: 2, mode: 'consume' }])
      time += 60_000
      await topics.restore(TOPIC, 'audit', first, time)
      await history.sample()
      assert.ok((history.of(TOPIC, 'audit')[0]?.behind ?? 0) >= 59_000)
      // Without the unread event, only the redelivered one waits, since its replay.
      await topics.read(TOPIC, [{ group: 'audit', max: 9, mode: 'consume' }])
      await topics.restore(TOPIC, 'audit', first, time)
      time += 1_000
      await history.sample()
      assert.equal(history.of(TOPIC, 'audit')[1]?.behind, 1_000)
    })

    test('of too many groups, keeps those with the largest backlog, also of a push or in leases', async (t) => {
      const { topics } = await open(t, await place(t))
      const history = createGroupHistory({ topics, isLasting: () => true, now: Date.now })
      const others = Array.from({ length: 200 }, (_, n) => `other-${n}`)
      for (const group of [...others, 'leased']) await topics.subscribe(TOPIC, group, 'start')
      const events = ['a', 'b'].map((data) => ({ type: 'order', source: 'test', data }))
      await topics.publish(TOPIC, events)
      await topics.read(
        TOPIC,
        others.map((group) => ({ group, max: 1, mode: 'consume' as const })),
      )
      await topics.read(TOPIC, [{ group: 'leased', max: 2, mode: 'lease', lease: 60_000 }])
      await topics.subscribe(TOPIC, 'crm', 'now')
      await history.sample([{ topic: TOPIC, name: 'crm', waiting: 10_000 }])
      const lagOf = (group: string) => history.of(TOPIC, group).map(({ lag }) => lag)
      assert.deepEqual([lagOf('crm'), lagOf('leased')], [[10_000], [2]])
      assert.equal(others.filter((group) => lagOf(group).length > 0).length, 198)
    })

    test('has a limited number of points, and keeps the peaks of a day', async (t) => {
      const { topics } = await open(t, await place(t))
      let time = Date.now()
      const history = createGroupHistory({ topics, isLasting: () => true, now: () => time })
      await topics.subscribe(TOPIC, 'audit', 'start')
      const sampleTimes = async (count: number) => {
        for (let n = 0; n < count; n++) {
          time += history.every
          await history.sample()
        }
      }
      await sampleTimes(5)
      await topics.publish(TOPIC, [{ type: 'order', source: 'test', data: 1 }])
      await sampleTimes(1)
      await topics.read(TOPIC, [{ group: 'audit', max: 10, mode: 'consume' }])
      await sampleTimes(600)
      const points = history.of(TOPIC, 'audit')
      assert.ok(points.length < 520, `${points.length} points`)
      assert.equal(Math.max(...points.map(({ lag }) => lag)), 1)
      const times = points.map(({ at }) => at)
      assert.deepEqual(
        times,
        times.toSorted((a, b) => a - b),
      )
    })
  })
}
