import type { Erasing, JobsOnly, ListPage } from '../../../core/erasing.ts'
import type { Layout } from '../layout.ts'
import type { Shard } from './shard.ts'

/**
 * Erasing on several shards. The id of a message gives its shard; jobs and histories are on all
 * shards, topics on the first.
 */
export function createShardedErasing(shards: readonly Shard[], { shardIn }: Layout): Erasing {
  const all = shards.map(({ erasing }) => erasing)
  const [first] = all
  if (!first) throw new RangeError('a store has at least one shard')

  /** Reads the pages of one shard after the other. A page's `next` is `shard:next of the shard`. */
  const inTurn =
    <T, Rest extends unknown[]>(
      read: (erasing: Erasing, after?: string, ...rest: Rest) => Promise<ListPage<T>>,
    ) =>
    async (after = '0:', ...rest: Rest): Promise<ListPage<T>> => {
      const shard = Number.parseInt(after, 10)
      const place = after.slice(after.indexOf(':') + 1)
      const { items, next } = await read(all[shard] ?? first, place === '' ? undefined : place, ...rest)
      if (next !== undefined) return { items, next: `${shard}:${next}` }
      return { items, ...(shard + 1 < all.length && { next: `${shard + 1}:` }) }
    }

  return {
    dropMessages: async (ids) => {
      const groups = Map.groupBy(ids, (id) => shardIn(id) ?? 0)
      const counts = [...groups].map(async ([shard, some]) => (await all[shard]?.dropMessages(some)) ?? 0)
      return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
    },
    jobs: inTurn((erasing, after, only?: JobsOnly) => erasing.jobs(after, only)),
    dropJobs: async (jobs) => {
      for (const erasing of all) await erasing.dropJobs(jobs)
    },
    notes: inTurn((erasing, after) => erasing.notes(after)),
    dropNotes: async (notes) => {
      for (const erasing of all) await erasing.dropNotes(notes)
    },
    changeNotes: async (changes) => {
      for (const erasing of all) await erasing.changeNotes(changes)
    },
    topics: first.topics,
    dropEvents: first.dropEvents,
    dropTopic: first.dropTopic,
    overwrite: async () => {
      let isRewritten = true
      for (const erasing of all) isRewritten = (await erasing.overwrite()).isRewritten && isRewritten
      return { isRewritten }
    },
  }
}
