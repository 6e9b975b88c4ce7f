import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mostPeopleFirst } from '../../src/lib/most-people-first.ts'

test('causes for which most people wait come first, then those with most letters, then the longest', () => {
  const causes = [
    { group: 'digest', queue: 'schedules', count: 1, first: 0 },
    { group: 'events', queue: 'push/crm', count: 90, failingSince: 1 },
    { group: 'payments', queue: 'dispatch', count: 16, failingSince: 3, waits: { people: 6 } },
    { group: 'ledger', queue: 'schedules', count: 1, first: 9 },
    { group: 'support', queue: 'outbox', count: 1, failingSince: 5 },
    { group: 'orders', queue: 'dispatch', count: 9, failingSince: 4, waits: { people: 8 } },
  ]
  assert.deepEqual(
    mostPeopleFirst(causes).map(({ group }) => group),
    ['orders', 'payments', 'support', 'events', 'digest', 'ledger'],
  )
})
