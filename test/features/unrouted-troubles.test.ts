import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Waiting } from '../../src/core/store.ts'
import { HOUR, MINUTE } from '../../src/core/units.ts'
import { createUnroutedTally } from '../../src/engine/unrouted-tally.ts'
import type { StoredReadings } from '../../src/features/troubles/readings.ts'
import { unroutedTroubles } from '../../src/features/troubles/unrouted-troubles.ts'

/** Readings of a store with these parts. */
function stored(parts: Partial<StoredReadings>): StoredReadings {
  const stats = {
    journal: { messages: 0 },
    receive: { ready: 0, leased: 0, lost: {} },
    dispatch: { unpumped: 0 },
    jobs: [],
  }
  const none = {
    groups: [],
    subscriptions: [],
    waiting: [],
    budgets: [],
    approvals: [],
    schedules: [],
    pulls: [],
    causes: [],
  }
  return { ...none, stats, ...parts }
}

const unread = (gateway: string, oldestAt: number): Waiting => ({
  road: 'receive',
  gateway,
  oldestAt,
  state: 'waiting',
})

test('messages without a route are a trouble if their gateway has routes, or if no consumer reads them', () => {
  let now = 50 * HOUR
  const hasRoute = (gateway: string) => gateway === 'shop'
  const tally = createUnroutedTally(hasRoute, () => now)
  for (const gateway of ['shop', 'orders', 'orders', 'mail']) tally.countUnrouted(gateway)
  tally.countTaken('mail')
  now += 10 * MINUTE
  const waiting = [unread('orders', now - 10 * MINUTE), unread('mail', now - 10 * MINUTE)]
  /** The number of messages in trouble, by gateway. */
  const troubles = (parts: Partial<StoredReadings>) =>
    Object.fromEntries(
      unroutedTroubles(tally.list(), stored(parts), now).map(({ where, count }) => [where.gateway, count]),
    )

  assert.deepEqual(troubles({ waiting }), { shop: 1, orders: 2 })
  // The oldest has waited for ten seconds only, so some worker, perhaps on another daemon, takes
  // them.
  assert.deepEqual(troubles({ waiting: [unread('orders', now - 10_000)] }), { shop: 1 })
  assert.deepEqual(troubles({ waiting: [] }), { shop: 1 })
  const group = { topic: 'gateway-message', group: 'crm', lag: 0, pending: 0, again: 0, behind: 0 }
  assert.deepEqual(troubles({ waiting, groups: [group] }), { shop: 1 })
  assert.deepEqual(troubles({ waiting, groups: [{ ...group, topic: 'orders' }] }), { shop: 1, orders: 2 })
  now += 2 * HOUR
  assert.deepEqual(troubles({ waiting }), {}, 'they are forgotten after an hour')
})
