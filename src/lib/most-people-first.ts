type Cause = {
  readonly queue?: unknown
  readonly waits?: unknown
  readonly count?: unknown
  readonly failingSince?: unknown
  readonly first?: unknown
}

/**
 * Causes of dead letters in the order of the list of troubles: those for which most people wait first,
 * then those with most letters, then the longest.
 */
export function mostPeopleFirst<T extends Cause>(causes: readonly T[]): T[] {
  return causes.toSorted(
    (one, other) =>
      peopleOf(other) - peopleOf(one) || countOf(other) - countOf(one) || beginOf(one) - beginOf(other),
  )
}

/** The recipient of an unsent reply waits for it. */
function peopleOf({ queue, waits, count }: Cause): number {
  return queue === 'outbox' ? Number(count ?? 0) : Number(Object(waits).people ?? 0)
}

function countOf({ count }: Cause): number {
  return Number(count ?? 0)
}

function beginOf({ failingSince, first }: Cause): number {
  return Number(failingSince ?? first ?? 0)
}
