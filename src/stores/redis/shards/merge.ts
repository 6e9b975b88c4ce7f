import { isAway } from './reach.ts'

/** Ms by which what one shard hands out may be newer than what another has. */
const TOLERANCE = 1_000
/**
 * Ms after which a shard that had nothing is looked at again without a signal: a lease may have run out, or the signal was lost
 * while the subscription was away. With the time that calls take it must stay below the tolerance.
 */
const QUIET = 500
/** Consumers that are remembered at most; others start with a look at every shard. */
const MAX_KNOWN = 1_000

/** What a shard gave: `last`, the time of the last of it; or the time of the first that was `held` back; or it has nothing. */
export type Given<T> = { value: T; last: number } | { held: number } | undefined

type State = {
  /** No shard has anything older than this time (Unix ms); 0 where it is not known. */
  next: number[]
  /** Since when which shards have nothing. */
  quiet: Map<number, number>
}

/** `ask` hands out what is not newer than `until` (Unix ms), of one shard; below 0 it only looks. */
type Ask<T> = (shard: number, until: number) => Promise<Given<T>>

/** Takes from several shards, the oldest first to within a second, asking as few as possible: mostly one. */
export function createMerge(count: number) {
  /** By consumer: a consumer group, or a filter. */
  const known = new Map<string, State>()
  /** The number of signals of each shard: one may overtake the answer that it makes obsolete. */
  const signals = Array<number>(count).fill(0)
  const stateOf = (name: string) => {
    const state = known.get(name) ?? { next: Array<number>(count).fill(0), quiet: new Map<number, number>() }
    // The one that was used last is the last.
    known.delete(name)
    known.set(name, state)
    for (const oldest of known.keys()) if (known.size > MAX_KNOWN) known.delete(oldest)
    return state
  }
  return {
    /** Something may be there now, where no shard is named on any. */
    signalled(shard?: number): void {
      const some = shard === undefined ? signals.keys() : [shard]
      for (const each of some) {
        signals[each] = (signals[each] ?? 0) + 1
        for (const { quiet } of known.values()) quiet.delete(each)
      }
    },
    /**
     * Undefined: no shard has anything, or only one that is taken for empty where this is not to be `sure`. Shards that are away
     * are left out; rejects where all are.
     */
    take: <T>(name: string, ask: Ask<T>, sure = true): Promise<T | undefined> =>
      takeOldest(stateOf(name), signals, ask, sure),
  }
}

async function takeOldest<T>(
  { next, quiet }: State,
  signals: readonly number[],
  ask: Ask<T>,
  sure: boolean,
): Promise<T | undefined> {
  const all = Array.from(next.keys())
  const looked = new Set<number>()
  const away = new Map<number, unknown>()
  /** Had nothing during this call: not asked again. */
  const empty = new Set<number>()
  const reach = async (shard: number, until: number) => {
    const since = performance.now()
    const before = signals[shard]
    try {
      const given = await ask(shard, until)
      if (given) quiet.delete(shard)
      // A signal meanwhile may be of something that came after the shard was looked at.
      else if (signals[shard] === before) quiet.set(shard, since)
      if (given) empty.delete(shard)
      else empty.add(shard)
      return given
    } catch (error) {
      if (!isAway(error)) throw error
      away.set(shard, error)
      return undefined
    }
  }
  const look = async (shard: number) => {
    looked.add(shard)
    const given = await reach(shard, -1)
    if (given) next[shard] = 'held' in given ? given.held : 1
  }
  const isDue = (shard: number) => {
    const since = quiet.get(shard)
    return since === undefined ? next[shard] === 0 : since + QUIET <= performance.now()
  }
  await Promise.all(all.filter(isDue).map(look))
  for (;;) {
    const open = all.filter((shard) => !quiet.has(shard) && !empty.has(shard) && !away.has(shard))
    const [first, second] = open.toSorted((a, b) => (next[a] ?? 0) - (next[b] ?? 0))
    if (first !== undefined) {
      const most = second === undefined ? Number.MAX_SAFE_INTEGER : (next[second] ?? 0) + TOLERANCE
      const given = await reach(first, most)
      if (!given) continue
      const time = 'held' in given ? given.held : given.last
      // Something came back, or the group was moved: of the others it is not known either.
      if (time < (next[first] ?? 0)) next.fill(0)
      next[first] = time
      if ('value' in given) return given.value
      continue
    }
    // The word of another daemon may still be under way.
    const left = sure ? all.filter((shard) => !looked.has(shard) && !away.has(shard)) : []
    if (left.length === 0 && away.size === all.length) throw away.get(0)
    if (left.length === 0) return undefined
    await Promise.all(left.map(look))
  }
}
