import type { DatabaseSync } from 'node:sqlite'
import { int } from './sql.ts'
import type { Writer } from './writer.ts'

/** Short numbers for names, from a table (id, name). Numbers start at 1. */
export type Names = {
  /** The number of a name that was used before. */
  find(name: string): number | undefined
  /** The number of a name, made where it is new. Inside a transaction only. */
  number(name: string): number
}

const CACHED = 10_000

export function createNames(db: DatabaseSync, writer: Writer, table: 'gateway' | 'queue'): Names {
  const select = db.prepare(`SELECT id FROM ${table} WHERE name = ?`)
  const insert = db.prepare(`INSERT INTO ${table} (name) VALUES (?) RETURNING id`)
  const cache = new Map<string, number>()
  writer.follow({ rolledBack: () => cache.clear() })

  const keep = (name: string, id: number) => {
    if (cache.size >= CACHED) cache.clear()
    cache.set(name, id)
    return id
  }
  const find = (name: string) => {
    const known = cache.get(name)
    if (known !== undefined) return known
    const row = select.get(name)
    return row ? keep(name, int(row.id)) : undefined
  }
  return { find, number: (name) => find(name) ?? keep(name, int(insert.get(name)?.id)) }
}
