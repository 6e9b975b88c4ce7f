import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Waiting } from '../../src/core/store.ts'
import { createUnroutedTally } from '../../src/engine/unrouted-tally.ts'
import type { StoredReadings } from '../../src/features/troubles/readings.ts'
import { unroutedTroubles } from '../../src/features/troubles/unrouted-troubles.ts'

const HOUR = 3_600_000

function stored(parts: Partial<StoredReadings>): StoredReadings {
  const stats = {
    journal: { messages: 0 },
    receive: { ready: 0, leased: 0, lost: {} },
    dispatch: { unpumped: 0 },
    jobs: [],
  }
  const none = { groups: [], subscriptions: [], waiting: [], budgets: [], approvals: [], schedules: [] }
  return { ...none, stats, ...parts }
}

const unread = (gateway: string, oldestAt: number): Waiting => ({
  road: 'receive',
  gateway,
  oldestAt,
  state: 'waiting',
})

test('messages without a route are a trouble where some route could have taken them, or nobody reads them', () => {
  let at = 50 * HOUR
  const tally = createUnroutedTally(
    (gateway) => gateway === 'shop',
    () => at,
  )
  for (const gateway of ['shop', 'orders', 'orders', 'mail']) tally.countUnrouted(gateway)
  tally.countTaken('mail')
  at += 10 * 60_000
  const waiting = [unread('orders', at - 600_000), unread('mail', at - 600_000)]
  const told = (parts: Partial<StoredReadings>) =>
    unroutedTroubles(tally.list(), stored(parts), at).map(({ where, count }) => [where.gateway, count])

  assert.deepEqual(told({ waiting }), [
    ['shop', 1],
    ['orders', 2],
  ])
  // The oldest has waited for ten seconds only, so some worker, perhaps on another daemon, takes them.
  assert.deepEqual(told({ waiting: [unread('orders', at - 10_000)] }), [['shop', 1]])
  assert.deepEqual(told({ waiting: [] }), [['shop', 1]])
  const group = { topic: 'gateway-message', group: 'crm', lag: 0, pending: 0 }
  assert.deepEqual(told({ waiting, groups: [group] }), [['shop', 1]])
  assert.deepEqual(told({ waiting, groups: [{ ...group, topic: 'orders' }] }).length, 2)
  at += 2 * HOUR
  assert.deepEqual(told({ waiting }), [])
})
