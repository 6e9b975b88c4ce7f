import type { Accepted, NewMessage } from '../../../core/message.ts'
import type { CountedTimes, FoundMessages, Journal } from '../../../core/store.ts'
import type { Appended } from '../codec.ts'
import type { Layout } from '../layout.ts'
import { digest } from '../scripts.ts'
import type { Owned } from './owners.ts'
import { byShard, type Shard } from './shard.ts'

/** Of messages whose shard could not be asked for. */
const NOWHERE = -1

/**
 * The journals of several shards as one. A conversation is on one, and a key is looked for on one, which may be another: then a second
 * call tells where its first message went. What begins a conversation of its own goes where its key is, or anywhere.
 */
export function createShardedJournal(
  shards: readonly Shard[],
  { of, shardIn, shardOf, shardOfKey }: Layout,
  owned: Owned,
): Journal {
  const at = (shard: number) => shards[shard] as Shard
  const journalOf = (id: string) => at(shardIn(id) ?? 0).journal
  let turn = 0

  /** The shard of each message, or why it is not known. */
  async function placesFor(messages: readonly NewMessage[]): Promise<(number | Error)[]> {
    turn = (turn + 1) % of
    const places = messages.map((message): number | Error => {
      if (message.conversation !== undefined) return shardOf(message.conversation)
      return message.key === undefined ? turn : shardOfKey(digest(message.gateway, message.key))
    })
    const keyed = messages.flatMap(({ gateway, key, conversation }, index) => {
      if (key === undefined || conversation === undefined) return []
      return [{ key: digest(gateway, key), wanted: Number(places[index]), index }]
    })
    type Keyed = (typeof keyed)[number]
    const found = await byShard<Keyed, number | Error>(
      keyed,
      ({ key }) => shardOfKey(key),
      (shard, some) =>
        at(shard)
          .place(some)
          .catch((error: Error) => some.map(() => error)),
    )
    for (const [position, { index }] of keyed.entries()) places[index] = found[position] ?? 0
    return places
  }

  async function acceptOn(
    shard: number,
    messages: readonly NewMessage[],
    together?: boolean,
  ): Promise<Accepted[]> {
    const accepted: Appended[] = await at(shard).journal.accept(messages, together)
    // What has no conversation this time had one before.
    return Promise.all(
      accepted.map(async (answer, index) => {
        const message = messages[index]
        if (answer.shard === undefined || !message) return answer
        const [first = answer] = await at(answer.shard).journal.accept([message])
        return first
      }),
    )
  }

  return {
    accept: async (messages, together) => {
      const places = await placesFor(messages)
      const answers = await byShard<NewMessage, Accepted>(
        messages,
        (_, index) => (typeof places[index] === 'number' ? places[index] : NOWHERE),
        (shard, some, indices) => {
          const refused = (why: (index: number) => unknown) =>
            indices.map((index) => ({ id: '', duplicate: false, error: why(index) as Error }))
          if (shard === NOWHERE) return Promise.resolve(refused((index) => places[index]))
          return acceptOn(shard, some, together).catch((error: unknown) => refused(() => error))
        },
      )
      const [first] = answers
      if (first?.error && answers.every(({ error }) => error)) throw first.error
      return answers
    },
    get: (id) => journalOf(id).get(id),
    note: (id, notes) => journalOf(id).note(id, notes),
    history: (id) => journalOf(id).history(id),
    outcomes: (ids) =>
      byShard(
        ids,
        (id) => shardIn(id) ?? 0,
        (shard, some) => at(shard).journal.outcomes(some),
      ),

    ...searchOver(shards),

    unpumped: async (max) => {
      for (;;) {
        const shard = await owned.nextToPump()
        if (shard === undefined) return { cursor: 0, items: [], more: false }
        // What comes meanwhile is heard of.
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
  return {
    search: async (search): Promise<FoundMessages> => {
      const pages = await Promise.all(shards.map(({ journal }) => journal.search(search)))
      // Below the place where one of them stopped it is not known what that one has.
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
      return next ? { found, next } : { found }
    },

    countByTime: async (search, width): Promise<CountedTimes> => {
      const all = await Promise.all(shards.map(({ journal }) => journal.countByTime(search, width)))
      // Before the time that one of them came to it is not known how many that one has.
      const countedTo = Math.max(...all.map((one) => one.countedTo ?? 0))
      const sums = new Map<number, number>()
      for (const { at, count } of all.flatMap(({ counts }) => counts)) {
        if (at >= countedTo) sums.set(at, (sums.get(at) ?? 0) + count)
      }
      const counts = [...sums].map(([at, count]) => ({ at, count })).sort((a, b) => b.at - a.at)
      return countedTo > 0 ? { counts, countedTo } : { counts }
    },
  }
}
