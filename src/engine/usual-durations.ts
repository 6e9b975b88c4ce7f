/** Maximum number of groups; the durations of further groups are not known. */
const MOST_GROUPS = 10_000
/** Factor by which each later attempt lowers the longest one, so that an exception is forgotten. */
const FORGETTING = 0.98

/** The longest recent attempt of each group of jobs (ms), in memory. */
export function createUsualDurations() {
  const longest = new Map<string, number>()
  return {
    /** Called for each attempt, so it must be cheap. */
    ended(group: string, ms: number): void {
      const before = longest.get(group)
      if (before === undefined && longest.size >= MOST_GROUPS) return
      longest.set(group, Math.max(ms, (before ?? 0) * FORGETTING))
    },
    longest: (group: string) => longest.get(group),
  }
}
