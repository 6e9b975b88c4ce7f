import { randomUUID } from 'node:crypto'
import type { PlacedMessage, ReceiveFilter, ReceiveQueue, Taken } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import { MAX_BACKLOG, storable, takenNote } from '../shared/values.ts'
import { type Entry, messageOf, positionIn } from './codec.ts'
import { createHandOver, type Handing } from './hand-over.ts'
import { digest } from './roots.ts'
import type { Server } from './scripts.ts'

/** The oldest message is newer than requested. `held`: its time (Unix ms). */
export type Held = { held: number }

/**
 * Values for arguments of `receive-look` (gateway, position, maximum) that it ignores if positions
 * follow.
 */
const ANY = ['', 0, 0] as const

/** The receive road of one shard. */
export type ShardReceive = Omit<ReceiveQueue, 'take'> & {
  /** `until`: take no message with a later id time (Unix ms). */
  take(filter: ReceiveFilter, lease?: number, by?: string, until?: number): Promise<Taken | Held | undefined>
}

/**
 * Empty arguments of `receive-take` (filter, lease and token), for a call that only reports lost
 * replies.
 */
const TAKE_NOTHING = ['', '', '', '', '', '', ''] as const

export function createReceive({ run, roots: { main }, places, now, isClosed }: Server): ShardReceive {
  const giveBack = (_: string, handing: Handing) => run('receive-take', main, ...TAKE_NOTHING, ...handing)
  const handOver = createHandOver(giveBack, isClosed)
  const placed = (entry: Entry): PlacedMessage => {
    return { position: positionIn(entry), message: messageOf(entry, places) }
  }
  const end = async (how: 'ack' | 'release' | 'extend', receipt: string, time = 0) =>
    (await run('receive-lease', main, how, receipt, storable(time))) === 1

  return {
    take: async ({ gateway = '', conversation, only }, lease, by, until) => {
      const chosen = only === undefined ? [] : places.partsOf(only)
      if (!chosen) return undefined
      const wanted = conversation === undefined ? '' : digest(conversation)
      const own = (conversation === undefined ? undefined : places.partsOf(conversation)) ?? ['', '', '']
      const args = [gateway, wanted, ...own, lease === undefined ? '' : storable(lease), randomUUID()]
      const { what, detail } = takenNote(lease, by)
      const note = JSON.stringify(detail === undefined ? ['r', what] : ['r', what, detail])
      type Reply = [entry: Entry, receipt: string, missed: number] | number | null
      const reply = await handOver('', (handing) =>
        run<Reply>('receive-take', main, ...args, ...handing, note, until ?? '', ...chosen),
      )
      if (reply === null) return undefined
      if (typeof reply === 'number') return { held: reply }
      const [entry, receipt, missed] = reply
      const message = messageOf(entry, places)
      return { message, ...defined({ missed: missed || undefined, receipt: receipt || undefined }) }
    },
    ack: (receipt) => end('ack', receipt),
    release: (receipt, delay) => end('release', receipt, delay),
    extend: (receipt, lease) => end('extend', receipt, lease),
    restore: async (id) => {
      const parts = places.partsOf(id)
      return parts !== undefined && (await run('receive-lease', main, 'restore', ...parts)) === 1
    },
    leased: async (receipt) => {
      const entry = await run<Entry | 0>('receive-lease', main, 'show', receipt)
      return entry ? messageOf(entry, places) : undefined
    },
    nextExpiry: async () => {
      const wait = await run<number | null>('receive-lease', main, 'next')
      return wait === null ? undefined : now() + Math.max(0, wait)
    },
    backlog: async (gateway) => {
      const [count, oldestAt] = await run<[number, number]>('receive-backlog', main, gateway)
      const messages = Math.min(count, MAX_BACKLOG)
      return { messages, more: count > MAX_BACKLOG, ...defined({ oldestAt: oldestAt || undefined }) }
    },
    parts: 1,
    look: async ({ gateway = '', after, max }) => {
      type Reply = [entries: Entry[], to: number, isLeft: number, back: number[]]
      const [entries, to, isLeft, back] = await run<Reply>('receive-look', main, gateway, after, max)
      return { items: entries.map(placed), more: isLeft === 1, to, back }
    },
    lookAt: async (_, positions) => {
      if (positions.length === 0) return { items: [], more: false }
      const [entries, isLeft] = await run<[Entry[], number]>('receive-look', main, ...ANY, ...positions)
      return { items: entries.map(placed), more: isLeft === 1 }
    },
  }
}
