import { TriviumError } from '../../../core/errors.ts'
import { inTime, pause } from '../../../lib/pause.ts'
import type { Shard } from './shard.ts'

/** Ms between two looks at a shard that does not answer: one that comes back is used within a second. */
const LOOK_AGAIN = 500

/** Whether a call failed because its server cannot be reached, or takes nothing. */
export function isAway(error: unknown): boolean {
  return error instanceof TriviumError && error.code === 'store_unavailable'
}

/** Ms that shards which are back wait for the answers of others: those on one server come back together, as events are in order. */
const TOGETHER = 300

/**
 * Shards whose calls fail immediately while their server is away, so that a server that hangs costs the calls under way one
 * time-out, and those that follow nothing. Their return is noticed by pings in the background.
 */
export function guardShards(shards: readonly Shard[], stopped: AbortSignal): Shard[] {
  const away = new Map<Shard, unknown>()

  async function lookUntilBack(): Promise<void> {
    while (away.size > 0 && !stopped.aborted) {
      await pause(LOOK_AGAIN, stopped)
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
        if (isFirst && away.size > 0) void lookUntilBack()
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

/** The same methods, each through the guard. */
function guardAll<Part extends object>(part: Part, through: Through): Part {
  return new Proxy(part, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name)
      if (typeof method !== 'function') return method
      return (...args: unknown[]) => through(async () => method.apply(target, args))
    },
  })
}

/** The answers of the shards that can be reached, and which cannot. Rejects where none can, and with any other failure. */
export async function askAll<Item, T>(
  shards: readonly Item[],
  ask: (shard: Item) => Promise<T>,
): Promise<{ answers: T[]; away: number[] }> {
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
  return { answers, away }
}
