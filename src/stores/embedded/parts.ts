import type { DatabaseSync } from 'node:sqlite'
import type { Event } from '../../core/event.ts'
import type { Log } from '../../core/log.ts'
import type { Message } from '../../core/message.ts'
import { timeOf } from '../../core/message-id.ts'
import type { Signal } from '../../core/store.ts'
import { createListeners } from '../shared/listeners.ts'
import { createReady } from './ready.ts'
import { createRememberedKeys } from './remembered-keys.ts'
import { createSql, type Sql } from './sql.ts'
import { toStoreError } from './store-error.ts'
import type { Writer } from './writer.ts'

/** Shared by the parts of the store. */
export type Parts = ReturnType<typeof createParts>

export type EmbeddedOptions = {
  /** The data directory, created if missing. The database is `trivium.db` in it. */
  dir: string
  /** Makes the event of a message for the topic `gateway-message`. Its id must be the message's. */
  toEvent(message: Message): Event
  log: Log
  /** Unix time in ms. */
  now?: () => number
  /** The directory's lock, if the caller already holds it; the store releases it. */
  lock?: Disposable
}

export function createParts(db: DatabaseSync, writer: Writer, address: string, options: EmbeddedOptions) {
  const { toEvent, log } = options
  const sql = createSql(db)
  const signals = createSignals(writer, log)
  const last = sql.get<{ id: string }>`SELECT id FROM journal ORDER BY seq DESC LIMIT 1`
  let lastTime = last ? timeOf(last.id) : 0
  const { now, followClock } = createClock(sql, signals, options.now ?? Date.now, lastTime)
  followClock()
  const counters = createCounters(sql, writer)
  return {
    sql,
    writer,
    now,
    toEvent,
    counters,
    ready: createReady(sql, counters),
    gateways: createNames(db, writer, 'gateway'),
    queues: createNames(db, writer, 'queue'),
    keys: createRememberedKeys(sql, writer),
    followClock,
    signals,
    /** The time for the next ids: `now`, but monotonic, so that ids sort in journal order. */
    idTime: (at = now()) => {
      lastTime = Math.max(lastTime, at)
      return lastTime
    },
    /** Runs a read and turns a database failure into `store_unavailable`. */
    read: async <T>(work: () => T): Promise<T> => {
      try {
        return work()
      } catch (error) {
        throw toStoreError(address, error)
      }
    },
  }
}

/** If the clock was set back by less than this many ms, the store waits for it to catch up. */
const SET_BACK = 10_000

/** The store's clock. `before`: the latest time used by an earlier process. */
function createClock(sql: Sql, signals: Signals, read: () => number, before: number) {
  let latest = before
  return {
    now: (): number => {
      const time = read()
      if (time > latest) latest = time
      return time
    },
    /**
     * If the clock was ahead and has been set back, moves all waiting times back by the same
     * amount. Otherwise lanes, retries and leases could wait for days. Called at the start, and in
     * a transaction with each trim.
     */
    followClock(): void {
      const time = read()
      const back = latest - time
      if (back < SET_BACK) return
      latest = time
      sql.run`UPDATE job SET due = due - ${back} WHERE due > ${time}`
      sql.run`UPDATE job SET until = until - ${back} WHERE until > ${time}`
      sql.run`UPDATE leased SET until = until - ${back} WHERE until > ${time}`
      sql.run`UPDATE pending SET hidden_until = hidden_until - ${back} WHERE hidden_until > ${time}`
      // Waiting workers and readers have timers for the old times.
      signals.raise('receive')
      for (const { name } of sql.all<{ name: string }>`SELECT name FROM queue`) signals.raise(`jobs:${name}`)
      for (const { name } of sql.all<{ name: string }>`SELECT name FROM topic WHERE id IN
          (SELECT topic FROM consumer WHERE id IN (SELECT consumer FROM pending))`)
        signals.raise(`topic:${name}`)
    },
  }
}

/** Durable counters by name, initially 0. Written once per transaction. */
function createCounters(sql: Sql, writer: Writer) {
  const rows = sql.all<{ name: string; value: number }>`SELECT name, value FROM counter`
  const values = new Map(rows.map(({ name, value }) => [name, value]))
  /**
   * Values before this transaction. A new map each time, as an old one that is cleared would grow
   * in V8's old space.
   */
  let before = new Map<string, number>()

  writer.follow({
    beforeCommit: () => {
      for (const name of before.keys())
        sql.run`INSERT OR REPLACE INTO counter (name, value) VALUES (${name}, ${get(name)})`
    },
    committed: () => {
      before = new Map()
    },
    rolledBack: () => {
      for (const [name, value] of before) values.set(name, value)
      before = new Map()
    },
  })

  const get = (name: string) => values.get(name) ?? 0
  /** Only inside a transaction. */
  const set = (name: string, value: number) => {
    if (!before.has(name)) before.set(name, get(name))
    values.set(name, value)
    return value
  }
  /** Only inside a transaction. Returns the new value. */
  const add = (name: string, by: number) => set(name, get(name) + by)
  return { get, set, add }
}

/** Maps names to short numbers, from 1, in a table (id, name). */
function createNames(db: DatabaseSync, writer: Writer, table: 'gateway' | 'queue') {
  const select = db.prepare(`SELECT id FROM ${table} WHERE name = ?`)
  const insert = db.prepare(`INSERT INTO ${table} (name) VALUES (?) RETURNING id`)
  const known = new Map<string, number>()
  writer.follow({ rolledBack: () => known.clear() })

  const keep = (name: string, row: ReturnType<typeof select.get>) => {
    if (row) known.set(name, Number(row.id))
    return known.get(name)
  }
  /** The number of a known name. */
  const find = (name: string) => known.get(name) ?? keep(name, select.get(name))
  /** The number of a name, added if new. Only inside a transaction. */
  const number = (name: string) => find(name) ?? keep(name, insert.get(name)) ?? 0
  return { find, number }
}

type Signals = ReturnType<typeof createSignals>

/** Signals within this process, the only one with the store open. */
export function createSignals(writer: Writer, log: Log) {
  const listeners = createListeners(log)
  let raised = new Set<Signal>()
  writer.follow({
    committed: (whenSettled) => {
      if (raised.size === 0) return
      const names = raised
      raised = new Set()
      whenSettled(() => {
        for (const name of names) listeners.call(name)
      })
    },
    rolledBack: () => {
      raised = new Set()
    },
  })
  return {
    on: listeners.on,
    /** Inside a transaction: calls the listeners once after the transaction is durable. */
    raise: (name: Signal) => {
      if (listeners.has(name)) raised.add(name)
    },
  }
}
