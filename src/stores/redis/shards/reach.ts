import { TriviumError } from '../../../core/errors.ts'
import { pause } from '../../../lib/pause.ts'
import type { Shard } from './shard.ts'

/** Ms between two looks at a shard that does not answer: one that comes back is used within a second. */
const LOOK_AGAIN = 500

/** Whether a call failed because its server cannot be reached, or takes nothing. */
export function isAway(error: unknown): boolean {
  return error instanceof TriviumError && error.code === 'store_unavailable'
}

/**
 * A shard whose calls fail immediately while its server is away, so that a server that hangs costs the calls under way one
 * time-out, and those that follow nothing. Its return is noticed by a ping in the background.
 */
export function guardShard(shard: Shard, stopped: AbortSignal): Shard {
  let away: unknown

  async function lookUntilBack(): Promise<void> {
    while (away !== undefined && !stopped.aborted) {
      await pause(LOOK_AGAIN, stopped)
      await shard.ping().then(
        () => {
          away = undefined
        },
        () => undefined,
      )
    }
  }

  async function through<T>(call: () => Promise<T>): Promise<T> {
    if (away !== undefined) throw away
    try {
      return await call()
    } catch (error) {
      const isNew = away === undefined
      if (isAway(error)) away = error
      if (isNew && away !== undefined) void lookUntilBack()
      throw error
    }
  }

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
