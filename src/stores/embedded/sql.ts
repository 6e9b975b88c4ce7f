import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'
import { LARGE_READ } from '../../core/message.ts'

/**
 * The prepared statement of a text, which is prepared once.
 *
 * Statements say `LIMIT ? + 0`: SQLite looks at the value of a bare `LIMIT ?` when it plans, and so plans anew each
 * time a value is bound, which costs three times what the query does.
 */
export type Sql = (text: string) => StatementSync

export function createSql(db: DatabaseSync): Sql {
  const prepared = new Map<string, StatementSync>()
  return (text) => {
    const known = prepared.get(text)
    if (known) return known
    const made = db.prepare(text)
    prepared.set(text, made)
    return made
  }
}

export type Row = Record<string, SQLOutputValue>

/** A column that the schema says is an integer. */
export function int(value: SQLOutputValue | undefined): number {
  if (typeof value === 'number') return value
  throw new TypeError(`an integer column holds ${typeof value}`)
}

/** A column that the schema says is a text. */
export function text(value: SQLOutputValue | undefined): string {
  if (typeof value === 'string') return value
  throw new TypeError(`a text column holds ${typeof value}`)
}

/** A column that the schema says is a blob. */
export function blob(value: SQLOutputValue | undefined): Uint8Array {
  if (value instanceof Uint8Array) return value
  throw new TypeError(`a blob column holds ${typeof value}`)
}

function maybe<T>(read: (value: SQLOutputValue) => T) {
  return (value: SQLOutputValue | undefined) =>
    value === null || value === undefined ? undefined : read(value)
}
/** An integer, a text, what a text has as JSON; null is undefined. */
export const maybeInt = maybe(int)
export const maybeText = maybe(text)
export const maybeJson = maybe((value) => JSON.parse(text(value)))

/** Reads rows until the texts of what they hold are large together, but one at least; `isCut` where rows were left. */
export function readSome<Given, Item>(
  rows: Iterable<Given>,
  read: (row: Given) => Item,
  textOf: (item: Item, row: Given) => string | undefined,
) {
  const found: Item[] = []
  let size = 0
  for (const row of rows) {
    if (size > LARGE_READ) return { found, isCut: true }
    const item = read(row)
    size += textOf(item, row)?.length ?? 0
    found.push(item)
  }
  return { found, isCut: false }
}

/** A value for a column of JSON that may be null. */
export function toJson(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value)
}
