import { hash as digest } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { timeOf } from '../../core/message-id.ts'
import { createKeyFilter } from './key-filter.ts'
import { createKeyTable, type KeyTable } from './key-table.ts'
import { blob, int, prepareAll, type Row } from './sql.ts'
import type { Writer } from './writer.ts'

/** How long a key is remembered: seven days. */
export const KEY_AGE = 7 * 24 * 60 * 60 * 1_000

/** Rows of the index that one sweep looks at. */
const SWEEP = 2_000
/** Rows of the index that go into the filter with one transaction. */
const FILL = 256
/** Rows of the tail that are read or moved at once at most. */
const PAGE = 4_096

/**
 * Idempotency keys of messages, events and jobs, each for seven days, with the id of what it made.
 *
 * A random B-tree dirties a page for every key, which costs more than all the rest of a message. So a new
 * key is appended to a tail table, with its place in a table in memory; when that is full, it is moved to
 * the index in the order of the hashes, a few with each transaction: neighbours share pages, and no turn
 * of the event loop takes long. At start the table is made again from the tail.
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

/** A full table on its way to the index. `lastRow` is the last of the tail that it covers. */
type Moving = { table: KeyTable; slot: number; phase: 'move' | 'cut' | 'done'; lastRow: number }

/** `bits` sets how many keys are kept in memory before they are moved: half of two to that power. */
export function createRememberedKeys(db: DatabaseSync, writer: Writer, bits = 19): RememberedKeys {
  const capacity = 2 ** (bits - 1)
  const sql = prepareAll(db, 'keys.sql')
  const [append, tailAt, cut] = [sql('append'), sql('tailAt'), sql('cut')]
  const [findStored, store] = [sql('find'), sql('store')]
  let lastRow = 0
  let active = createKeyTable(bits, lastRow)
  let moving: Moving | undefined
  /** What `moving` is after this transaction. */
  let moved: Moving | undefined
  let added = 0
  let swept = Buffer.alloc(0)
  /** What the index may have. It is filled beside the traffic; until then every look-up goes to the index. */
  let filter = createKeyFilter()
  let filledTo: Uint8Array | undefined = Buffer.alloc(0)
  load()

  writer.follow({
    beforeCommit: () => {
      if (filledTo) filledTo = fill(filledTo)
      // Twice as much as came in: done long before the next table is full.
      moved = moving && step(moving, Math.max(4, added * 2))
      // Only transactions nearly as large as a table come this far.
      while (moved && moved.phase !== 'done' && active.size >= capacity) moved = step(moved, PAGE)
    },
    committed: () => {
      active.keep()
      added = 0
      moving = moved && unlessDone(moved)
      if (!moving && active.size >= capacity) startMoving()
    },
    rolledBack: () => {
      active.undo(added)
      lastRow -= added
      added = 0
    },
  })

  /** Makes the tables again from the tail, a page at a time. */
  function load(): void {
    for (let rows = page(); rows.length > 0; rows = page()) {
      for (const row of rows) {
        if (active.size === 0) active = createKeyTable(bits, int(row.n) - 1)
        lastRow = int(row.n)
        active.add(blob(row.hash), lastRow)
        if (active.size >= capacity) startMoving()
      }
    }
    active.keep()
  }

  function page(): Row[] {
    return sql('tail').all(lastRow, PAGE)
  }

  function startMoving(): void {
    // Only a process that ended again and again before it was done leaves two full tables behind.
    while (moving) moving = unlessDone(inTransaction(moving))
    moving = { table: active, slot: 0, phase: 'move', lastRow }
    active = createKeyTable(bits, lastRow)
  }

  function inTransaction(state: Moving): Moving {
    db.exec('BEGIN IMMEDIATE')
    try {
      const next = step(state, PAGE)
      db.exec('COMMIT')
      return next
    } catch (error) {
      if (db.isTransaction) db.exec('ROLLBACK')
      throw error
    }
  }

  /** Moves, or when all is moved cuts off, so many keys. */
  function step({ table, slot, phase, lastRow: last }: Moving, share: number): Moving {
    if (phase === 'cut') {
      const { changes } = cut.run(last, share * 16)
      return { table, slot, phase: changes === 0 ? 'done' : 'cut', lastRow: last }
    }
    const { rows, next, end } = table.walk(slot, share)
    for (const row of rows) {
      const key = tailAt.get(row)
      if (!key) continue
      store.run(blob(key.hash), blob(key.id))
      filter.add(blob(key.hash))
    }
    return { table, slot: next, phase: end ? 'cut' : 'move', lastRow: last }
  }

  /** The id of a hash in a table: one of few candidates has all of it, or none. */
  function findIn(table: KeyTable, hash: Buffer): string | undefined {
    // The newest last: a key that was free again after seven days may be there twice.
    for (const row of table.candidates(hash).reverse()) {
      const key = tailAt.get(row)
      if (key && hash.equals(blob(key.hash))) return toId(blob(key.id))
    }
    return undefined
  }

  /** Adds the next slice of the index to the filter. Undefined: it has all. */
  function fill(after: Uint8Array): Uint8Array | undefined {
    const rows = sql('slice').all(after, FILL)
    for (const row of rows) filter.add(blob(row.hash))
    return rows.length < FILL ? undefined : blob(rows.at(-1)?.hash)
  }

  function findInIndex(hash: Buffer): string | undefined {
    if (!filledTo && !filter.mayHave(hash)) return undefined
    const row = findStored.get(hash)
    return row && toId(blob(row.id))
  }

  return {
    // JSON keeps the parts apart and lone surrogates distinct. SHA-256, cut to 128 bits.
    hash: (kind, space, key) =>
      digest('sha256', JSON.stringify([kind, space, key]), 'buffer').subarray(0, 16),
    find: (hash, now) => {
      const id = findIn(active, hash) ?? (moving && findIn(moving.table, hash)) ?? findInIndex(hash)
      return id !== undefined && timeOf(id) > now - KEY_AGE ? id : undefined
    },
    remember: (hash, id) => {
      lastRow++
      append.run(lastRow, hash, Buffer.from(id.replaceAll('-', ''), 'hex'))
      active.add(hash, lastRow)
      added++
    },
    sweep: (now) => {
      const end = sql('sweepEnd').get(swept, SWEEP)?.hash
      if (end === null || end === undefined) {
        swept = Buffer.alloc(0)
        // The filter cannot forget, so it is made anew after each round.
        filter = createKeyFilter()
        filledTo = Buffer.alloc(0)
        return 0
      }
      const cutoff = Buffer.alloc(6)
      cutoff.writeUIntBE(Math.max(0, now - KEY_AGE), 0, 6)
      const { changes } = sql('sweep').run(swept, blob(end), cutoff)
      swept = Buffer.from(blob(end))
      return Number(changes)
    },
  }
}

function unlessDone(state: Moving): Moving | undefined {
  return state.phase === 'done' ? undefined : state
}

function toId(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
