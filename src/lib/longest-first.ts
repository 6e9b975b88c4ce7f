type Cause = {
  readonly queue?: unknown
  readonly waits?: unknown
  readonly failingSince?: unknown
  readonly first?: unknown
}

/**
 * Causes of dead letters in the order of the list of troubles: those for which people wait, then the
 * others, each the longest first.
 */
export function longestFirst<T extends Cause>(causes: readonly T[]): T[] {
  return causes.toSorted((one, other) => rankOf(one) - rankOf(other) || beginOf(one) - beginOf(other))
}

/** The recipient of an unsent reply waits for it. */
function rankOf({ queue, waits }: Cause): number {
  return waits !== undefined || queue === 'outbox' ? 0 : 1
}

function beginOf({ failingSince, first }: Cause): number {
  return Number(failingSince ?? first ?? 0)
}
