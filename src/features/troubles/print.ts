import { shownAuthor } from '../../core/author.ts'
import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import type { Printers } from '../../core/readable.ts'
import { commandText } from '../../lib/command-text.ts'
import { type Column, lineTable } from '../../lib/line-table.ts'
import { paint } from '../../lib/paint.ts'
import { longestOf, paragraph } from '../../lib/paragraph.ts'
import { type Printable, withNotes } from '../../lib/printed.ts'
import { age, lineOf, listAge, shorten } from '../../lib/short-text.ts'
import { GAP } from '../../lib/text-table.ts'
import { dayAndTime } from '../../lib/utc-time.ts'

export const printers: Printers = {
  troubles: (result) => humanTroubles(result),
  'trouble-acknowledge': (result) =>
    `You have it: ${pathGet(result, 'trouble')}. It counts again when it gets worse${endOf(Object(result))}.`,
  'trouble-release': (result) =>
    pathGet(result, 'existed') === false
      ? `Nobody had it: ${pathGet(result, 'trouble')}.`
      : `It counts again: ${pathGet(result, 'trouble')}.`,
}

/** Maximum characters of the details of a trouble in `status`. */
const LONGEST_TEXT = 500
/** The width of a line if the terminal does not say its own. */
const DEFAULT_WIDTH = 80
/** Troubles that other lines of `status` show. */
const SHOWN_ELSEWHERE = new Set(['configuration', 'store-down', 'shards-away'])

type Form = { short?: boolean; full?: boolean }

/**
 * The list of troubles as text: the problem, its start, and what to do. `short`: one line for each,
 * which is also the default in a terminal where the whole list does not fit, except with `full`.
 */
export function humanTroubles(result: Json, { short, full }: Form = {}): Printable {
  const troubles = objectsIn(pathGet(result, 'troubles'))
  if (troubles.length === 0) return 'All is well.'
  if (short) return shortTroubles(troubles)
  const text = troubles.map(wholeTrouble).join('\n')
  const rows = process.stdout.rows || Number.POSITIVE_INFINITY
  return full || text.split('\n').length < rows ? text : shortTroubles(troubles)
}

function wholeTrouble(trouble: JsonObject): string {
  const { id, text, todo, since, code } = trouble
  const owner = ownerOf(trouble)
  return [
    paragraph('', `${headOf(trouble)} (${code}, for ${age(since)}, id ${id})`),
    ...(owner === '' ? [] : [paragraph('  ', paint('bold', owner))]),
    paragraph('  ', String(text)),
    paragraph('  → ', String(todo)),
  ].join('\n')
}

/** Maximum characters of a trouble in a list; a terminal cuts it further. */
const LONGEST_LINE = 400
const COLUMNS: readonly Column[] = [
  { title: '', piped: 'severity' },
  { title: 'id' },
  { title: 'for', piped: 'since' },
  { title: 'trouble', least: 20, wraps: true },
]
/** Lines of the screen besides the troubles: the head, what to do, the prompt. */
const OTHER_LINES = 4

/**
 * One line for each trouble, and at a terminal a second one for as many of the first as the screen
 * has room for.
 */
function shortTroubles(troubles: readonly JsonObject[]): Printable {
  const { columns, rows: lines = 0 } = process.stdout
  const ages = troubles.map(({ since }) => listAge(since))
  const width = columns > 0 ? columns - widthBefore(troubles, ages) : LONGEST_LINE
  const spare = columns > 0 ? lines - troubles.length - OTHER_LINES : 0
  const rows = troubles.map((trouble, at) => {
    const { id, severity, text } = trouble
    const { since: _, ...untimed } = trouble
    const about = lineOf(`${titleWithAge(untimed)}: ${text}`, at < spare ? 2 * width - SLACK : width)
    return [columns > 0 ? markOf(trouble) : severity, id, ages[at], about]
  })
  const [first] = troubles
  return withNotes(
    lineTable(COLUMNS, rows),
    paragraph('', `What to do about one: ${commandText('trouble show', first?.id)}`),
    paragraph('', 'About all: `trivium trouble list --full`'),
  )
}

/** Cells that the end of a wrapped line may leave empty. */
const SLACK = 14

/** The width of the mark, the id and the age, with the gaps after them. */
function widthBefore(troubles: readonly JsonObject[], ages: readonly string[]): number {
  const ids = troubles.map(({ id }) => String(id))
  return 1 + longestOf(ids) + longestOf(ages) + 3 * GAP
}

/** `Ingrid has it for 12 min, until 14:00 UTC: calling the post office`; empty if nobody has it. */
function ownerOf({ acknowledged }: JsonObject): string {
  if (acknowledged === undefined) return ''
  const { at, by, reason, until } = Object(acknowledged)
  const end = until === undefined ? '' : `, until ${dayAndTime(Number(until))}`
  return `${shownAuthor(by)} has it for ${age(at)}${end}${reason === undefined ? '' : `: ${reason}`}`
}

function endOf({ until }: JsonObject): string {
  return until === undefined ? '' : `, and at ${dayAndTime(Number(until))}`
}

/** Whether one of the troubles is an error: messages are lost, refused or stuck. */
export function hasError(result: Json): boolean {
  return objectsIn(pathGet(result, 'troubles')).some(({ severity }) => severity === 'error')
}

/** `isShort`: one line for each trouble, and `spare` more lines, which the first ones get. */
type Room = { isShort?: boolean; spare?: number }

/**
 * Up to `most` troubles for `status`, except those that other lines show. Very long details are cut,
 * with `isShort` to the lines that there are.
 */
export function troubleLines(
  troubles: readonly JsonObject[],
  most: number,
  { isShort = false, spare = 0 }: Room = {},
): string[] {
  const shown = troubles.filter(isShown)
  if (shown.length === 0) return []
  let left = isShort ? spare : Number.POSITIVE_INFINITY
  const lines = shown.slice(0, most).map((trouble) => {
    const whole = wholeLine(trouble)
    const more = whole.split('\n').length - 1
    if (more > left) return shortLine(trouble)
    left -= more
    return whole
  })
  const more = shown.length > most ? [`… and ${shown.length - most} more: \`trivium trouble list\``] : []
  return ['', ...lines, ...more]
}

function isShown({ code }: JsonObject): boolean {
  return !SHOWN_ELSEWHERE.has(String(code))
}

function wholeLine(trouble: JsonObject): string {
  return paragraph('  ', `${markOf(trouble)} ${aboutOf(trouble)}`).trimStart()
}

function shortLine(trouble: JsonObject): string {
  const width = (process.stdout.columns || DEFAULT_WIDTH) - 2
  return `${markOf(trouble)} ${shorten(aboutOf(trouble), width)}`
}

function aboutOf(trouble: JsonObject): string {
  return `${titleWithAge(trouble)}: ${shorten(String(trouble.text), LONGEST_TEXT)}`
}

/** `Gateway support does not work (12 min, Ingrid has it)`. */
export function titleWithAge({ title, since, acknowledged }: JsonObject): string {
  const owner = pathGet(acknowledged ?? null, 'by')
  const notes = [
    ...(since === undefined ? [] : [age(since)]),
    ...(owner === undefined ? [] : [`${shownAuthor(owner)} has it`]),
  ]
  return notes.length === 0 ? String(title) : `${title} (${notes.join(', ')})`
}

function headOf(trouble: JsonObject): string {
  return `${markOf(trouble)} ${trouble.title}`
}

/** `·` for an intended state and for a trouble that somebody takes care of. */
export function markOf({ severity, acknowledged }: JsonObject): string {
  if (severity === 'info' || acknowledged !== undefined) return '·'
  return paint(severity === 'error' ? 'red' : 'yellow', '!')
}
