import { stripVTControlCharacters } from 'node:util'
import { type JsonObject, objectsIn } from '../../core/json.ts'
import { counted } from '../../lib/counted.ts'
import { paint } from '../../lib/paint.ts'
import { cutLine } from './cut-line.ts'
import { rateLines } from './rates.ts'
import { type Row, type Section, sectionsOf, type Target } from './rows.ts'

/** The last state, the points of the last hour, and why the daemon no longer responds. */
export type Shown = { now?: JsonObject; points: JsonObject[]; outage?: string }
export type Size = { width: number; rows: number }
/**
 * The selected row; without one, the first. `unfolds`: whether all troubles are shown. `filter`: only
 * rows with this text are shown. `isTyping`: keys add to it.
 */
export type Selection = { key?: string; unfolds: boolean; filter?: string; isTyping?: boolean }

const KEYS = '↑↓ · / filter · Enter open · ? help · q quit'
/** The key of the row that stands for the troubles that do not fit. */
export const FOLD = 'fold'

/**
 * The lines of the screen. The troubles take at most a third of the rows; everything below the rates
 * scrolls with the selected row, between marks that count the lines above and below. Without a
 * `selection`, for a pipe, everything is shown.
 */
export function screenOf(shown: Shown, { width, rows }: Size, selection?: Selection): string[] {
  const { now, points, outage } = shown
  if (!now) return [outage ?? 'Connecting …']
  if (now.error !== undefined) return [paint('red', 'The store does not answer:'), String(now.error)]
  const top = [headOf(now), ...(outage ? [paint('red', outage)] : []), ...rateLines(now, points, width), '']
  if (!selection) {
    const { troubles, others } = sectionsOf(now)
    return [...top, ...[troubles, ...others].flatMap((section) => linesOf(section))]
  }
  const sections = foldedSections(now, rows, selection)
  const lines = sections.flatMap((section) => linesOf(section, selectedIn(sections, selection)))
  const at = lines.findIndex((line) => line.startsWith(MARK))
  if (lines.length === 0) lines.push('No row has this text.')
  const body = windowOf(lines, at, Math.max(3, rows - top.length - 1))
  const fill = Array.from({ length: Math.max(0, rows - top.length - body.length - 1) }, () => '')
  return [...top, ...body, ...fill, footOf(selection)].map((line) => cutLine(line, width))
}

/** The keys, after the filter. */
function footOf({ filter, isTyping }: Selection): string {
  if (isTyping) return `/${filter}▏ Enter keeps the filter · Esc ends it`
  return filter ? `/${filter} · Esc shows all · Enter open · q quit` : KEYS
}

/** The row to which a number of steps leads, from the selected one. */
export function rowAfter({ now }: Shown, rows: number, selection: Selection, steps: number): Row | undefined {
  if (!now || now.error !== undefined) return undefined
  const sections = foldedSections(now, rows, selection)
  const all = sections.flatMap((section) => section.rows)
  const at = all.findIndex(({ key }) => key === selectedIn(sections, selection))
  return all[Math.max(0, Math.min(all.length - 1, at + steps))]
}

function headOf(now: JsonObject): string {
  const time = new Date(Number(now.at)).toISOString().slice(11, 19)
  const { total = 0 } = Object(now.deadLetters)
  const facts = [
    `${paint('bold', 'Trivium')} ${time} UTC`,
    ...waitingPeople(now),
    ...(Number(now.approvals ?? 0) > 0 ? [`${counted(now.approvals, 'request')} to approve`] : []),
    ...(Number(total) > 0 ? [counted(total, 'dead letter')] : []),
    `${now.store} store`,
    String(now.daemon),
  ]
  return facts.join(' · ')
}

/** `4 people wait`, or `At least 100 people wait`: the start of the title of their trouble. */
function waitingPeople({ troubles }: JsonObject): string[] {
  const waiting = objectsIn(troubles ?? null).find(({ code }) => code === 'unanswered')
  return waiting === undefined ? [] : String(waiting.title).split(' for ').slice(0, 1)
}

/** The sections with at most a third of the rows for the troubles, unless they are unfolded. */
function foldedSections(now: JsonObject, rows: number, { unfolds, filter }: Selection): Section[] {
  const { troubles, others } = sectionsOf(now)
  if (filter) return [troubles, ...others].map((section) => matchingIn(section, filter))
  if (objectsIn(now.troubles ?? null).length === 0) return others
  const room = Math.max(2, Math.floor(rows / 3)) - 1
  if (unfolds || troubles.rows.length <= room) return [troubles, ...others]
  const shown = troubles.rows.slice(0, room - 1)
  const more = `… ${troubles.rows.length - shown.length} more troubles: Enter shows them`
  const opens: Target = { text: () => '' }
  return [{ ...troubles, rows: [...shown, { key: FOLD, text: more, opens }] }, ...others]
}

function matchingIn(section: Section, filter: string): Section {
  const has = ({ text }: Row) => stripVTControlCharacters(text).toLowerCase().includes(filter.toLowerCase())
  return { ...section, rows: section.rows.filter(has) }
}

/** The key of the selected row, or of the first one if it is gone. */
function selectedIn(sections: readonly Section[], { key }: Selection): string | undefined {
  const all = sections.flatMap(({ rows }) => rows)
  return all.some((row) => row.key === key) ? key : all[0]?.key
}

const MARK = '▸ '

/** The lines of a section; in a pipe, without a selection, without a column for its mark. */
function linesOf({ title, rows }: Section, selected?: string): string[] {
  if (rows.length === 0) return []
  const markOf = (key: string) => (key === selected ? MARK : '  ')
  const lines = rows.map(({ key, text }) => (selected === undefined ? text : markOf(key) + text))
  return [paint('bold', title), ...lines]
}

/** As many lines around `at` as fit, with the number of the others in the first and the last one. */
export function windowOf(lines: readonly string[], at: number, room: number): string[] {
  if (lines.length <= room) return [...lines]
  const start = Math.max(0, Math.min(lines.length - room, at - Math.floor(room / 2)))
  const shown = lines.slice(start, start + room)
  const below = lines.length - start - room
  if (start > 0) shown[0] = `  ▲ ${start + 1} more lines`
  if (below > 0) shown[room - 1] = `  ▼ ${below + 1} more lines`
  return shown
}
