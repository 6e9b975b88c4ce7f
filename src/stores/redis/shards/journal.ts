import { askAll, isStoreAway } from '../../../core/reachable.ts'
import type { CountedTimes, FoundMessages, Journal } from '../../../core/store.ts'
import { defined } from '../../../lib/defined.ts'
import type { Layout } from '../layout.ts'
import { createShardedAccept } from './accept.ts'
import type { Owned } from './owned.ts'
import { byShard, type Shard } from './shard.ts'

/** The journals of several shards as one. Each conversation is on one shard. */
export function createShardedJournal(shards: readonly Shard[], layout: Layout, owned: Owned): Journal {
  const { shardIn } = layout
  const at = (shard: number) => shards[shard] as Shard
  const journalOf = (id: string) => at(shardIn(id) ?? 0).journal

  return {
    accept: createShardedAccept(shards, layout),
    get: (id) => journalOf(id).get(id),
    note: (id, notes) => journalOf(id).note(id, notes),
    history: (id) => journalOf(id).history(id),
    outcomes: (ids) =>
      byShard(
        ids,
        (id) => shardIn(id) ?? 0,
        (shard, some) => at(shard).journal.outcomes(some),
      ),

    outcomesIfReachable: (ids) =>
      byShard<string, Reachable>(
        ids,
        (id) => shardIn(id) ?? 0,
        (shard, some) =>
          at(shard)
            .journal.outcomes(some)
            .catch((error: unknown): Reachable[] => {
              if (!isStoreAway(error)) throw error
              return some.map(() => 'unreachable')
            }),
      ),

    ...searchOver(shards),
    ...pumpOver(shards, layout, owned),
  }
}

type Reachable = Awaited<ReturnType<Journal['outcomesIfReachable']>>[number]

/** Messages to dispatch, from the shards of this daemon in turns. */
function pumpOver(
  shards: readonly Shard[],
  { shardIn }: Layout,
  owned: Owned,
): Pick<Journal, 'unpumped' | 'pumped'> {
  const at = (shard: number) => shards[shard] as Shard

  return {
    unpumped: async (max) => {
      for (;;) {
        const shard = await owned.nextToPump()
        if (shard === undefined) return { cursor: 0, items: [], more: false }
        // Set before the call, so that a signal during the call counts.
        owned.pumps(shard)
        const found = await at(shard)
          .journal.unpumped(max)
          .catch((error: unknown) => {
            owned.mayPump(shard)
            throw error
          })
        if (found.more) owned.mayPump(shard)
        if (found.items.length > 0) return { ...found, more: owned.hasToPump() }
      }
    },

    pumped: async (cursor, last, jobs) => {
      const shard = shardIn(last) ?? 0
      const isMoved = await at(shard)
        .journal.pumped(cursor, last, jobs)
        .catch((error: unknown) => {
          owned.mayPump(shard)
          throw error
        })
      if (!isMoved) owned.mayPump(shard)
      return isMoved
    },
  }
}

/** Searches and counts over all shards. */
function searchOver(shards: readonly Pick<Shard, 'journal'>[]): Pick<Journal, 'search' | 'countByTime'> {
  const ask = async <T>(isPartial: boolean | undefined, read: (journal: Journal) => Promise<T>) => {
    const { answers, away, failure } = await askAll(shards, ({ journal }) => read(journal))
    if (away.length > 0 && !isPartial) throw failure
    return { answers, away: away.length > 0 ? away : undefined }
  }
  return {
    search: async (search): Promise<FoundMessages> => {
      const { answers: pages, away } = await ask(search.isPartial, (journal) => journal.search(search))
      // The matches of a shard before the id where it stopped are unknown.
      const horizon =
        pages
          .map(({ next = '' }) => next)
          .sort()
          .at(-1) ?? ''
      const all = pages
        .flatMap(({ found }) => found)
        .filter(({ message }) => message.id >= horizon)
        .sort((a, b) => (a.message.id < b.message.id ? 1 : -1))
      const found = all.slice(0, search.limit)
      const next = all.length > found.length ? found.at(-1)?.message.id : horizon
      return { found, ...(next && { next }), ...defined({ away }) }
    },

    countByTime: async (search, width, byRoute): Promise<CountedTimes> => {
      const count = (journal: Journal) => journal.countByTime(search, width, byRoute)
      const { answers: all, away } = await ask(search.isPartial, count)
      // The numbers of a shard before the time where it stopped are unknown.
      const countedTo = Math.max(...all.map((one) => one.countedTo ?? 0))
      const sums = new Map<string, CountedTimes['counts'][number]>()
      for (const { at, count, ...of } of all.flatMap(({ counts }) => counts)) {
        const key = `${at} ${of.route ?? ''}`
        if (at >= countedTo) sums.set(key, { at, count: (sums.get(key)?.count ?? 0) + count, ...of })
      }
      const counts = [...sums.values()].sort((a, b) => b.at - a.at)
      return { counts, ...(countedTo > 0 && { countedTo }), ...defined({ away }) }
    },
  }
}
