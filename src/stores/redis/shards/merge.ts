/** Ms by which what one shard hands out may be newer than what another has. */
const TOLERANCE = 1_000
/** So many of those who take at once are remembered; the others begin anew. */
const MOST = 1_000

/** What a shard gave: `last`, the time of the last of it; or the time of the first that was `held` back; or it has nothing. */
export type Given<T> = { value: T; last: number } | { held: number } | undefined

/** Takes from several shards, the oldest first to within a second, asking as few as possible: mostly one. */
export function createMerge(count: number) {
  /** For each who takes (a consumer group, or a filter): no shard has anything older for it than this time. */
  const known = new Map<string, { next: number[]; quiet: Set<number> }>()
  const stateOf = (name: string) => {
    const state = known.get(name) ?? { next: Array<number>(count).fill(0), quiet: new Set<number>() }
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
     * `ask` hands out what is not newer than `until` (Unix ms), of one shard. Undefined: none has anything, or only one that is taken for
     * empty where this is not to be `sure`.
     */
    async take<T>(
      name: string,
      ask: (shard: number, until: number) => Promise<Given<T>>,
      sure = true,
    ): Promise<T | undefined> {
      const { next, quiet } = stateOf(name)
      const all = Array.from(next.keys())
      for (let isSure = !sure; ; ) {
        const open = all.filter((shard) => !quiet.has(shard))
        const [first, second] = open.toSorted((a, b) => (next[a] ?? 0) - (next[b] ?? 0))
        if (first !== undefined) {
          // What is not known yet is looked at first.
          const most = next[first] === 0 ? -1 : (next[second ?? first] ?? 0) + TOLERANCE
          const given = await ask(first, second === undefined ? Number.MAX_SAFE_INTEGER : most)
          const time = given && ('held' in given ? given.held : given.last)
          // Something came back, or the group was moved: of the others it is not known either.
          if (time !== undefined && time < (next[first] ?? 0)) next.fill(0)
          if (time === undefined) quiet.add(first)
          else next[first] = time
          if (given && 'value' in given) return given.value
          continue
        }
        // The word of another daemon may still be under way.
        if (isSure) return undefined
        isSure = true
        await Promise.all(
          all.map(async (shard) => {
            const given = await ask(shard, -1)
            if (given) quiet.delete(shard)
            if (given && 'held' in given) next[shard] = given.held
          }),
        )
      }
    },
  }
}
