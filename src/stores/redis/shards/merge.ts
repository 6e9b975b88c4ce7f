import { isAway } from './reach.ts'

/** Maximum ms by which a returned item may be newer than an item that another shard still has. */
const TOLERANCE = 1_000
/**
 * Ms after which an empty shard is checked again without a signal: a lease may have expired, or the
 * signal was lost while the subscription was broken. Together with the duration of calls it must
 * stay below the tolerance.
 */
const QUIET = 500
/** Maximum number of remembered consumers; others start by asking every shard. */
const MAX_KNOWN = 1_000

/**
 * A shard's answer. Times are Unix ms. `last`: of the last item of `value`. `held`: of the first
 * item, which is newer than was asked for. Undefined: it has nothing.
 */
export type Given<T> = { value: T; last: number } | { held: number } | undefined

type State = {
  /** Per shard: it has nothing older than this time (Unix ms); 0 if unknown. */
  next: number[]
  /** Empty shards, with the time since when. */
  quiet: Map<number, number>
}

/**
 * Takes from one shard an item that is not newer than `until` (Unix ms); below 0 it takes nothing,
 * and only returns a time.
 */
type Ask<T> = (shard: number, until: number) => Promise<Given<T>>

/**
 * Takes from several shards, oldest first with a tolerance of a second. Asks as few shards as
 * possible, usually one.
 */
export function createMerge(count: number) {
  /** By consumer: a consumer group, or a filter. */
  const known = new Map<string, State>()
  /**
   * The number of signals of each shard, because a signal may arrive before the answer that it
   * makes obsolete.
   */
  const signals = Array<number>(count).fill(0)
  const stateOf = (name: string) => {
    const state = known.get(name) ?? { next: Array<number>(count).fill(0), quiet: new Map<number, number>() }
    // Moves it to the end of the map, whose first entries are removed.
    known.delete(name)
    known.set(name, state)
    for (const oldest of known.keys()) if (known.size > MAX_KNOWN) known.delete(oldest)
    return state
  }
  return {
    /** Called when a shard may have something; without a number, any shard. */
    signalled(shard?: number): void {
      const some = shard === undefined ? signals.keys() : [shard]
      for (const each of some) {
        signals[each] = (signals[each] ?? 0) + 1
        for (const { quiet } of known.values()) quiet.delete(each)
      }
    },
    /**
     * Undefined: no shard has anything; if not `sure`, a shard that was empty recently may have.
     * Unreachable shards are left out; rejects if all are unreachable.
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
  const asked = new Set<number>()
  const away = new Map<number, unknown>()
  /** Shards that were empty during this call; not asked again. */
  const empty = new Set<number>()
  const reach = async (shard: number, until: number) => {
    const since = performance.now()
    const before = signals[shard]
    try {
      const given = await ask(shard, until)
      if (given) {
        quiet.delete(shard)
        empty.delete(shard)
        return given
      }
      empty.add(shard)
      // After a signal during the call, the answer may be outdated.
      const isCurrent = signals[shard] === before
      if (isCurrent) quiet.set(shard, since)
      return given
    } catch (error) {
      if (!isAway(error)) throw error
      away.set(shard, error)
      return undefined
    }
  }
  const askForTime = async (shard: number) => {
    asked.add(shard)
    const given = await reach(shard, -1)
    if (given) next[shard] = 'held' in given ? given.held : 1
  }
  const isDue = (shard: number) => {
    const since = quiet.get(shard)
    return since === undefined ? next[shard] === 0 : since + QUIET <= performance.now()
  }
  await Promise.all(all.filter(isDue).map(askForTime))
  for (;;) {
    const open = all.filter((shard) => !quiet.has(shard) && !empty.has(shard) && !away.has(shard))
    const [first, second] = open.toSorted((a, b) => (next[a] ?? 0) - (next[b] ?? 0))
    if (first !== undefined) {
      const most = second === undefined ? Number.MAX_SAFE_INTEGER : (next[second] ?? 0) + TOLERANCE
      const given = await reach(first, most)
      if (!given) continue
      const time = 'held' in given ? given.held : given.last
      // Something older came back, or the group was moved: the times of the other shards are
      // unknown, too.
      if (time < (next[first] ?? 0)) next.fill(0)
      next[first] = time
      if ('value' in given) return given.value
      continue
    }
    // A signal of another daemon may still be on its way.
    const left = sure ? all.filter((shard) => !asked.has(shard) && !away.has(shard)) : []
    if (left.length === 0 && away.size === all.length) throw away.get(0)
    if (left.length === 0) return undefined
    await Promise.all(left.map(askForTime))
  }
}
