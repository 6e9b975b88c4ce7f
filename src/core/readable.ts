import { stringify } from 'yaml'
import { lineTable } from '../lib/line-table.ts'
import { noData, type Printable } from '../lib/printed.ts'
import { age, isTerminal, listText } from '../lib/short-text.ts'
import { isJsonObject, type Json, type JsonObject, objectsIn } from './json.ts'

/** Prints the results of skills for people, by the name of the skill. */
export type Printers = Readonly<Record<string, (result: Json, args: JsonObject) => Printable>>

/** Fields whose values people pass to other commands; a narrow table does not cut them. */
const NAMING = new Set(['id', 'name', 'key'])
/** Maximum number of columns that fit on a screen. */
const MAX_COLUMNS = 8
/** Maximum characters of a cell. */
const MAX_CELL = 60
/** Names of fields that contain a time in Unix ms. */
const TIME_FIELD = /^(at|since|until|next|first|last|from|to|planned)$|At$|Since$/
/** Smaller numbers are no times (Unix ms, in 2001), but counts or ids. */
const EARLIEST_TIME = 1e12
/** Larger numbers are no times (Unix ms, in 5138). */
const LATEST_TIME = 1e14

/**
 * Formats the result of a built-in skill: a text, a table of similar records, or else one field per
 * line. Times are UTC.
 */
export function readable(value: Json): Printable {
  if (value === null) return noData('Nothing.')
  if (typeof value !== 'object') return String(value)
  if (Array.isArray(value)) return listOf(value)
  if (typeof value.text === 'string') return value.text
  if (value.ok === false) return 'Nothing changed.'
  const { ok: _, ...rest } = value
  return Object.keys(rest).length === 0 ? 'Done.' : fields(rest)
}

/** One field per line; nested values are indented. */
export function fields(record: JsonObject): string {
  return stringify(withTimes(record), { lineWidth: 0 }).trimEnd()
}

/** Formats a time in UTC, as other commands do. */
export function timeOf(at: unknown): string {
  return typeof at === 'number' ? `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC` : '-'
}

/** A time in a list: in words at a terminal; in a pipe ISO 8601, which can be sorted. */
export function listTime(at: unknown, inWords: (at: unknown) => string = timeOf): string {
  return typeof at === 'number' && !isTerminal() ? new Date(at).toISOString() : inWords(at)
}

/** Formats a time in UTC, to the second. */
export function secondOf(at: unknown): string {
  return typeof at === 'number' ? `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC` : '-'
}

/** A time and its age, as all details show it: `2026-11-29 14:35:14 UTC (5 min ago)`. */
export function whenText(at: unknown): string {
  return typeof at === 'number' ? `${secondOf(at)} (${age(at)} ago)` : '-'
}

function listOf(list: readonly Json[]): Printable {
  if (list.length === 0) return noData('None.')
  const records = objectsIn(list)
  const names = [...new Set(records.flatMap((record) => Object.keys(record)))]
  if (records.length < list.length)
    return list.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))).join('\n')
  if (names.length > MAX_COLUMNS) return stringify(list.map(withTimes), { lineWidth: 0 }).trimEnd()
  const cell = (name: string, value: Json | undefined) => {
    if (isTime(name, value)) return listTime(value)
    if (value === undefined || value === null) return ''
    return listText(typeof value === 'string' ? value : JSON.stringify(value), MAX_CELL)
  }
  return lineTable(
    names.map((title) => ({ title, ...(!NAMING.has(title) && !TIME_FIELD.test(title) && { least: 12 }) })),
    records.map((record) => names.map((name) => cell(name, record[name]))),
  )
}

function withTimes(value: Json): Json {
  if (Array.isArray(value)) return value.map(withTimes)
  if (!isJsonObject(value)) return value
  const entries = Object.entries(value).map(([name, one]) => [
    name,
    isTime(name, one) ? secondOf(one) : withTimes(one),
  ])
  return Object.fromEntries(entries)
}

function isTime(name: string, value: unknown): boolean {
  return typeof value === 'number' && value > EARLIEST_TIME && value < LATEST_TIME && TIME_FIELD.test(name)
}
