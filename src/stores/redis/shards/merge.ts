import { isStoreAway } from '../../../core/reachable.ts'

/** Maximum ms by which a taken item may be newer than an item that another shard still has. */
const TOLERANCE = 1_000
/**
 * Ms after which an empty shard is checked again without a signal: a lease may have expired, or the
 * signal was lost while the subscription was broken. This time and the duration of a call must
 * together be shorter than `TOLERANCE`.
 */
const QUIET = 500
/** Maximum number of remembered consumers; others start by asking every shard. */
const MAX_KNOWN = 1_000

/** What a shard gave; undefined if it has nothing. */
export type Given<T> =
  /** `last`: the time of its last item (Unix ms); 0 for a report of missed events without items. */
  | { value: T; last: number }
  /** Nothing, because its oldest item is newer than asked for. `held`: the time of that item. */
  | { held: number }
  | undefined

/** Takes items from one shard that are not newer than `until` (Unix ms, or `ONLY_TIME`). */
type Ask<T> = (shard: number, until: number) => Promise<Given<T>>
/**
 * As `until`: take no items, and return the time of the oldest. A report of missed events may be
 * returned; the next call returns it again.
 */
export const ONLY_TIME = -1

/** What a consumer knows about the shards. */
type State = {
  /** By shard: it has nothing older than this time (Unix ms), or `UNKNOWN`, or `ANY_TIME`. */
  earliest: number[]
  /** The shards that were empty, and when they were asked (`performance.now()`). */
  emptySince: Map<number, number>
}

const UNKNOWN = 0
/** The shard has something whose time is unknown. Sorts before every known time. */
const ANY_TIME = 1

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
    const state = known.get(name) ?? {
      earliest: Array<number>(count).fill(UNKNOWN),
      emptySince: new Map<number, number>(),
    }
    // Moves it to the end of the map, whose first entries are removed.
    known.delete(name)
    known.set(name, state)
    const [leastRecent = name] = known.keys()
    if (known.size > MAX_KNOWN) known.delete(leastRecent)
    return state
  }
  return {
    /** Called when a shard may have something; without a number, any shard. */
    signalled(shard?: number): void {
      const some = shard === undefined ? signals.keys() : [shard]
      for (const each of some) {
        signals[each] = (signals[each] ?? 0) + 1
        for (const { emptySince } of known.values()) emptySince.delete(each)
      }
    },
    /**
     * Undefined if no shard has anything. Without `sure`, shards that were empty in the last half
     * second are not asked, and may have something now. Unreachable shards are left out; rejects if
     * all are unreachable.
     */
    take: <T>(name: string, ask: Ask<T>, sure = true): Promise<T | undefined> =>
      takeOldest(stateOf(name), signals, ask, sure),
  }
}

async function takeOldest<T>(
  { earliest, emptySince }: State,
  signals: readonly number[],
  ask: Ask<T>,
  sure: boolean,
): Promise<T | undefined> {
  const all = Array.from(earliest.keys())
  const askedForTime = new Set<number>()
  const away = new Map<number, unknown>()
  /**
   * Shards that gave nothing in this call. They are asked at most once more, if the caller wants to
   * be sure.
   */
  const emptyNow = new Set<number>()
  const reach = async (shard: number, until: number) => {
    const askedAt = performance.now()
    const signalsBefore = signals[shard]
    try {
      const given = await ask(shard, until)
      if (given) {
        emptySince.delete(shard)
        emptyNow.delete(shard)
        return given
      }
      emptyNow.add(shard)
      // After a signal during the call, the answer may be outdated.
      const isCurrent = signals[shard] === signalsBefore
      if (isCurrent) emptySince.set(shard, askedAt)
      return given
    } catch (error) {
      if (!isStoreAway(error)) throw error
      away.set(shard, error)
      return undefined
    }
  }
  const askForTime = async (shard: number) => {
    askedForTime.add(shard)
    const given = await reach(shard, ONLY_TIME)
    if (given) earliest[shard] = 'held' in given ? given.held : ANY_TIME
  }
  const isDue = (shard: number) => {
    const since = emptySince.get(shard)
    return since === undefined ? earliest[shard] === UNKNOWN : since + QUIET <= performance.now()
  }
  const byTime = (one: number, other: number) => (earliest[one] ?? UNKNOWN) - (earliest[other] ?? UNKNOWN)

  await Promise.all(all.filter(isDue).map(askForTime))
  for (;;) {
    const mayHave = all.filter((each) => !emptySince.has(each) && !emptyNow.has(each) && !away.has(each))
    const [first, second] = mayHave.toSorted(byTime)
    if (first === undefined) {
      // A signal of another daemon may still be on its way.
      const unasked = sure ? all.filter((shard) => !askedForTime.has(shard) && !away.has(shard)) : []
      if (unasked.length === 0 && away.size === all.length) throw away.get(0)
      if (unasked.length === 0) return undefined
      await Promise.all(unasked.map(askForTime))
      continue
    }
    const until = second === undefined ? Number.MAX_SAFE_INTEGER : (earliest[second] ?? UNKNOWN) + TOLERANCE
    const given = await reach(first, until)
    if (!given) continue
    const time = 'held' in given ? given.held : given.last
    const isOlder = time < (earliest[first] ?? UNKNOWN)
    // Something older came back, or the group was moved. So the times of the other shards are
    // unknown too.
    if (isOlder) earliest.fill(UNKNOWN)
    earliest[first] = time
    if ('value' in given) return given.value
  }
}
