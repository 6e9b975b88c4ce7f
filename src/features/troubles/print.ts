import { shownAuthor } from '../../core/author.ts'
import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import type { Printers } from '../../core/readable.ts'
import { counted } from '../../lib/counted.ts'
import { paint } from '../../lib/paint.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { type Printable, withNotes } from '../../lib/printed.ts'
import { age, shorten } from '../../lib/short-text.ts'
import { dayAndTime } from '../../lib/utc-time.ts'

export const printers: Printers = {
  troubles: humanTroubles,
  'trouble-acknowledge': (result) =>
    `You have it: ${pathGet(result, 'trouble')}. It counts again when it gets worse${endOf(Object(result))}.`,
  'trouble-release': (result) =>
    pathGet(result, 'existed') === false
      ? `Nobody had it: ${pathGet(result, 'trouble')}.`
      : `It counts again: ${pathGet(result, 'trouble')}.`,
}

/** Maximum characters of the details of a trouble in `status`. */
const LONGEST_TEXT = 160
/** Troubles that other lines of `status` show. */
const SHOWN_ELSEWHERE = new Set(['configuration', 'store-down', 'shards-away'])

/** The list of troubles as text: the problem, its start, and what to do. */
function humanTroubles(result: Json): Printable {
  const troubles = objectsIn(pathGet(result, 'troubles'))
  if (troubles.length === 0) return 'All is well.'
  const text = troubles
    .map((trouble) => {
      const { id, text, todo, since, code } = trouble
      const head = paragraph('', `${headOf(trouble)} (${code}, for ${age(since)}, id ${id})`)
      const owner = ownerOf(trouble)
      return [
        head,
        ...(owner === '' ? [] : [paragraph('  ', paint('bold', owner))]),
        paragraph('  ', String(text)),
        paragraph('  → ', String(todo)),
      ].join('\n')
    })
    .join('\n')
  const rows = process.stdout.rows || Number.POSITIVE_INFINITY
  return text.split('\n').length < rows ? text : withNotes(text, paragraph('', summaryOf(troubles)))
}

/** Number of troubles that the summary names. */
const MOST_NAMED = 3

/** The first of the troubles, below a list that is longer than the screen. */
function summaryOf(troubles: readonly JsonObject[]): string {
  const first = troubles.slice(0, MOST_NAMED).map(titleWithAge).join('; ')
  return `${counted(troubles.length, 'trouble')}, the worst first: ${first}. \`trivium top\` shows each in one line.`
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

/** Up to `most` troubles for `status`, except those that other lines show. Long details are cut. */
export function troubleLines(troubles: readonly JsonObject[], most: number): string[] {
  const shown = troubles.filter(({ code }) => !SHOWN_ELSEWHERE.has(String(code)))
  if (shown.length === 0) return []
  const lines = shown.slice(0, most).map((trouble) => {
    const text = shorten(String(trouble.text), LONGEST_TEXT)
    return paragraph('  ', `${markOf(trouble)} ${titleWithAge(trouble)}: ${text}`).trimStart()
  })
  const more = shown.length > most ? [`… and ${shown.length - most} more: \`trivium trouble list\``] : []
  return ['', ...lines, ...more]
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
