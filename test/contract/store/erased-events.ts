import assert from 'node:assert/strict'
import { MESSAGE_TOPIC } from '../../../src/core/event.ts'
import type { Store } from '../../../src/core/store.ts'
import { acceptAll, DAY, HOUR, MINUTE, part, publishAll, pumpAll, type StoreFactory, until } from './kit.ts'

async function countsOf(store: Store, topic: string, name: string) {
  const group = (await store.topics.groups(topic)).find((each) => each.group === name)
  return [group?.lag, group?.pending, group?.again]
}

/** The range of some events, and their partition. */
function rangeOf(store: Store, topic: string, ids: readonly string[]) {
  const places = ids.map((id) => store.topics.placeOf(topic, id) ?? { partition: 0, position: 0 })
  const positions = places.map(({ position }) => position)
  const partition = places[0]?.partition ?? 0
  return { after: Math.min(...positions) - 1, last: Math.max(...positions), partition }
}

/** Counts of unread events after an erasure. */
export function erasedEventsContract(factory: StoreFactory): void {
  part(factory, 'erased events', {
    'no group counts an erased message as unread, also after a restart': async (bench) => {
      const { store } = bench
      const texts = Array.from({ length: 10 }, (_, at) => `text ${at}`)
      const ids = await acceptAll(store, texts, { conversation: 'c' })
      const range = rangeOf(store, MESSAGE_TOPIC, ids)
      for (const group of ['all', 'ahead', 'half'])
        await store.topics.subscribe(MESSAGE_TOPIC, group, 'start')
      // `ahead` has consumed an erased and a retained event, but not the events before them.
      await store.topics.ack(MESSAGE_TOPIC, 'ahead', [ids[5] ?? '', ids[6] ?? ''])
      await store.topics.ack(MESSAGE_TOPIC, 'half', ids.slice(0, 5))
      const erased = [2, 5, 8].map((at) => ids[at] ?? '')
      assert.equal(await store.erasing.dropMessages(erased), 3)
      const check = async (topics: Store['topics']) => {
        const counts = async (group: string) => {
          const infos = await topics.groups(MESSAGE_TOPIC)
          const { lag = 0, again = 0 } = infos.find((each) => each.group === group) ?? {}
          return [lag + again, await topics.unread(MESSAGE_TOPIC, group, range)]
        }
        assert.deepEqual(await counts('all'), [7, 7])
        assert.deepEqual(await counts('ahead'), [6, 6])
        assert.deepEqual(await counts('half'), [3, 3])
        assert.equal(await topics.erased(MESSAGE_TOPIC, range), 3)
        assert.equal(await topics.erased(MESSAGE_TOPIC, { ...range, after: range.after + 6 }), 1)
      }
      await check(store.topics)
      // Erasing again changes nothing.
      await store.erasing.dropMessages(erased)
      await check((await bench.reopen()).topics)
      const [batch] = await bench.store.topics.read(MESSAGE_TOPIC, [
        { group: 'all', max: 9, mode: 'consume' },
      ])
      assert.equal(batch?.items.length, 7)
      assert.deepEqual(await countsOf(bench.store, MESSAGE_TOPIC, 'all'), [0, 0, 0])
    },
    'no group counts an erased event of a topic as unread, leased or returned': async ({ store }) => {
      const ids = await publishAll(store, 't', ['a', 'b', 'c', 'd', 'e', 'f'])
      for (const group of ['plain', 'leased']) await store.topics.subscribe('t', group, 'start')
      await store.topics.read('t', [{ group: 'leased', max: 4, mode: 'lease', lease: MINUTE }])
      await store.topics.nack('t', 'leased', ids.slice(2, 4), 0)
      assert.deepEqual(await countsOf(store, 't', 'leased'), [2, 4, 2])
      await store.erasing.dropEvents('t', [ids[1] ?? '', ids[3] ?? '', ids[4] ?? ''])
      assert.deepEqual(await countsOf(store, 't', 'plain'), [3, 0, 0])
      assert.deepEqual(await countsOf(store, 't', 'leased'), [1, 2, 1])
      assert.equal(await store.topics.unread('t', 'leased', rangeOf(store, 't', ids)), 3)
      await store.erasing.dropEvents('t', ids)
      assert.deepEqual(await countsOf(store, 't', 'plain'), [0, 0, 0])
      assert.deepEqual(await countsOf(store, 't', 'leased'), [0, 0, 0])
      await publishAll(store, 't', ['g'])
      assert.deepEqual(await countsOf(store, 't', 'plain'), [1, 0, 0])
    },
    'what was erased is forgotten once retention removes the events before and after it': async (bench) => {
      const { store } = bench
      const old = await acceptAll(store, ['a', 'b', 'c'], { conversation: 'c' })
      await pumpAll(store)
      bench.advance(HOUR)
      const ids = await acceptAll(store, ['d', 'e', 'f'], { conversation: 'c' })
      await pumpAll(store)
      await store.topics.subscribe(MESSAGE_TOPIC, 'g', 'start')
      await store.erasing.dropMessages([old[1] ?? '', ids[1] ?? ''])
      assert.deepEqual(await countsOf(store, MESSAGE_TOPIC, 'g'), [4, 0, 0])
      const policy = { journal: { maxAge: HOUR - MINUTE, maxCount: 100 } }
      while ((await store.trim(policy)).more);
      assert.deepEqual(await countsOf(store, MESSAGE_TOPIC, 'g'), [2, 0, 0])
      assert.equal(await store.topics.erased(MESSAGE_TOPIC, rangeOf(store, MESSAGE_TOPIC, old)), 0)
      assert.equal(await store.topics.erased(MESSAGE_TOPIC, rangeOf(store, MESSAGE_TOPIC, ids)), 1)
      bench.advance(DAY)
      // With several shards, the last messages may be dispatched a moment later.
      await until(async () => {
        await pumpAll(store)
        while ((await store.trim(policy)).more);
        return String(await countsOf(store, MESSAGE_TOPIC, 'g')) === '0,0,0'
      }, 'no message')
      assert.equal(await store.topics.erased(MESSAGE_TOPIC, rangeOf(store, MESSAGE_TOPIC, ids)), 0)
    },
    'says up to which event each group has read': async ({ store }) => {
      const ids = await acceptAll(store, ['a', 'b', 'c', 'd'], { conversation: 'c' })
      const { after, partition } = rangeOf(store, MESSAGE_TOPIC, ids)
      for (const group of ['none', 'two']) await store.topics.subscribe(MESSAGE_TOPIC, group, 'start')
      await store.topics.ack(MESSAGE_TOPIC, 'two', ids.slice(0, 2))
      await store.erasing.dropMessages([ids[2] ?? ''])
      const consumed = await store.topics.consumed(MESSAGE_TOPIC, partition)
      const lastOf = (name: string) => consumed.find(({ group }) => group === name)?.last
      assert.ok(Number(lastOf('none')) <= after)
      assert.equal(lastOf('two'), after + 2)
    },
  })
}
