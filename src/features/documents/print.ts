import { isJsonObject, type Json, type JsonObject, objectsIn } from '../../core/json.ts'
import { factLines } from '../../lib/fact-lines.ts'
import { lineTable } from '../../lib/line-table.ts'
import { listText } from '../../lib/short-text.ts'

/** Maximum number of columns in a table of records. JSON has all fields. */
const MAX_COLUMNS = 6
/** Maximum number of characters of a cell. */
const MAX_CELL = 60
/** The columns of a table that come first, as far as its records have them. */
const FIRST_COLUMNS = ['id', 'name', 'status', 'title', 'text', 'task', 'query']
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/

/** A document as text: its simple values one per line, then each list of records as a table. */
export function documentText(name: string, revision: number, document: JsonObject): string {
  const { schema_version: version, ...content } = document
  const head = `${name}, revision ${revision}, schema version ${JSON.stringify(version)}`
  return `${head}\n\n${contentText(content)}`
}

/** The fields of a document, under titles such as `next action`. */
export function contentText(content: JsonObject): string {
  const entries = Object.entries(content).map(([key, value]) => [key.replaceAll('_', ' '), value] as const)
  const facts = entries
    .filter(([, value]) => objectsIn(value).length === 0)
    .flatMap(([title, value]) => valuesOf(value).map((text, at) => [at === 0 ? title : '', text] as const))
  const tables = entries
    .filter(([, value]) => objectsIn(value).length > 0)
    .map(([title, value]) => `\n${title}\n${recordTable(objectsIn(value))}`)
  return [...factLines(facts), ...tables].join('\n')
}

/** The lines of a simple value. */
function valuesOf(value: Json): string[] {
  if (Array.isArray(value)) return value.length === 0 ? ['none'] : value.map(text)
  if (isJsonObject(value) && Object.keys(value).length === 0) return ['none']
  return [text(value)]
}

function recordTable(records: readonly JsonObject[]): string {
  const names = new Set(records.flatMap((record) => Object.keys(record)))
  const first = FIRST_COLUMNS.filter((name) => names.has(name))
  const columns = [...new Set([...first, ...names])].slice(0, MAX_COLUMNS)
  return lineTable(
    columns.map((title) => ({ title, ...(title !== 'id' && { least: 12 }) })),
    records.map((record) => columns.map((column) => listText(cell(record[column]), MAX_CELL))),
  )
}

/** A nested list is only counted in a table. */
function cell(value: Json | undefined): string {
  if (value === undefined || value === null) return ''
  return Array.isArray(value) ? String(value.length) : text(value)
}

function text(value: Json): string {
  if (value === null || value === '') return '-'
  if (typeof value !== 'string') return JSON.stringify(value)
  return ISO_TIME.test(value) ? `${value.slice(0, 19).replace('T', ' ')} UTC` : value
}
