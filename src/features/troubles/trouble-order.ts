import type { Trouble } from '../../core/trouble.ts'

type Code = Trouble['code']

/** Troubles of the whole daemon: while they last, nobody is served. */
const OF_ALL: ReadonlySet<Code> = new Set<Code>(['store-down', 'shards-away', 'configuration'])
/** Errors that stop a gateway, a queue or a push completely. */
const OUTAGES: ReadonlySet<Code> = new Set<Code>([
  'gateway-down',
  'queue-down',
  'refusals',
  'subscription-down',
])

/** Ranks in which the largest comes first; in the others, the longest. */
const FAILING = { daemon: 2, outage: 3, people: 4, error: 5, warning: 6 }
const BY_SIZE: ReadonlySet<number> = new Set(Object.values(FAILING))

/**
 * The one order of troubles: the pause of everything, people who wait for an answer or a decision,
 * then what fails, what recovers, and what is paused. Of what fails, total outages first, those of the
 * whole daemon before the others; then those for which most people wait, then the largest.
 */
export function inOrder(troubles: readonly Trouble[]): Trouble[] {
  return troubles.toSorted((one, other) => {
    const rank = rankOf(one)
    return (
      rank - rankOf(other) ||
      (BY_SIZE.has(rank) ? (other.people ?? 0) - (one.people ?? 0) || other.count - one.count : 0) ||
      (one.since ?? 0) - (other.since ?? 0)
    )
  })
}

function rankOf({ code, severity, where, people }: Trouble): number {
  if (code === 'paused' && where.reason === 'restore') return 0
  if (code === 'unanswered' || code === 'approval-waiting') return 1
  if (severity === 'info') return code === 'paused' ? 8 : 7
  if (severity === 'error' && OF_ALL.has(code)) return FAILING.daemon
  if (severity === 'error' && OUTAGES.has(code)) return FAILING.outage
  if (people !== undefined) return FAILING.people
  return severity === 'error' ? FAILING.error : FAILING.warning
}
