import assert from 'node:assert/strict'
import { test } from 'node:test'
import { heldCounts } from '../../src/features/pauses/held-counts.ts'
import type { Pause } from '../../src/features/pauses/records.ts'
import { createPauseView } from '../../src/features/pauses/view.ts'

test('counts of held messages stay right when the pauses are loaded again, and are unknown for a newer pause', async () => {
  const pause = (name: string): Pause => ({ kind: 'route', name, by: 'ada', since: 1 })
  const view = createPauseView(
    () => [],
    () => 2,
  )
  const use = (...names: string[]) => view.use({ pauses: names.map(pause), cancels: [] })
  const jobs = {
    held: async () => {
      // Another load happens while the store is read.
      use('news', 'orders')
      return { items: [{ id: 'a', lane: 'shop/1', group: 'news' }], more: false }
    },
  }
  use('news', 'orders')
  const countOf = await heldCounts(jobs, view)
  use('news', 'orders', 'refunds')
  assert.deepEqual(view.list().map(countOf), [
    { waiting: 1, messageIds: ['a'], routes: ['news'] },
    { waiting: 0, messageIds: [], routes: [] },
    undefined,
  ])
})
