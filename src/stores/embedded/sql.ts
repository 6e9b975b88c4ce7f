import { readFileSync } from 'node:fs'
import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'

/** The text of a file in `sql/`. */
export function readSql(file: string): string {
  return readFileSync(new URL(`./sql/${file}`, import.meta.url), 'utf8')
}

/**
 * Prepares every statement of a file in `sql/`, each under a line `-- name: NAME`, and returns the
 * function that gives them by name. Throws for a name that is not in the file.
 *
 * They say `LIMIT ? + 0`: SQLite looks at the value of a bare `LIMIT ?` when it plans, and so plans anew each time
 * a value is bound, which costs three times what the query does.
 */
export function prepareAll(db: DatabaseSync, file: string): (name: string) => StatementSync {
  const prepared = new Map<string, StatementSync>()
  for (const block of readSql(file)
    .split(/^-- name: /m)
    .slice(1)) {
    const end = block.indexOf('\n')
    prepared.set(block.slice(0, end).trim(), db.prepare(block.slice(end)))
  }
  return (name) => {
    const statement = prepared.get(name)
    if (!statement) throw new Error(`sql/${file} has no statement ${name}`)
    return statement
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

/** An integer column that may be null; null is undefined. */
export function maybeInt(value: SQLOutputValue | undefined): number | undefined {
  return value === null || value === undefined ? undefined : int(value)
}

/** A text column that may be null; null is undefined. */
export function maybeText(value: SQLOutputValue | undefined): string | undefined {
  return value === null || value === undefined ? undefined : text(value)
}
