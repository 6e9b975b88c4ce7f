import { shownAuthor } from '../../core/author.ts'
import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { type Printers, whenText } from '../../core/readable.ts'
import { elapsedText } from '../../lib/age-text.ts'
import { argumentsText } from '../../lib/arguments-in-words.ts'
import { askerOf } from '../../lib/asker.ts'
import { commandText } from '../../lib/command-text.ts'
import { type Column, lineTable } from '../../lib/line-table.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { noData, type Printable, withNotes } from '../../lib/printed.ts'
import { rowLines, withBelow, wrappedBelow } from '../../lib/row-lines.ts'
import { isTerminal, listAge, listAgo, listText, shorten, shortId } from '../../lib/short-text.ts'
import { answerLines, humanApproval, runText } from './print/request.ts'
import { coloured, denialTarget, whenResumed } from './print/request-words.ts'

export const printers: Printers = {
  'approval-list': humanApprovals,
  'approval-decide': humanDecision,
}

const COLUMNS: readonly Column[] = [
  { title: 'id' },
  { title: 'age', piped: 'time' },
  // It often ends with the reason for the request.
  { title: 'title', least: 30, share: 0.4, wraps: true },
  { title: 'status' },
  { title: 'left', piped: 'deadline', leftOut: 2 },
  { title: 'decision', least: 18, wraps: true, leftOut: 1 },
  { title: 'reason', least: 24, share: 0.2, wraps: true, leftOut: 1 },
  { title: 'asked by', least: 10, leftOut: 3 },
  { title: 'skill', leftOut: 4 },
  { title: 'arguments', least: 30, leftOut: 5 },
]

function isDecided({ status }: JsonObject): boolean {
  return status !== 'pending'
}

/** `approval-list`: the pending ones, oldest first, then the decided ones, decided last first, then the expired ones. */
function humanApprovals(result: Json, { id }: JsonObject): Printable {
  const approvals = objectsIn(result)
  const [one] = approvals
  if (id !== undefined && one) return humanApproval(one)
  if (!one) return noData(id === undefined ? 'No approvals.' : `There is no approval ${id}.`)
  const open = approvals.find(({ status }) => status === 'pending')
  const pending = approvals.filter((one) => !isDecided(one))
  const decided = approvals.filter(isDecided).toSorted((a, b) => decidedAt(b) - decidedAt(a))
  const [others, expired] = [false, true].map((isExpired) =>
    decided.filter(({ status }) => (status === 'expired') === isExpired),
  )
  const list = listOf([...pending, ...(others ?? []), ...(expired ?? [])])
  const isDenied = isTerminal() && pending.some(({ onTimeout }) => onTimeout === 'deny')
  const isLong = isTerminal() && approvals.length > process.stdout.rows - 3
  const waits = isLong && pending.length > 0 && decided.length > 0 ? [waitHint(pending.length)] : []
  const deadline = isDenied ? [DENIED_AUTOMATICALLY] : []
  return open ? withNotes(list, ...deadline, ...waits, showHint(open)) : list
}

/** Printed below a list at a terminal; an approval at the deadline is in the row. */
const DENIED_AUTOMATICALLY = 'When no time is left, a request is denied automatically.'

/** Printed below a list that is longer than the screen. */
function waitHint(count: number): string {
  return `${count === 1 ? '1 waits' : `${count} wait`}, at the top: ${commandText('approval list --status', 'pending')}`
}

/**
 * One line for each request, with all columns. If the terminal is too narrow for that, the decision
 * is below the row, and then also the title: neither is ever cut.
 */
function listOf(approvals: readonly JsonObject[]): string {
  const rows = approvals.map(rowOf)
  const whole = lineTable(COLUMNS, rows)
  if (whole.split('\n').length === rows.length + 1) return whole
  return withTextsBelow(rows, DECISION) ?? withTextsBelow(rows, [TITLE, ...DECISION]) ?? whole
}

/** The list with some columns below its rows. Undefined if the full titles do not fit. */
function withTextsBelow(rows: readonly string[][], below: readonly number[]): string | undefined {
  const isBelow = (_: unknown, at: number) => below.includes(at)
  const lines = rowLines(
    COLUMNS.filter((column, at) => !isBelow(column, at)).map(({ wraps: _, ...column }) => column),
    rows.map((row) => row.filter((text, at) => !isBelow(text, at))),
  )
  const hasTitle = (row: readonly string[], at: number) => lines?.rows[at]?.includes(row[TITLE] ?? '')
  if (!lines || (!below.includes(TITLE) && !rows.every(hasTitle))) return undefined
  const texts = rows.map((row) => {
    const title = below.includes(TITLE) ? (row[TITLE] ?? '') : ''
    const decision = DECISION.flatMap((at) => row[at] || []).join(': ')
    // Far from its column, and near the name of who asked: `denied by ada`.
    return [title, decision.replace(/^by /, `${row[STATUS]} by `)].flatMap(wrappedBelow)
  })
  return withBelow(lines, texts)
}

/** The place of the status. */
const STATUS = COLUMNS.findIndex(({ title }) => title === 'status')

/** The places of the columns that a narrow terminal has below the row: decision and reason, title. */
const [TITLE = 0, ...DECISION] = COLUMNS.flatMap(({ wraps }, at) => (wraps ? [at] : []))

/** Whether a title contains all arguments, so that a terminal need not repeat them. */
function isInTitle(args: Json | undefined, title: string): boolean {
  const values = Object.values(Object(args))
  const isIn = (value: unknown) =>
    (typeof value === 'string' || typeof value === 'number') && title.includes(String(value))
  return isTerminal() && values.length > 0 && values.every(isIn)
}

function rowOf({ id, status, requestedAt, skill, args, title, reason, ...rest }: JsonObject): string[] {
  return [
    shortId(id),
    listAge(requestedAt),
    listText(String(title), 80),
    coloured(String(status)),
    timeLeft(rest, String(status)),
    stateOf(rest, String(status)).join(', '),
    String(reason ?? ''),
    askedBy(rest),
    String(skill),
    isInTitle(args, String(title)) ? '' : listText(argumentsText(args), 60),
  ]
}

/** Of a pending request, the time until its decision is automatic; in a pipe, the end of it. */
function timeLeft({ expiresAt, onTimeout }: JsonObject, status: string): string {
  if (status !== 'pending' || typeof expiresAt !== 'number') return ''
  if (!isTerminal()) return new Date(expiresAt).toISOString()
  const left = elapsedText(Math.max(0, expiresAt - Date.now()))
  return onTimeout === 'approve' ? `${left}, then approved` : left
}

/** At a terminal the name of the requester; the identity in a pipe. */
function askedBy(approval: JsonObject): string {
  const { name, address } = askerOf(approval)
  const shown = name ?? address
  return process.stdout.isTTY && shown !== undefined ? shorten(shown, 40) : shownAuthor(approval.by)
}

/** When a request was decided, or else made (Unix ms). */
function decidedAt({ decidedAt: at, requestedAt }: JsonObject): number {
  return Number(at ?? requestedAt ?? 0)
}

/** A row of the list is cut, so the first step is to read the request. */
function showHint({ id }: JsonObject): string {
  return paragraph('  → ', `${commandText('approval show', id)} shows the request, and how to decide it.`)
}

/** `approval-decide`. A `repeated` decision changed nothing. */
function humanDecision(result: Json): string {
  const { id, status, title, skill, pausedBy, repeated, decidedBy, decidedAt, reason } = Object(result)
  const after = afterDecision(Object(result))
  if (repeated === true) {
    const who = decidedBy === undefined ? 'its timeout' : shownAuthor(decidedBy)
    const why = reason === undefined ? '' : `: ${reason}`
    const before = `Already ${status} by ${who}, ${whenText(decidedAt)}${why}`
    return `${paragraph('', before)}\n${paragraph('', `Nothing changed: ${shorten(title, 100)} (${id})`)}`
  }
  const waits = status === 'approved' ? whenResumed(pausedBy) : undefined
  const target = status === 'denied' ? denialTarget(Object(result)) : ''
  const hint = waits === undefined ? '' : `It ${waits}. See: \`trivium pause list\``
  const notes = [
    hint,
    after.length === 0 && target !== '' ? `The denial and its reason go to ${target}.` : '',
  ].filter(Boolean)
  const next = notes.map((note) => `\n${paragraph('', note)}`).join('')
  return `${coloured(String(status))}: ${shorten(String(title), 100)} (${id}, skill ${skill})${next}${after.map((line) => `\n${line}`).join('')}`
}

/** What followed a decision, as far as it was waited for: the run, and what the sender was told. */
function afterDecision(decided: JsonObject): string[] {
  const { status, answers, run, message } = decided
  if (!Array.isArray(answers)) return []
  const texts = objectsIn(answers).flatMap(({ at, state, text, error }) =>
    answerLines({
      at: Number(at),
      state: String(state),
      ...(typeof text === 'string' && { text }),
      ...(typeof error === 'string' && { error }),
    }),
  )
  const { result, ...others } = Object(run)
  const isShown = objectsIn(answers).some(({ text }) => text === result)
  const isSilent = texts.length === 0 && message !== undefined
  return [
    ...(status === 'approved'
      ? [paragraph('', `The skill ${runText({ status, run: isShown ? others : (run ?? null) })}`)]
      : []),
    ...texts,
    ...(isSilent ? ['The sender was not told anything yet.'] : []),
  ]
}

/** Beside the status: what an approved call waits for, or how it ended. */
function stateOf(
  { decidedBy, decidedAt, pausedBy = null, run = null }: JsonObject,
  status: string,
): string[] {
  const waits = whenResumed(pausedBy)
  if (status === 'pending') return waits === undefined ? [] : [waits]
  const when = decidedAt === undefined ? '' : ` ${listAgo(decidedAt)}`
  const by = decidedBy === undefined ? [] : [`by ${shownAuthor(decidedBy)}${when}`]
  if (status !== 'approved') return by
  if (waits !== undefined) return [...by, waits]
  if (run === null) return by
  return [...by, pathGet(run, 'code') === undefined ? 'ran' : `failed: ${pathGet(run, 'code')}`]
}
