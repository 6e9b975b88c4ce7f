import { shownAuthor } from '../../core/author.ts'
import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { type Printers, secondOf } from '../../core/readable.ts'
import { commandAgain } from '../../lib/flag-words.ts'
import { type Column, lineTable, notShown } from '../../lib/line-table.ts'
import { paint } from '../../lib/paint.ts'
import { noData, type Printable, withNotes } from '../../lib/printed.ts'
import { isTerminal, shortId } from '../../lib/short-text.ts'
import { humanEntry } from './print/entry.ts'
import { pipedEntries } from './print/piped.ts'
import { sentenceOf } from './print/sentence.ts'

export const printers: Printers = {
  'audit-list': humanAudit,
}

const NARROW: readonly Column[] = [
  { title: 'id' },
  { title: 'time (UTC)' },
  { title: 'what', least: 40, wraps: true },
]
const VIA = { title: 'via' }
const WIDE: readonly Column[] = NARROW.toSpliced(2, 0, { title: 'who', least: 20 }, VIA)
/** Minimum width of a terminal for `WIDE`. */
const WIDTH = 120

/** The result of `audit-list` as a table; with `id`, all fields of one entry. */
export function humanAudit(answer: Json, args: JsonObject): Printable {
  const entries = objectsIn(pathGet(answer, 'entries'))
  const [one] = entries
  const titles = Object(pathGet(answer, 'titles'))
  if (args.id !== undefined) return one ? humanEntry(one, titles) : noData('There is no entry with this id.')
  const next = pathGet(answer, 'next')
  const more =
    next === undefined ? [] : [`There are older entries: ${commandAgain('audit', args, { before: next })}`]
  if (entries.length === 0) return noData('No entries.', ...more)
  return withNotes(isTerminal() ? sentences(entries, titles) : pipedEntries(entries, titles), ...more)
}

/** Each entry as a sentence: who did what, to which object, with what result, and why. */
function sentences(entries: readonly JsonObject[], titles: JsonObject): string {
  const isWide = process.stdout.columns >= WIDTH
  const rows = entries.map((entry) => {
    const who = shownAuthor(entry.by)
    const what = sentenceOf(entry, titles)
    const others = isWide ? [who, entry.via ?? '', what] : [`${paint('bold', who)} ${what}`]
    return [shortId(entry.id ?? ''), shortTime(Number(entry.at)), ...others]
  })
  if (isWide) return lineTable(WIDE, rows)
  return `${lineTable(NARROW, rows)}\n${notShown([VIA], process.stdout.columns)}`
}

/** `30 Nov 17:20:43`; of another year `2025-11-30 17:20:43`. */
function shortTime(at: number): string {
  const [date = '', time = ''] = secondOf(at).split(' ')
  if (!date.startsWith(`${new Date().getUTCFullYear()}-`)) return `${date} ${time}`
  const month = new Date(at).toLocaleString('en', { month: 'short', timeZone: 'UTC' })
  return `${String(Number(date.slice(8))).padStart(2)} ${month} ${time}`
}
