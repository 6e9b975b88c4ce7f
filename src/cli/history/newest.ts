/** Something with a time (ISO 8601). */
type Timed = { time: string }

/**
 * Keeps the newest `limit` of the added entries, and one more if there is one, which tells whether
 * there are older ones.
 */
export function createNewest<One extends Timed>(limit: number) {
  const most = limit + 1
  let kept: One[] = []
  const prune = () => {
    // The sort is stable: entries of the same time keep the order in which they were added.
    kept = kept.sort((a, b) => (a.time < b.time ? 1 : a.time > b.time ? -1 : 0)).slice(0, most)
  }
  return {
    add(one: One) {
      kept.push(one)
      if (kept.length >= 2 * most) prune()
    },
    /** Entries before this time are not kept any more. Empty as long as all are kept. */
    bound(): string {
      prune()
      return kept.length < most ? '' : (kept.at(-1)?.time ?? '')
    },
    /**
     * The entries, oldest first, and whether there are older ones. A time is never divided between
     * two pages, because the next page begins before the time of the first entry.
     */
    page(): { entries: One[]; more: boolean } {
      prune()
      const next = kept[limit]
      if (next === undefined) return { entries: kept.toReversed(), more: false }
      const whole = kept.filter(({ time }) => time > next.time)
      return { entries: (whole.length > 0 ? whole : kept.slice(0, limit)).toReversed(), more: true }
    },
  }
}
