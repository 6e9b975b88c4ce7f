import { hash as digest } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { blob, int, prepareAll } from './sql.ts'
import type { Writer } from './writer.ts'

/** How long a key is remembered: seven days. */
export const KEY_AGE = 7 * 24 * 60 * 60 * 1_000

/** How many keys wait in memory before they are moved into the index, sorted. */
const TABLE_SIZE = 32_768
const SWEEP = 2_000

/**
 * Idempotency keys of messages, events and jobs, each for seven days, with the id of what it made.
 * A new key is appended to a tail table and kept in memory; from time to time the table in memory is
 * sorted and moved into the index in slices, a few with each transaction, so that neighbours share pages
 * and no turn of the event loop takes long. The cost of a key stays the same however many there are.
 */
export type RememberedKeys = {
  hash(kind: 'message' | 'event' | 'job', space: string, key: string): Buffer
  /** The id that the key made, if it is younger than seven days at `now`. */
  find(hash: Buffer, now: number): string | undefined
  /** Inside a transaction only. */
  remember(hash: Buffer, id: string): void
  /** Removes expired keys from one slice of the index. Inside a transaction only. Returns how many. */
  sweep(now: number): number
}

type Frozen = {
  entries: Map<string, string>
  order: string[]
  moved: number
  lastOfTail: number
  cutting: boolean
}

export function createRememberedKeys(db: DatabaseSync, writer: Writer): RememberedKeys {
  const sql = prepareAll(db, 'keys.sql')
  const [append, findStored, store, cut] = [sql('append'), sql('find'), sql('store'), sql('cut')]
  let active = new Map<string, string>()
  let staged = new Map<string, string>()
  let frozen: Frozen | undefined
  let moving: { moved: number; cut: boolean; finished: boolean } | undefined
  let swept = Buffer.alloc(0)

  for (const row of sql('tail').all()) active.set(latin(blob(row.hash)), toId(blob(row.id)))

  writer.follow({
    beforeCommit: () => {
      if (frozen) moving = moveSlice(frozen)
    },
    committed: () => {
      for (const [key, id] of staged) active.set(key, id)
      if (staged.size > 0) staged = new Map()
      if (frozen && moving) {
        frozen.moved = moving.moved
        frozen.cutting = moving.cut
        if (moving.finished) frozen = undefined
      }
      moving = undefined
      if (!frozen && active.size >= TABLE_SIZE) freeze()
    },
    rolledBack: () => {
      staged.clear()
      moving = undefined
    },
  })

  function freeze(): void {
    const lastOfTail = int(sql('lastOfTail').get()?.n)
    frozen = { entries: active, order: [...active.keys()].sort(), moved: 0, lastOfTail, cutting: false }
    active = new Map()
  }

  /** Moves a few times as much as came in, so that the table in memory never fills up meanwhile. */
  function moveSlice(table: Frozen): { moved: number; cut: boolean; finished: boolean } {
    const slice = Math.min(2_048, Math.max(64, staged.size * 4))
    if (table.moved < table.order.length) {
      const moved = Math.min(table.order.length, table.moved + slice)
      for (const key of table.order.slice(table.moved, moved)) {
        store.run(Buffer.from(key, 'latin1'), fromId(table.entries.get(key) ?? ''))
      }
      return { moved, cut: false, finished: false }
    }
    const { changes } = cut.run(table.lastOfTail, slice * 4)
    return { moved: table.moved, cut: true, finished: changes === 0 }
  }

  return {
    // JSON keeps the parts apart and lone surrogates distinct. SHA-256, cut to 128 bits.
    hash: (kind, space, key) =>
      digest('sha256', JSON.stringify([kind, space, key]), 'buffer').subarray(0, 16),
    find: (hash, now) => {
      const key = latin(hash)
      const id = staged.get(key) ?? active.get(key) ?? frozen?.entries.get(key) ?? stored(hash)
      return id !== undefined && timeOfHex(id) > now - KEY_AGE ? id : undefined
    },
    remember: (hash, id) => {
      append.run(hash, fromId(id))
      staged.set(latin(hash), id)
    },
    sweep: (now) => {
      const end = sql('sweepEnd').get(swept, SWEEP)?.hash
      if (end === null || end === undefined) {
        swept = Buffer.alloc(0)
        return 0
      }
      const cutoff = Buffer.alloc(6)
      cutoff.writeUIntBE(Math.max(0, now - KEY_AGE), 0, 6)
      const { changes } = sql('sweep').run(swept, blob(end), cutoff)
      swept = Buffer.from(blob(end))
      return Number(changes)
    },
  }

  function stored(hash: Buffer): string | undefined {
    const row = findStored.get(hash)
    return row ? toId(blob(row.id)) : undefined
  }
}

function latin(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
}

function fromId(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex')
}

function toId(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

function timeOfHex(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}
