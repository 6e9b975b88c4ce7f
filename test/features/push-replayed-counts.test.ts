import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Store } from '../../src/core/store.ts'
import { MINUTE } from '../../src/core/units.ts'
import { createUnreadCounts } from '../../src/features/push/unread.ts'
import { until } from '../fixtures/until.ts'
import { openStore } from '../runtime/support/store.ts'
import { emit, subscription } from './push-kit.ts'

const push = subscription('http://127.0.0.1:9')
const { name, topic } = push

test('a busy push without a filter counts what is replayed without reading its events', async (t) => {
  const opened = await openStore(t)
  const pages: number[] = []
  const read: Store['topics']['read'] = (of, requests) => {
    pages.push(...requests.flatMap(({ max }) => (max > 100 ? [max] : [])))
    return opened.topics.read(of, requests)
  }
  const store = { ...opened, topics: { ...opened.topics, read } }
  await store.topics.subscribe(topic, name, 'start')
  const ids: string[] = []
  for (let n = 0; n < 6; n++) ids.push(await emit(store))
  const [first = '', second = '', third = ''] = ids
  // A later event is done first: the earlier ones are pending.
  await store.topics.ack(topic, name, [third])
  const unreadOf = createUnreadCounts(store)
  const counted = async () => {
    const [info] = await store.topics.groups(topic)
    assert.ok(info && info.pending > 0)
    return unreadOf(push, info)
  }
  assert.partialDeepStrictEqual(await counted(), { matching: 5, replayed: 0 })
  await store.topics.ack(topic, name, [first, second])
  const round = Date.now() + MINUTE
  for (const id of [first, second]) await store.topics.restore(topic, name, id, round)
  await until(async () => (await counted()).replayed === 2, 'the count of the replayed events')
  assert.equal((await counted()).matching, 5)
  assert.deepEqual(pages, [])
})

/** A store whose reads of more than one event wait until `release`. */
function slow(store: Store) {
  const gate = Promise.withResolvers<void>()
  const read: Store['topics']['read'] = async (of, requests) => {
    if (requests.some(({ max }) => max > 100)) await gate.promise
    return store.topics.read(of, requests)
  }
  return { store: { ...store, topics: { ...store.topics, read } }, release: () => gate.resolve() }
}

test('a count that takes long goes on, and is exact for the next one who asks', async (t) => {
  const { store, release } = slow(await openStore(t))
  const filtered = subscription('http://127.0.0.1:9', { match: { gateway: 'shop' } })
  await store.topics.subscribe(topic, name, 'start')
  for (let n = 0; n < 600; n++) await emit(store)
  const unreadOf = createUnreadCounts(store)
  const counted = async (by: 'status' | 'show') => {
    const [info] = await store.topics.groups(topic)
    return unreadOf(filtered, info, by)
  }
  assert.equal((await counted('status')).more, true)
  const shown = counted('show')
  release()
  const whole = await shown
  assert.partialDeepStrictEqual(whole, { matching: 600, replayed: 0 })
  assert.equal(whole.more, undefined)
  assert.deepEqual(await counted('status'), whole)
})
