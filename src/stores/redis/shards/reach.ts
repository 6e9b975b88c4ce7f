import { TriviumError } from '../../../core/errors.ts'
import { inTime, pause } from '../../../lib/pause.ts'
import type { Shard } from './shard.ts'

/** Interval (ms) of pings of an unreachable shard, so that it is used again within a second. */
const PING_INTERVAL = 500

/** Whether a call failed because its server cannot be reached or accepts no writes. */
export function isAway(error: unknown): boolean {
  return error instanceof TriviumError && error.code === 'store_unavailable'
}

/**
 * Ms to wait for the pings of other shards: all shards of one server must be used again at the same
 * time, to keep events in order.
 */
const TOGETHER = 300

/**
 * Makes the calls of a shard fail immediately while its server is unreachable. So a hanging server
 * costs only the calls in progress one timeout. Pings in the background notice when it is back.
 */
export function guardShards(shards: readonly Shard[], stopped: AbortSignal): Shard[] {
  const away = new Map<Shard, unknown>()

  async function pingUntilBack(): Promise<void> {
    while (away.size > 0 && !stopped.aborted) {
      await pause(PING_INTERVAL, stopped)
      const back: Shard[] = []
      const pings = [...away.keys()].map((shard) => shard.ping().then(() => back.push(shard)))
      await inTime(Promise.allSettled(pings), AbortSignal.timeout(TOGETHER))
      for (const shard of back) away.delete(shard)
    }
  }

  const guard =
    (shard: Shard) =>
    async <T>(call: () => Promise<T>) => {
      if (away.has(shard)) throw away.get(shard)
      try {
        return await call()
      } catch (error) {
        const isFirst = away.size === 0
        if (isAway(error)) away.set(shard, error)
        if (isFirst && away.size > 0) void pingUntilBack()
        throw error
      }
    }
  return shards.map((shard) => guardShard(shard, guard(shard)))
}

function guardShard(shard: Shard, through: Through): Shard {
  const { receive, topics, journal, jobs } = shard
  return {
    ...shard,
    receive: guardAll(receive, through),
    topics: { ...guardAll(topics, through), placeOf: topics.placeOf },
    journal: guardAll(journal, through),
    jobs: guardAll(jobs, through),
    place: (keys) => through(() => shard.place(keys)),
    trim: (policy) => through(() => shard.trim(policy)),
    stats: () => through(shard.stats),
    oldestWaiting: () => through(shard.oldestWaiting),
  }
}

type Through = <T>(call: () => Promise<T>) => Promise<T>

/** The methods of a part, each called through the guard. */
function guardAll<Part extends object>(part: Part, through: Through): Part {
  return new Proxy(part, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name)
      if (typeof method !== 'function') return method
      return (...args: unknown[]) => through(async () => method.apply(target, args))
    },
  })
}

/**
 * The answers of the reachable shards, the numbers of the unreachable ones (`away`), and the first
 * failure among them. Rejects if none is reachable, and with any other failure.
 */
export async function askAll<Item, T>(
  shards: readonly Item[],
  ask: (shard: Item) => Promise<T>,
): Promise<{ answers: T[]; away: number[]; failure: unknown }> {
  const settled = await Promise.allSettled(shards.map(ask))
  const answers: T[] = []
  const away: number[] = []
  let failure: unknown
  for (const [shard, outcome] of settled.entries()) {
    if (outcome.status === 'fulfilled') answers.push(outcome.value)
    else if (isAway(outcome.reason)) {
      away.push(shard)
      failure ??= outcome.reason
    } else throw outcome.reason
  }
  if (answers.length === 0) throw failure
  return { answers, away, failure }
}
