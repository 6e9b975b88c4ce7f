import { isAway } from './reach.ts'

/** Ms by which what one shard hands out may be newer than what another has. */
const TOLERANCE = 1_000
/** Ms after which a shard that had nothing is looked at again, though nobody said that something is there: a lease may have run out. */
const QUIET = 1_000
/** Consumers that are remembered at most; others start with a look at every shard. */
const MOST = 1_000

/** What a shard gave: `last`, the time of the last of it; or the time of the first that was `held` back; or it has nothing. */
export type Given<T> = { value: T; last: number } | { held: number } | undefined

/** Takes from several shards, the oldest first to within a second, asking as few as possible: mostly one. */
export function createMerge(count: number) {
  /**
   * For each who takes (a consumer group, or a filter): no shard has anything older for it than this time, 0 where it is not known; and
   * since when which have nothing.
   */
  const known = new Map<string, { next: number[]; quiet: Map<number, number> }>()
  const stateOf = (name: string) => {
    const state = known.get(name) ?? { next: Array<number>(count).fill(0), quiet: new Map<number, number>() }
    // The one that was used last is the last.
    known.delete(name)
    known.set(name, state)
    for (const oldest of known.keys()) if (known.size > MOST) known.delete(oldest)
    return state
  }
  return {
    /** Something may be there now, where no shard is named on any. */
    heard(shard?: number): void {
      for (const { quiet } of known.values()) {
        if (shard === undefined) quiet.clear()
        else quiet.delete(shard)
      }
    },
    /**
     * `ask` hands out what is not newer than `until` (Unix ms), of one shard; below 0 it only looks. Undefined: no shard has anything, or
     * only one that is taken for empty where this is not to be `sure`. Shards that are away are left out; rejects where all are.
     */
    async take<T>(
      name: string,
      ask: (shard: number, until: number) => Promise<Given<T>>,
      sure = true,
    ): Promise<T | undefined> {
      const { next, quiet } = stateOf(name)
      const all = Array.from(next.keys())
      const looked = new Set<number>()
      const away = new Map<number, unknown>()
      const reach = (shard: number, until: number) =>
        ask(shard, until).catch((error: unknown) => {
          if (!isAway(error)) throw error
          away.set(shard, error)
          return undefined
        })
      const look = async (shard: number) => {
        looked.add(shard)
        const given = await reach(shard, -1)
        if (away.has(shard)) return undefined
        if (!given) return quiet.set(shard, Date.now())
        next[shard] = 'held' in given ? given.held : 1
        return quiet.delete(shard)
      }
      const isDue = (shard: number) => {
        const since = quiet.get(shard)
        return since === undefined ? next[shard] === 0 : since + QUIET <= Date.now()
      }
      await Promise.all(all.filter(isDue).map(look))
      for (;;) {
        const open = all.filter((shard) => !quiet.has(shard) && !away.has(shard))
        const [first, second] = open.toSorted((a, b) => (next[a] ?? 0) - (next[b] ?? 0))
        if (first !== undefined) {
          const most = second === undefined ? Number.MAX_SAFE_INTEGER : (next[second] ?? 0) + TOLERANCE
          const given = await reach(first, most)
          if (away.has(first)) continue
          const time = given && ('held' in given ? given.held : given.last)
          // Something came back, or the group was moved: of the others it is not known either.
          if (time !== undefined && time < (next[first] ?? 0)) next.fill(0)
          if (time === undefined) quiet.set(first, Date.now())
          else next[first] = time
          if (given && 'value' in given) return given.value
          continue
        }
        // The word of another daemon may still be under way.
        const left = sure ? all.filter((shard) => !looked.has(shard) && !away.has(shard)) : []
        if (left.length === 0 && away.size === count) throw away.get(0)
        if (left.length === 0) return undefined
        await Promise.all(left.map(look))
      }
    },
  }
}
