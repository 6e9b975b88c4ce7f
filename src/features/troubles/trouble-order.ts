import type { Trouble } from '../../core/trouble.ts'

/** Troubles of the whole daemon: while they last, nobody is served. */
const OF_ALL: ReadonlySet<Trouble['code']> = new Set(['store-down', 'shards-away', 'configuration'])

/**
 * The one order of troubles: the pause of everything, people who wait for an answer or a decision,
 * then what fails, what recovers, and what is paused. Of what fails, errors of the whole daemon
 * first, then errors for which people wait. In each part, the longest first.
 */
export function inOrder(troubles: readonly Trouble[]): Trouble[] {
  return troubles.toSorted(
    (one, other) => rankOf(one) - rankOf(other) || (one.since ?? 0) - (other.since ?? 0),
  )
}

function rankOf({ code, severity, where, people }: Trouble): number {
  if (code === 'paused' && where.reason === 'restore') return 0
  if (code === 'unanswered' || code === 'approval-waiting') return 1
  if (severity === 'error') return OF_ALL.has(code) ? 2 : people === undefined ? 4 : 3
  if (severity === 'warning') return people === undefined ? 6 : 5
  return code === 'paused' ? 8 : 7
}
