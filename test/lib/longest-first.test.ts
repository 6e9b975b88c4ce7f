import assert from 'node:assert/strict'
import { test } from 'node:test'
import { longestFirst } from '../../src/lib/longest-first.ts'

test('causes for which people wait come first, each the longest first', () => {
  const causes = [
    { group: 'events', queue: 'push/crm', count: 90, failingSince: 1 },
    { group: 'orders', queue: 'dispatch', count: 9, failingSince: 4, waits: {} },
    { group: 'payments', queue: 'dispatch', count: 6, failingSince: 3, waits: {} },
    { group: 'support', queue: 'outbox', count: 1, failingSince: 5 },
    { group: 'digest', queue: 'schedules', count: 1, first: 0 },
  ]
  assert.deepEqual(
    longestFirst(causes).map(({ group }) => group),
    ['payments', 'orders', 'support', 'digest', 'events'],
  )
})
