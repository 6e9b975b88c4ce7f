import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SubscriptionInfo } from '../../src/core/subscription-info.ts'
import type { StoredReadings, TroubleReadings } from '../../src/features/troubles/readings.ts'
import { roadTroubles } from '../../src/features/troubles/road-troubles.ts'

function push(name: string, state: SubscriptionInfo['state']): SubscriptionInfo {
  const counts = { waiting: 2_000, queued: 0, unread: 2_000, matching: 2_000, dead: 0 }
  const place = { name, topic: 'orders', url: 'https://example.com', source: 'api' } as const
  return { ...place, ok: state === 'active', state, ...counts }
}

test('a push far behind is a trouble once: as failing or paused, or else as a slow receiver', () => {
  const subscriptions = [push('crm', 'failing'), push('bi', 'paused'), push('mail', 'active')]
  const lagging = (group: string) => ({
    topic: 'orders',
    group,
    lag: 2_000,
    pending: 0,
    again: 0,
    behind: 2_000,
  })
  const stats = {
    journal: { messages: 0 },
    receive: { ready: 0, leased: 0, lost: {} },
    dispatch: { unpumped: 0 },
    jobs: [],
  }
  const groups = [...subscriptions.map(({ name }) => lagging(name)), lagging('analytics')]
  const none = { waiting: [], budgets: [], approvals: [], schedules: [], pulls: [], causes: [] }
  const stored: StoredReadings = { ...none, stats, subscriptions, groups }
  const readings: Pick<TroubleReadings, 'running' | 'unrouted' | 'pauses'> = {
    running: [],
    unrouted: [],
    pauses: [],
  }
  const found = roadTroubles(stored, readings, 0)
  assert.deepEqual(found.map(({ title }) => title).sort(), [
    'Group analytics is 2,000 events behind',
    'Push bi is paused',
    'Push crm fails',
    'Push mail is 2,000 events behind',
  ])
  const day = Date.UTC(2026, 10, 29)
  const read = { ...lagging('analytics'), lastRead: { by: 'token:indexer', at: day } }
  const texts = [day + 60_000, day + 3_600_000].map((at) =>
    roadTroubles({ ...stored, subscriptions: [], groups: [read] }, readings, at).map(({ text }) => text),
  )
  assert.deepEqual(texts, [
    ['Its consumer does not read orders fast enough.'],
    ['No reader since 2026-11-29 00:00 UTC. The last one was indexer.'],
  ])
  // While the whole store is paused, only that is reported.
  const waiting = [{ road: 'dispatch', gateway: 'shop', state: 'waiting', oldestAt: 0, count: 1 }] as const
  const titles = (storePausedSince?: number) =>
    roadTroubles({ ...stored, waiting }, { ...readings, storePausedSince }, 3_600_000).map(
      ({ title }) => title,
    )
  assert.deepEqual(
    titles().filter((title) => !titles(1).includes(title)),
    ['Messages of shop wait', 'Push mail is 2,000 events behind'],
  )
})

test('dead letters, groups and pushes are in trouble since a time of their data', () => {
  const stats = {
    journal: { messages: 0 },
    receive: { ready: 0, leased: 0, lost: {} },
    dispatch: { unpumped: 0 },
    jobs: [
      { queue: 'dispatch', waiting: 0, running: 0, dead: 2, deadAt: 7 },
      { queue: 'outbox', waiting: 0, running: 0, dead: 1, deadAt: 5 },
    ],
  }
  const subscriptions = [
    { ...push('crm', 'failing'), failingSince: 11 },
    { ...push('bi', 'paused'), paused: { by: 'ada', since: 13 } },
  ]
  const groups = [
    { topic: 'orders', group: 'analytics', lag: 2_000, pending: 0, again: 0, behind: 2_000, oldestAt: 3 },
  ]
  const none = { waiting: [], budgets: [], approvals: [], schedules: [], pulls: [], causes: [] }
  const stored: StoredReadings = { ...none, stats, subscriptions, groups }
  const found = roadTroubles(stored, { running: [], unrouted: [], pauses: [] }, 0)
  assert.deepEqual(Object.fromEntries(found.map(({ code, since }) => [code, since])), {
    'subscription-down': 11,
    'subscription-paused': 13,
    'dead-letters': 5,
    'group-lag': 3,
  })
})

test('messages that are tried again have the route and the error of the last attempt', () => {
  const stats = {
    journal: { messages: 0 },
    receive: { ready: 0, leased: 0, lost: {} },
    dispatch: { unpumped: 0 },
    jobs: [],
  }
  const failure = {
    messageId: 'm1',
    route: 'loyalty',
    error: 'Skill sync failed: 423 Locked: the account is being merged',
  }
  const one = { road: 'dispatch', gateway: 'shop', oldestAt: 0, state: 'retrying', count: 4 } as const
  const waiting = [{ ...one, nextAt: 3_600_000, failure }]
  const none = {
    budgets: [],
    approvals: [],
    schedules: [],
    pulls: [],
    causes: [],
    groups: [],
    subscriptions: [],
  }
  const readings = { running: [], unrouted: [], pauses: [] }
  const [found] = roadTroubles({ ...none, stats, waiting }, readings, 3_000_000)
  assert.equal(found?.text, '423 Locked: the account is being merged. The next attempt is at 01:00 UTC.')
  assert.equal(found?.title, '4 messages of route loyalty are tried again')
  assert.match(found?.todo ?? '', /message show m1/)
  const cause = {
    ...{
      queue: 'dispatch',
      group: 'orders',
      code: 'skill_failed',
      pattern: failure.error.replace(': 423', ': #'),
    },
    ...{ common: failure.error, count: 2, recent: 0, first: 0, failingSince: 0, last: 0, lastNew: 0 },
  }
  const joined = roadTroubles({ ...none, stats, waiting, causes: [cause] }, readings, 3_000_000)
  assert.deepEqual(
    joined.map(({ title }) => title),
    ['2 dead letters of orders, and 4 messages of loyalty are tried again'],
  )
})
