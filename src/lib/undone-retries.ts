/** The history entries of a message whose dead letter was retried, and whose retry was cancelled. */
export const RETRIED = 'retried'
export const RETRY_CANCELLED = 'retry cancelled'

/**
 * The history of a message without its cancelled retries and the attempts since them: its dead letter
 * is what it was before.
 */
export function withoutUndone<Entry extends { road: string; what: string }>(
  history: readonly Entry[],
): Entry[] {
  let kept: Entry[] = []
  for (const entry of history) {
    const isUndone = entry.road === 'dispatch' && entry.what === RETRY_CANCELLED
    const start = isUndone ? kept.findLastIndex(({ what }) => what === RETRIED) : -1
    if (start === -1) kept.push(entry)
    else kept = [...kept.slice(0, start), ...kept.slice(start).filter(({ road }) => road !== 'dispatch')]
  }
  return kept
}
