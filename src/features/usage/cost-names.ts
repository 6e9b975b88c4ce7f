import { partsOf } from '../../core/identity.ts'
import type { Json } from '../../core/json.ts'
import { readStoredList } from '../../core/stored-entries.ts'
import { addRow, keyOf, type Row, rowSchema, storedForm } from './cost-rows.ts'

/** Recognises texts that name a person, or one of their messages. `name`: what replaces the name. */
export type Naming = { names(text: string): boolean; name: string }

/**
 * Rows of cost with the person's name replaced, and the same usage. The gateway stays, so that the
 * cost by gateway is the same. Rows of a newer version that name them are removed. Returns `value`
 * itself if it does not name the person.
 */
export function anonymousRows(value: Json, { names, name }: Naming): Json {
  if (rowsNaming(value, names).length === 0) return value
  const { entries, unknown } = readStoredList(rowSchema, value)
  const rows = new Map<string, Row>()
  for (const row of entries) {
    const sender = names(row.sender) ? withoutName(row.sender, name) : row.sender
    const key = keyOf({ ...row, sender })
    rows.set(key, addRow(rows.get(key), { ...row, sender }))
  }
  return [...[...rows.values()].map(storedForm), ...unknown.filter((row) => !isNaming(row, names))]
}

/** The rows that name the person, as they are stored. */
export function rowsNaming(value: Json, names: Naming['names']): Json[] {
  return Array.isArray(value) ? value.filter((row) => isNaming(row, names)) : []
}

function isNaming(row: Json, names: Naming['names']): boolean {
  return Object.values(Object(row)).some((field) => typeof field === 'string' && names(field))
}

/** `support:ada@example.com` becomes `support:an erased person`. */
function withoutName(sender: string, name: string): string {
  const { gateway } = partsOf(sender)
  return gateway === '' ? name : `${gateway}:${name}`
}
