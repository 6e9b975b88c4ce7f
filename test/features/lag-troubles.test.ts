import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SubscriptionInfo } from '../../src/core/subscription-info.ts'
import type { StoredReadings, TroubleReadings } from '../../src/features/troubles/readings.ts'
import { roadTroubles } from '../../src/features/troubles/road-troubles.ts'

function push(name: string, state: SubscriptionInfo['state']): SubscriptionInfo {
  const counts = { waiting: 2_000, queued: 0, unread: 2_000, dead: 0 }
  const place = { name, topic: 'orders', url: 'https://example.com', source: 'api' } as const
  return { ...place, ok: state === 'active', state, ...counts }
}

test('a push far behind is a trouble once: as failing or paused, or else as a slow receiver', () => {
  const subscriptions = [push('crm', 'failing'), push('bi', 'paused'), push('mail', 'active')]
  const lagging = (group: string) => ({ topic: 'orders', group, lag: 2_000, pending: 0 })
  const stats = {
    journal: { messages: 0 },
    receive: { ready: 0, leased: 0, lost: {} },
    dispatch: { unpumped: 0 },
    jobs: [],
  }
  const groups = [...subscriptions.map(({ name }) => lagging(name)), lagging('analytics')]
  const none = { waiting: [], budgets: [], approvals: [], schedules: [] }
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
})
