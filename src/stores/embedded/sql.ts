import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { LARGE_READ } from '../../core/message.ts'
import type { Page } from '../../core/store.ts'

/**
 * Statements as templates: values in `${}` are bound, and each statement is prepared once. `Row`
 * types the columns. Limits are written `LIMIT ${max} + 0`: SQLite re-plans for each value of a
 * plain parameter, which costs three times as much as the query.
 */
export type Sql = ReturnType<typeof createSql>

type Values = SQLInputValue[]

export function createSql(db: DatabaseSync) {
  const prepared = new Map<TemplateStringsArray, Prepared>()
  const of = (text: TemplateStringsArray) => {
    const known = prepared.get(text)
    if (known) return known
    const statement = db.prepare(text.join('?'))
    statement.setReturnArrays(true)
    const made = { statement, columns: statement.columns().map(({ name }) => name) }
    prepared.set(text, made)
    return made
  }
  return {
    /** Returns the number of changed rows. */
    run: (text: TemplateStringsArray, ...values: Values) => Number(of(text).statement.run(...values).changes),
    /** Returns the id of the added row. */
    insert: (text: TemplateStringsArray, ...values: Values) =>
      Number(of(text).statement.run(...values).lastInsertRowid),
    get<Row>(text: TemplateStringsArray, ...values: Values): Row | undefined {
      const { statement, columns } = of(text)
      const row = statement.get(...values)
      return row && toRow<Row>(columns, row)
    },
    all<Row>(text: TemplateStringsArray, ...values: Values): Row[] {
      const { statement, columns } = of(text)
      return statement.all(...values).map((row) => toRow<Row>(columns, row))
    },
    *iterate<Row>(text: TemplateStringsArray, ...values: Values): Generator<Row> {
      const { statement, columns } = of(text)
      for (const row of statement.iterate(...values)) yield toRow<Row>(columns, row)
    },
  }
}

type Prepared = { statement: StatementSync; columns: readonly string[] }

/**
 * Makes an object of the values of a row. The objects of node:sqlite have a hidden class each,
 * which stays in V8's old space until a full collection, and their fields take longer to read.
 */
function toRow<Row>(columns: readonly string[], values: object): Row {
  const row: Record<string, unknown> = {}
  if (Array.isArray(values))
    columns.forEach((name, index) => {
      row[name] = values[index]
    })
  return row as Row
}

/**
 * Reads up to `max` rows, and stops early (after at least one) if their texts are large together.
 * Select one row more than `max`, so that `more` is known.
 */
export function readPage<Given, Item>(
  rows: Iterable<Given>,
  max: number,
  read: (row: Given) => Item,
  textOf: (item: Item, row: Given) => string | undefined,
): Page<Item> {
  const items: Item[] = []
  let size = 0
  for (const row of rows) {
    if (items.length >= max || size > LARGE_READ) return { items, more: true }
    const item = read(row)
    size += textOf(item, row)?.length ?? 0
    items.push(item)
  }
  return { items, more: false }
}

/** Encodes a value for a nullable JSON column. */
export function toJson(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value)
}

/** Decodes a nullable JSON column. */
export function fromJson(text: string | null) {
  return text === null ? undefined : JSON.parse(text)
}
