import type { DatabaseSync } from 'node:sqlite'
import { int, text } from './sql.ts'
import type { Writer } from './writer.ts'

/** Durable numbers by name. They are written once per transaction, however often they changed in it. */
export type Counters = {
  /** 0 for a name never set. */
  get(name: string): number
  /** Inside a transaction only. */
  set(name: string, value: number): void
  /** Inside a transaction only. Returns the new value. */
  add(name: string, by: number): number
}

export function createCounters(db: DatabaseSync, writer: Writer): Counters {
  const save = db.prepare('INSERT OR REPLACE INTO counter (name, value) VALUES (?, ?)')
  const rows = db.prepare('SELECT name, value FROM counter').all()
  const values = new Map(rows.map((row) => [text(row.name), int(row.value)]))
  /** What was there before this transaction. */
  const before = new Map<string, number>()

  writer.follow({
    beforeCommit: () => {
      for (const name of before.keys()) save.run(name, values.get(name) ?? 0)
    },
    committed: () => before.clear(),
    rolledBack: () => {
      for (const [name, value] of before) values.set(name, value)
      before.clear()
    },
  })

  const get = (name: string) => values.get(name) ?? 0
  const set = (name: string, value: number) => {
    if (!before.has(name)) before.set(name, get(name))
    values.set(name, value)
  }
  return {
    get,
    set,
    add: (name, by) => {
      set(name, get(name) + by)
      return get(name)
    },
  }
}

/** Short numbers for names, from a table (id, name). Numbers start at 1. */
export type Names = {
  /** The number of a name that was used before. */
  find(name: string): number | undefined
  /** The number of a name, made where it is new. Inside a transaction only. */
  number(name: string): number
}

export function createNames(db: DatabaseSync, writer: Writer, table: 'gateway' | 'queue'): Names {
  const select = db.prepare(`SELECT id FROM ${table} WHERE name = ?`)
  const insert = db.prepare(`INSERT INTO ${table} (name) VALUES (?) RETURNING id`)
  const known = new Map<string, number>()
  writer.follow({ rolledBack: () => known.clear() })

  const keep = (name: string, row: ReturnType<typeof select.get>) => {
    if (row) known.set(name, int(row.id))
    return row && int(row.id)
  }
  const find = (name: string) => known.get(name) ?? keep(name, select.get(name))
  return { find, number: (name) => find(name) ?? keep(name, insert.get(name)) ?? 0 }
}
