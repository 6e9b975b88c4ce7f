import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { LARGE_READ } from '../../core/message.ts'

/**
 * Statements as templates: what stands in `${}` is bound; each is prepared once. `Row` names the columns with their types. They say
 * `LIMIT ${max} + 0`: of a bare one SQLite looks at the value to plan, anew each time, which costs three times what the query does.
 */
export type Sql = ReturnType<typeof createSql>

type Values = SQLInputValue[]

export function createSql(db: DatabaseSync) {
  const prepared = new Map<TemplateStringsArray, StatementSync>()
  const of = (text: TemplateStringsArray) => {
    const known = prepared.get(text)
    if (known) return known
    const made = db.prepare(text.join('?'))
    prepared.set(text, made)
    return made
  }
  return {
    /** Returns how many rows it has changed. */
    run: (text: TemplateStringsArray, ...values: Values) => Number(of(text).run(...values).changes),
    /** Returns the number of the row that it has added. */
    insert: (text: TemplateStringsArray, ...values: Values) =>
      Number(of(text).run(...values).lastInsertRowid),
    get: <Row>(text: TemplateStringsArray, ...values: Values) => of(text).get(...values) as Row | undefined,
    all: <Row>(text: TemplateStringsArray, ...values: Values) => of(text).all(...values) as Row[],
    iterate: <Row>(text: TemplateStringsArray, ...values: Values) =>
      of(text).iterate(...values) as Iterable<Row>,
  }
}

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

/** Reads such a column. */
export function fromJson(text: string | null) {
  return text === null ? undefined : JSON.parse(text)
}
