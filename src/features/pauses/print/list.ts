import { shownAuthor } from '../../../core/author.ts'
import type { JsonObject } from '../../../core/json.ts'
import { listTime } from '../../../core/readable.ts'
import { type Column, lineTable } from '../../../lib/line-table.ts'
import { paragraph } from '../../../lib/paragraph.ts'
import { noData, type Printable, withNotes } from '../../../lib/printed.ts'
import { resumeCommand } from '../../../lib/resume-command.ts'
import { cutBelow, rowLines, withBelow } from '../../../lib/row-lines.ts'
import { listAge } from '../../../lib/short-text.ts'

/** A short time, as in the other texts on pauses. */
type InWords = (at: unknown) => string

const PAUSE_COLUMNS: readonly Column[] = [
  ...['what', 'name'].map((title) => ({ title })),
  { title: 'for', piped: 'since' },
  ...['until', 'waiting'].map((title) => ({ title })),
  { title: 'by' },
  { title: 'reason', least: 24, wraps: true },
]
const WITHOUT_REASON = PAUSE_COLUMNS.slice(0, -2).map((column) =>
  column.piped === undefined ? column : { ...column, leftOut: 1 },
)

/** `pause-list`. */
export function humanPauses(pauses: readonly JsonObject[], shortTime: InWords): Printable {
  const rows = pauses.map((pause) => [
    pause.kind,
    nameOf(pause),
    listAge(pause.since),
    pause.until === undefined ? 'it is resumed' : listTime(pause.until, shortTime),
    pause.waiting === undefined ? '' : Number(pause.waiting) + Number(pause.runs ?? 0),
    authorsOf(pause),
    reasonsOf(pause),
  ])
  if (pauses.length === 0) return noData('Nothing is paused.')
  return withNotes(linesOf(pauses, rows, PAUSE_COLUMNS, WITHOUT_REASON), paragraph('', howToEnd(pauses)))
}

function reasonsOf({ reason, changedReason }: JsonObject): string {
  return [reason, changedReason].filter((each) => each !== undefined).join('; ')
}

/** `ada, changed by bob`. */
function authorsOf({ by, changedBy }: JsonObject): string {
  const changed = changedBy === undefined ? [] : [`changed by ${shownAuthor(changedBy)}`]
  return [...(by === undefined ? [] : [shownAuthor(by)]), ...changed].join(', ')
}

/** The command that ends the only pause of the list; of several, only its form. */
function howToEnd(pauses: readonly JsonObject[]): string {
  const [first, ...others] = pauses
  if (first && others.length === 0) return `To end it: ${resumeCommand(first)}`
  const kinds = new Set(pauses.map(({ kind }) => String(kind)))
  const forms = [...kinds].map((kind) => resumeCommand({ kind, name: 'NAME' }))
  return `To end one: ${forms.join(', ')}`
}

const ENDED_COLUMNS: readonly Column[] = [
  ...['what', 'name', 'from', 'to', 'ended by', 'by'].map((title) => ({ title })),
  { title: 'reason', least: 24, wraps: true },
]
const ENDED_IN_SHORT = ENDED_COLUMNS.slice(0, -2)

/** `pause-list` with `ended`: the pauses of the last day that are over, and what shows their messages. */
export function humanEnded(pauses: readonly JsonObject[], shortTime: InWords): Printable {
  const [newest] = pauses
  if (!newest) return noData('No pause ended in the last day.')
  const rows = pauses.map((pause) => [
    pause.kind,
    nameOf(pause),
    listTime(pause.since, shortTime),
    listTime(pause.endedAt, shortTime),
    pause.endedBy === undefined ? 'itself' : shownAuthor(pause.endedBy),
    authorsOf(pause),
    reasonsOf(pause),
  ])
  return withNotes(linesOf(pauses, rows, ENDED_COLUMNS, ENDED_IN_SHORT), ...messagesNote(newest))
}

/** The command that lists the messages that came while the newest ended pause lasted. */
function messagesNote({ kind, name, gateway, since, endedAt }: JsonObject): string[] {
  if (kind === 'skill') return []
  const place = kind === 'conversation' ? `--gateway ${gateway} --conversation` : `--${kind}`
  const second = (ms: number) => new Date(ms).toISOString().replace(/\.\d+/, '')
  const times = `--since ${second(Number(since))} --until ${second(Number(endedAt) + 999)}`
  const command = `message list ${place} ${name} ${times}`
  return [paragraph('', `What came in the newest, and its outcome: \`trivium ${command}\``)]
}

/** Minimum width of a terminal for a reason of several lines in its column. */
const WIDE = 110

/** One line per pause. In a narrow terminal, its label, who paused it and why are below. */
function linesOf(
  pauses: readonly JsonObject[],
  rows: readonly (readonly unknown[])[],
  columns: readonly Column[],
  inShort: readonly Column[],
): string {
  if (process.stdout.columns >= WIDE) return lineTable(columns, rows)
  const short = rows.map((row, at) => [row[0], pauses[at]?.name, ...row.slice(2, -2)])
  const lines = rowLines(columns, rows) ? undefined : rowLines(inShort, short)
  if (!lines) return lineTable(columns, rows)
  const below = rows.map((row, at) => {
    const why = row.slice(-2).filter(Boolean).join(': ')
    return cutBelow([labelsOf(pauses[at] ?? {}).join(', '), why].filter(Boolean).join('; '))
  })
  return withBelow(lines, below)
}

/** The name that `resume` takes, and in brackets its label, and the gateway of a conversation. */
function nameOf(pause: JsonObject): string {
  const labels = labelsOf(pause)
  return labels.length === 0 ? String(pause.name) : `${pause.name} (${labels.join(', ')})`
}

function labelsOf({ kind, name, gateway, label }: JsonObject): string[] {
  const labels = [label, kind === 'conversation' ? gateway : undefined]
  return labels.filter((each) => each !== undefined && each !== name).map(String)
}
