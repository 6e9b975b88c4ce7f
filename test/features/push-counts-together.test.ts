import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listSubscriptions } from '../../src/features/push/listing.ts'
import type { AskedBy } from '../../src/features/push/unread.ts'
import { openStore } from '../runtime/support/store.ts'

test('the counts of a push are read again if its events move between queue and group meanwhile', async (t) => {
  const store = await openStore(t)
  await store.topics.subscribe('orders', 'crm', 'now')
  const push = { name: 'crm', topic: 'orders', url: 'https://crm.example/in', secrets: [] }
  /** How often the groups are read, if the push acknowledges an event during the first read. */
  const readsOf = async (by: AskedBy) => {
    let reads = 0
    const topics = {
      ...store.topics,
      groups: (...args: Parameters<typeof store.topics.groups>) => {
        reads++
        return store.topics.groups(...args)
      },
    }
    const settled = [1, 0]
    await listSubscriptions(
      { ...store, topics },
      [Object(push)],
      {
        isInFile: () => false,
        settledCount: () => settled.shift() ?? 0,
        unreadOf: async () => ({ matching: 0, replayed: 0 }),
        replayedJobs: async () => 0,
        by,
      },
      Date.now(),
    )
    return reads
  }
  assert.equal(await readsOf('show'), 2)
  assert.equal(await readsOf('status'), 1, 'the status is read each second')
})
