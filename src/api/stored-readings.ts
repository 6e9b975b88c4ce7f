import type { ApprovalService } from '../core/approval.ts'
import type { BudgetStatus } from '../core/budget.ts'
import { reasonOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { isStoreAway } from '../core/reachable.ts'
import type { Store } from '../core/store.ts'
import type { SubscriptionInfo } from '../core/subscription-info.ts'
import { isLasting } from '../engine/event-access.ts'
import { createGroupLastReads } from '../engine/group-last-reads.ts'
import type { Pull } from '../engine/pulls.ts'
import { withBacklogs } from '../features/push/group-states.ts'
import { failingSchedules } from '../features/schedules/failures.ts'
import type { StoredReadings } from '../features/troubles/readings.ts'
import { createGroupTimes } from './group-times.ts'
import { createRetryCauses } from './last-failures.ts'
import type { ReadCauses } from './letter-causes.ts'
import { createUnansweredReading, type ListUnanswered } from './unanswered-readings.ts'

const MOST_APPROVALS = 1_000

/**
 * Reads the inputs of the list of troubles that are in the store. Resolves with undefined while the
 * store is unavailable. If a part cannot be read for another reason, it is left out and logged.
 */
export function createStoredReadings(deps: {
  store: Store
  readCauses: ReadCauses
  approvals: Pick<ApprovalService, 'list'>
  subscriptions(): Promise<SubscriptionInfo[]>
  budgets(): Promise<BudgetStatus[]>
  conversations: ListUnanswered
  /** The gateways that workers use. */
  pulls(): Promise<Pull[]>
  draining(): boolean
  log: Log
  now(): number
}): () => Promise<StoredReadings | undefined> {
  const { store, log, readCauses } = deps
  const withTimes = createGroupTimes({
    topics: store.topics,
    lastReads: createGroupLastReads({ ...deps, kv: store.kv }),
    now: deps.now,
  })
  const readUnanswered = createUnansweredReading(deps.conversations, deps.now)
  const withCauses = createRetryCauses(store.journal)
  /** Why each reading last failed. The list is read often, so a lasting failure is logged once. */
  const reasons = new Map<string, string>()

  function report(reading: string, error: unknown): void {
    const reason = reasonOf(error)
    // While the daemon stops, a read may find the store closed.
    if (!deps.draining() && reasons.get(reading) !== reason)
      log.error({ reading, err: error }, 'the list of troubles is incomplete: a part cannot be read')
    reasons.set(reading, reason)
  }

  /** Resolves with `missing` if the part cannot be read, unless the store is unavailable. */
  async function readPart<T, U>(reading: string, read: () => Promise<T>, missing: U): Promise<T | U> {
    try {
      const result = await read()
      reasons.delete(reading)
      return result
    } catch (error) {
      if (isStoreAway(error)) throw error
      report(reading, error)
      return missing
    }
  }

  async function readAll(): Promise<StoredReadings | undefined> {
    const [stats, groups, subscriptions, waiting, budgets, approvals, schedules, pulls, unanswered] =
      await Promise.all([
        readPart('stats', () => store.stats(), undefined),
        readPart('groups', () => store.topics.groups(), undefined),
        readPart('subscriptions', deps.subscriptions, []),
        readPart('waiting', () => store.oldestWaiting(), undefined),
        readPart('budgets', deps.budgets, []),
        readPart('approvals', () => deps.approvals.list({ status: 'pending', limit: MOST_APPROVALS }), []),
        readPart('schedules', () => failingSchedules(store.kv), []),
        readPart('pulls', deps.pulls, []),
        readPart('conversations', readUnanswered, undefined),
      ])
    if (!stats || !groups || !waiting) return undefined
    const lasting = withBacklogs(
      groups.filter(({ group }) => isLasting(group)),
      subscriptions,
    )
    const [timed, causes, failed] = await Promise.all([
      readPart('groups', () => withTimes(lasting, subscriptions), lasting),
      readPart('dead letters', () => readCauses(stats), []),
      readPart('failures', () => withCauses(waiting, deps.now()), waiting),
    ])
    const lists = { groups: timed, subscriptions, waiting: failed, budgets, approvals, schedules, causes }
    return { stats, ...lists, pulls, unanswered }
  }

  return () =>
    readAll().catch((error: unknown) => {
      if (isStoreAway(error)) return undefined
      throw error
    })
}
