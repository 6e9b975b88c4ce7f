import { argumentsIn, argumentsText } from '../../core/arguments-in-words.ts'
import { shownAuthor } from '../../core/author.ts'
import { isJsonObject, type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { type Printers, secondOf, whenText } from '../../core/readable.ts'
import { ageText } from '../../lib/age-text.ts'
import { commandText } from '../../lib/command-text.ts'
import { durationText } from '../../lib/duration-text.ts'
import { factLines } from '../../lib/fact-lines.ts'
import { type Column, lineTable } from '../../lib/line-table.ts'
import { paint } from '../../lib/paint.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { noData, type Printable, withNotes } from '../../lib/printed.ts'
import { rowLines, withBelow, wrappedBelow } from '../../lib/row-lines.ts'
import { age, listText, shorten, shortId } from '../../lib/short-text.ts'

export const printers: Printers = {
  'approval-list': humanApprovals,
  'approval-decide': humanDecision,
}

const COLUMNS: readonly Column[] = [
  { title: 'id' },
  { title: 'age' },
  // It often ends with the reason for the request.
  { title: 'title', least: 30, share: 0.4, wraps: true },
  { title: 'status' },
  { title: 'decision', least: 18, wraps: true, leftOut: 1 },
  { title: 'reason', least: 24, share: 0.2, wraps: true, leftOut: 1 },
  { title: 'by', least: 16, leftOut: 3 },
  { title: 'skill', leftOut: 4 },
  { title: 'arguments', least: 30, leftOut: 5 },
]

function isDecided({ status }: JsonObject): boolean {
  return status !== 'pending'
}

/** `approval-list`: the pending ones, oldest first, then the others, decided last first. */
function humanApprovals(result: Json, { id }: JsonObject): Printable {
  const approvals = objectsIn(result)
  const [one] = approvals
  if (id !== undefined && one) return humanApproval(one)
  if (!one) return noData(id === undefined ? 'No approvals.' : `There is no approval ${id}.`)
  const open = approvals.find(({ status }) => status === 'pending')
  const pending = approvals.filter((one) => !isDecided(one))
  const decided = approvals.filter(isDecided).toSorted((a, b) => decidedAt(b) - decidedAt(a))
  const list = listOf([...pending, ...decided])
  return open ? withNotes(list, showHint(open)) : list
}

/** Minimum width of a terminal for the decision and its reason in columns. */
const WIDE = 110

/** In a narrow terminal, the title and the decision are below the row: neither is ever cut. */
function listOf(approvals: readonly JsonObject[]): string {
  const rows = approvals.map(rowOf)
  if (!(process.stdout.columns < WIDE)) return lineTable(COLUMNS, rows)
  const lines = rowLines(
    COLUMNS.filter((_, at) => !BELOW.includes(at)),
    rows.map((row) => row.filter((_, at) => !BELOW.includes(at))),
  )
  if (!lines) return lineTable(COLUMNS, rows)
  const below = rows.map((row) => {
    const [title = '', ...decision] = BELOW.map((at) => row[at] ?? '')
    return [title, decision.filter(Boolean).join(': ')].flatMap(wrappedBelow)
  })
  return withBelow(lines, below)
}

/** The places of the columns that a narrow terminal has below the row: title, decision, reason. */
const BELOW = COLUMNS.flatMap(({ wraps }, at) => (wraps ? [at] : []))

function rowOf({ id, status, requestedAt, by, skill, args, title, reason, ...rest }: JsonObject): string[] {
  return [
    shortId(id),
    age(requestedAt),
    listText(String(title), 80),
    coloured(String(status)),
    stateOf(rest, String(status)).join(', '),
    String(reason ?? ''),
    shownAuthor(by),
    String(skill),
    listText(argumentsText(args), 60),
  ]
}

/** When a request was decided, or else made (Unix ms). */
function decidedAt({ decidedAt: at, requestedAt }: JsonObject): number {
  return Number(at ?? requestedAt ?? 0)
}

/** One request: what it asks for, its decision, and all arguments. */
function humanApproval(approval: JsonObject): string {
  const { id, title, args, status, message } = approval
  const messageId = pathGet(message, 'id')
  const entries = argumentsIn(args)
  return [
    paragraph('', `${paint('bold', String(title))}  ${coloured(String(status))}`),
    '',
    ...factLines([['request', String(id)], ...factsOf(approval)]),
    '',
    ...(entries.length === 0 ? ['It has no arguments.'] : entries.flatMap(argumentLines)),
    '',
    ...postedLines(approval.posted),
    ...(messageId === undefined
      ? []
      : [paragraph('  → ', `${commandText('message show', messageId)} shows the message that led to it.`)]),
    ...(status === 'pending' ? [decideHint(approval)] : []),
  ]
    .join('\n')
    .trimEnd()
}

/** The text in the conversation of the message. Its sender may have read it. */
function postedLines(posted: Json | undefined): string[] {
  if (!isJsonObject(posted)) return []
  const { at, state, text, error } = posted
  const why = error === undefined ? '' : `: ${error}`
  const head = paragraph('', `Posted in its conversation: ${state} ${whenText(at)}${why}`)
  const lines = String(text ?? '').split('\n')
  return [head, ...lines.map((line) => (line.trim() === '' ? '' : paragraph('  ', line))), '']
}

function factsOf(approval: JsonObject): [title: string, text: string][] {
  const { skill, route, by, requestedAt, message, approvers, decidedBy, decidedVia, decidedAt, reason } =
    approval
  const { gateway, conversation } = Object(message)
  const via = decidedVia === undefined ? '' : ` (${decidedVia})`
  const who = Array.isArray(approvers) ? approvers.join(', ') : ''
  return [
    ['calls', `the skill ${skill}${route === undefined ? '' : `, by the route ${route}`}`],
    ['asked by', `${shownAuthor(by)}, ${whenText(requestedAt)}`],
    ['conversation', conversation === undefined ? '' : `${conversation} in ${gateway}`],
    ['who decides', who === '' ? 'everybody who may decide approvals' : who],
    ['expires', endText(approval)],
    ['decided', decidedAt === undefined ? '' : `by ${shownAuthor(decidedBy)}${via}, ${whenText(decidedAt)}`],
    ['reason', String(reason ?? '')],
    ['denial goes to', denialTarget(approval)],
    ['run', runText(approval)],
  ]
}

/** Who gets a denial and its reason. Empty for an approved request. */
function denialTarget({ status, reasonGoesTo, calledBy, message }: JsonObject): string {
  if (status === 'approved') return ''
  if (reasonGoesTo === 'sender' || reasonGoesTo === 'caller') return `the ${reasonGoesTo}`
  if (reasonGoesTo !== 'skill') return ''
  return `the skill ${calledBy}${message === undefined ? '' : ', which answers the sender'}`
}

/** When a pending request ends, and how. */
function endText({ status, expiresAt, onTimeout }: JsonObject): string {
  if (status !== 'pending' || typeof expiresAt !== 'number') return ''
  const left = ageText(Math.max(0, expiresAt - Date.now()))
  return `${secondOf(expiresAt)} (in ${left}), then it is ${onTimeout === 'approve' ? 'approved' : 'denied'}`
}

/** What became of an approved call. */
function runText({ status, run, pausedBy }: JsonObject): string {
  const waits = whenResumed(pausedBy)
  if (waits !== undefined) return waits
  if (run === undefined || run === null) return status === 'approved' ? 'has not ended' : ''
  const { at, ms, code, error, result } = Object(run)
  const took = typeof ms === 'number' ? `, took ${durationText(ms)}` : ''
  const end = code === undefined ? paint('green', 'ran') : paint('red', `failed with ${code}`)
  const output = error ?? (typeof result === 'string' ? result : undefined)
  return `${end} ${whenText(at)}${took}${output === undefined ? '' : `: ${shorten(String(output), 200)}`}`
}

/** The lines of an argument. A text of several lines begins below the name. */
function argumentLines([name, value]: [string, unknown]): string[] {
  const text = typeof value === 'string' ? value.trimEnd() : JSON.stringify(value)
  if (!text.includes('\n')) return [paragraph(`${name}  `, text)]
  return [name, ...text.split('\n').map((line) => (line.trim() === '' ? '' : paragraph('  ', line)))]
}

/** A row of the list is cut, so the first step is to read the request. */
function showHint({ id }: JsonObject): string {
  return paragraph('  → ', `${commandText('approval show', id)} shows the request, and how to decide it.`)
}

function decideHint({ id }: JsonObject): string {
  return paragraph(
    '  → ',
    `${commandText('approval decide', id, '--approve', '--reason', 'TEXT')} approves it, --no-approve denies it.`,
  )
}

/** `approval-decide`. */
function humanDecision(result: Json): string {
  const { id, status, title, skill, pausedBy } = Object(result)
  const waits = status === 'approved' ? whenResumed(pausedBy) : undefined
  const target = status === 'denied' ? denialTarget(Object(result)) : ''
  const hint = waits === undefined ? '' : `It ${waits}. See: \`trivium pause list\``
  const notes = [hint, target && `The denial and its reason go to ${target}.`].filter(Boolean)
  const next = notes.map((note) => `\n${paragraph('', note)}`).join('')
  return `${coloured(String(status))}: ${shorten(String(title), 100)} (${id}, skill ${skill})${next}`
}

/** Beside the status: what an approved call waits for, or how it ended. */
function stateOf(
  { decidedBy, decidedAt, pausedBy = null, run = null }: JsonObject,
  status: string,
): string[] {
  const waits = whenResumed(pausedBy)
  if (status === 'pending') return waits === undefined ? [] : [waits]
  const when = decidedAt === undefined ? '' : ` ${age(decidedAt)} ago`
  const by = decidedBy === undefined ? [] : [`by ${shownAuthor(decidedBy)}${when}`]
  if (status !== 'approved') return by
  if (waits !== undefined) return [...by, waits]
  if (run === null) return by
  return [...by, pathGet(run, 'code') === undefined ? 'ran' : `failed: ${pathGet(run, 'code')}`]
}

/** `runs when gateway shop is resumed`; undefined if nothing is paused. */
function whenResumed(pausedBy: unknown): string | undefined {
  const pauses = objectsIn(pausedBy).map(({ kind, name }) => `${kind} ${name}`)
  if (pauses.length === 0) return undefined
  return `runs when ${pauses.join(' and ')} ${pauses.length === 1 ? 'is' : 'are'} resumed`
}

function coloured(status: string): string {
  if (status === 'pending') return paint('yellow', status)
  return paint(status === 'approved' ? 'green' : 'red', status)
}
