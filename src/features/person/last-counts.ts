import type { Counts } from './tallies.ts'

/** The numbers of a count that an erasure is compared with. */
export type CountedRecords = Pick<Counts, 'total' | 'counts' | 'kinds'>

/** Maximum number of counts in memory. */
const MAX_COUNTS = 20

export type LastCounts = ReturnType<typeof createLastCounts>

/** The last complete counts of people, for the proof of an erasure. */
export function createLastCounts() {
  const all = new Map<string, CountedRecords>()
  return {
    remember(identities: readonly string[], { total, counts, kinds }: CountedRecords): void {
      const key = keyOf(identities)
      all.delete(key)
      all.set(key, { total, counts, kinds })
      const [oldest] = all.size > MAX_COUNTS ? all.keys() : []
      if (oldest !== undefined) all.delete(oldest)
    },
    /** What was counted before an erasure. `total` is what the caller saw, if they say so. */
    before(identities: readonly string[], seen: number | undefined): { counted?: CountedRecords } {
      const last = all.get(keyOf(identities))
      const total = seen ?? last?.total
      if (total === undefined) return {}
      return { counted: last?.total === total ? last : { total, counts: {}, kinds: {} } }
    },
  }
}

const keyOf = (identities: readonly string[]) => identities.toSorted().join('\n')
