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
  const values = new Map<string, number>()
  for (const row of db.prepare('SELECT name, value FROM counter').all())
    values.set(text(row.name), int(row.value))
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
      const value = get(name) + by
      set(name, value)
      return value
    },
  }
}
