import { isStoreAway } from '../../../core/reachable.ts'
import { inTime, pause } from '../../../lib/pause.ts'
import type { Shard } from './shard.ts'

/** Interval (ms) of pings of an unreachable shard, so that it is used again within a second. */
const PING_INTERVAL = 500

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
        if (isStoreAway(error)) away.set(shard, error)
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
