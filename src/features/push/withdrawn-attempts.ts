import { selectedBy } from '../../engine/event-range.ts'
import { defined } from '../../lib/defined.ts'
import type { Report } from './records.ts'

type Attempt = Report['attempts'][number]

/** When the replay of an attempt was cancelled (Unix ms), and by whom. */
export type Withdrawn = { at: number; by?: string }

/**
 * Adds to failed attempts of cancelled replays that no other one follows, because their events were
 * withdrawn.
 */
export function withWithdrawals(
  attempts: readonly Attempt[],
  replays: Report['replays'],
): (Attempt & { withdrawn?: Withdrawn })[] {
  const cancelled = new Map(
    replays.map(({ round, withdrawn }) => [
      round,
      withdrawn && { ...withdrawn, isKept: selectedBy(withdrawn.keep) },
    ]),
  )
  const accepted = new Set(attempts.flatMap((each) => (each.reason === undefined ? deliveryOf(each) : [])))
  return attempts.map((attempt) => {
    const { since = 0, event = '', reason, isDead, deliveredAt } = attempt
    const found = cancelled.get(since)
    const isSettled = reason === undefined || isDead || deliveredAt !== undefined
    if (!found || isSettled || accepted.has(deliveryOf(attempt))) return attempt
    // A dead letter of the replay may have been retried later, and later replays keep its jobs.
    const isLater = Number(attempt.at) > found.at
    if (isLater || found.isKept(event)) return attempt
    const { nextAt: _, ...others } = attempt
    return { ...others, withdrawn: { at: found.at, ...defined({ by: found.by }) } }
  })
}

function deliveryOf({ event, since = 0 }: Attempt): string {
  return `${event} ${since}`
}
