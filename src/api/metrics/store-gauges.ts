import { secondsSince } from './daemon-gauges.ts'
import type { Makers } from './makers.ts'
import type { Readings } from './readings.ts'
import { roadsOf } from './roads.ts'

/** Maximum number of reported groups, by largest lag: clients can create any number. */
const MOST_GROUPS = 500

/** Gauges of the shared store, set when metrics are requested. */
export function createStoreGauges({ counter, gauge }: Makers) {
  const used = gauge('model_budget_used', 'Usage of a budget by all daemons, within its window.', 'limit')
  const most = gauge('model_budget_limit', 'Limit of a budget.', 'limit')
  const lost = counter(
    'receive_lost_total',
    'Messages that retention removed before they were received.',
    'gateway',
  )
  const depth = gauge('depth', 'Messages on a road that are waiting or in progress.', 'road')
  const waitingFor = gauge(
    'oldest_waiting_seconds',
    'Age of the oldest waiting message, without those that a pause holds.',
    'road',
    'gateway',
  )
  const jobs = gauge('jobs', 'Unfinished jobs, by queue and state.', 'queue', 'state')
  const deadLetters = gauge(
    'dead_letters',
    'Stored dead letters, by queue, without those of test messages among the newest 1,000.',
    'queue',
  )
  const lag = gauge(
    'group_lag',
    'Events that a consumer group has to read: unread, or to be delivered again.',
    'topic',
    'group',
  )
  const up = gauge('subscription_up', '1 if the subscription works, or has nothing to push.', 'subscription')

  return ({ stored, gateways }: Pick<Readings, 'stored' | 'gateways'>, now: number): void => {
    for (const each of [used, most, depth, waitingFor, jobs, deadLetters, lag, up]) each.reset()
    if (!stored) return
    const { stats, groups, subscriptions, waiting, budgets, tests } = stored
    for (const budget of budgets) {
      if (budget.budget === 'sender') continue
      const limit = budget.budget === 'skill' ? `${budget.skill}: ${budget.limit}` : budget.limit
      used.set({ limit }, budget.used)
      most.set({ limit }, budget.most)
    }
    for (const { road, messages } of roadsOf(stats)) depth.set({ road }, messages)
    for (const queue of ['dispatch', 'outbox']) deadLetters.set({ queue }, 0)
    for (const { queue, waiting, running, dead } of stats.jobs) {
      jobs.set({ queue, state: 'waiting' }, waiting)
      jobs.set({ queue, state: 'running' }, running)
      deadLetters.set({ queue }, Math.max(0, dead - (tests.get(queue) ?? 0)))
    }
    // Counted by the store for all daemons. Starts at 0, so that the first increase is visible.
    lost.reset()
    for (const { name: gateway } of gateways) {
      lost.inc({ gateway }, 0)
      for (const road of ['dispatch', 'receive', 'outbox']) waitingFor.set({ road, gateway }, 0)
    }
    for (const [gateway, count] of Object.entries(stats.receive.lost)) lost.inc({ gateway }, count)
    // Sorted so that the oldest of each road and gateway is set last. Includes jobs in back-off.
    const unheld = waiting.filter(({ state }) => state !== 'held')
    for (const { road, gateway, oldestAt } of unheld.toSorted((a, b) => b.oldestAt - a.oldestAt))
      waitingFor.set({ road, gateway }, secondsSince(oldestAt, now))
    const furthest = groups
      .map(({ topic, group, lag: unread, again }) => ({ topic, group, behind: unread + again }))
      .toSorted((a, b) => b.behind - a.behind)
    for (const { topic, group, behind } of furthest.slice(0, MOST_GROUPS)) lag.set({ topic, group }, behind)
    for (const { name, ok } of subscriptions) up.set({ subscription: name }, ok ? 1 : 0)
  }
}
