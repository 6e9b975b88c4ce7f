import type { Message } from '../../core/message.ts'
import type { Journal, Store } from '../../core/store.ts'
import type { FreshMessages } from '../shared/fresh-messages.ts'
import { createAccepting } from './accepting.ts'
import { inBatches } from './batches.ts'
import { decodeNote, type Entry, encodeNotes, messageOf } from './codec.ts'
import { briefArgs } from './jobs.ts'
import { createLookup } from './lookup.ts'
import type { Server } from './scripts.ts'
import { createSearch } from './search.ts'

/** The journal of one shard. */
export type ShardJournal = Journal &
  Pick<Store, 'ping'> & {
    /**
     * For keys (digests) that are looked up on this shard: the shard of the first message with the
     * key. `wanted`: the shard for the message if its key is new.
     */
    place(keys: readonly { key: string; wanted: number }[]): Promise<number[]>
  }

/** `begun`: whether the journal has or had messages. `ping`: the store's ping. */
export function createJournal(server: Server, fresh: FreshMessages, begun: boolean): ShardJournal {
  const { run, call, roots, places } = server
  const { main } = roots
  const accepting = createAccepting(server, fresh, begun)

  async function get(id: string): Promise<Message | undefined> {
    const place = `${places.placeOf(id) ?? 0}-0`
    const [found] = await call<Entry[]>('XRANGE', `${main}journal`, place, place)
    const message = found && messageOf(found, places)
    return message?.id === id ? message : undefined
  }

  const lookup = createLookup(server)

  return {
    accept: accepting.accept,

    place: (keys) =>
      inBatches(
        keys.map(({ key, wanted }) => [key, wanted]),
        (batch) => run<number[]>('place', main, places.shard, ...batch.flat()),
      ),

    ping: async () => {
      await run('append', main, ...accepting.head())
    },

    get,

    ...createSearch({ call, run }, main, places, lookup),

    outcomes: lookup.outcomes,
    outcomesIfReachable: lookup.outcomes,

    note: async (id, notes) => {
      const parts = places.partsOf(id)
      if (parts && notes.length > 0) await run('journal', main, 'note', ...parts, encodeNotes(notes))
    },

    history: async (id) => {
      const position = places.placeOf(id) ?? 0
      const mark = `${position} `
      const [message, lines] = await Promise.all([
        get(id),
        call<string[]>('LRANGE', `${main}notes:${Math.floor(position / 32)}`, 0, -1),
      ])
      const own = lines.filter((line) => message && line.startsWith(mark))
      return own.map((line) => decodeNote(line.slice(mark.length)))
    },

    unpumped: async (max) => {
      // The messages of an unfinished `accept` will be in memory; reading them back would cost as
      // much as accepting them.
      if (fresh.isEmpty()) await accepting.underWay()
      accepting.forgetMoved()
      return fresh.unpumped(max, async () => {
        type Reply = [cursor: number, isLeft: number, entries: Entry[]]
        const [cursor, isLeft, entries] = await run<Reply>('journal', main, 'unpumped', max)
        return { cursor, items: entries.map((entry) => messageOf(entry, places)), more: isLeft === 1 }
      })
    },

    pumped: async (cursor, last, jobs) => {
      const to = places.partsOf(last) ?? [0, 0, 0]
      const args = jobs.flatMap((job) => briefArgs(job, places))
      try {
        const isMoved = (await run('jobs-add', main, 'dispatch', cursor, ...to, ...args)) !== null
        if (isMoved) fresh.pumpedTo(last, jobs)
        else fresh.clear()
        return isMoved
      } catch (error) {
        fresh.clear()
        throw error
      }
    },
  }
}
