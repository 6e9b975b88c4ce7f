import { shownAuthor } from '../../core/author.ts'
import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { fields, type Printers } from '../../core/readable.ts'
import { type Column, lineTable } from '../../lib/line-table.ts'
import { paint } from '../../lib/paint.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { age, shorten } from '../../lib/short-text.ts'

export const printers: Printers = {
  'approval-list': humanApprovals,
  'approval-decide': humanDecision,
}

const COLUMNS: readonly Column[] = [
  { title: 'id' },
  { title: 'age' },
  { title: 'title', least: 30 },
  { title: 'status', least: 20 },
  { title: 'reason', least: 20, leftOut: 1 },
  { title: 'by', least: 16, leftOut: 2 },
  { title: 'skill', leftOut: 3 },
  { title: 'arguments', least: 30, leftOut: 4 },
]

function isDecided({ status }: JsonObject): boolean {
  return status !== 'pending'
}

/** `approval-list`: the pending ones first. */
function humanApprovals(result: Json, { id }: JsonObject): string {
  const approvals = objectsIn(result)
  const [one] = approvals
  if (id !== undefined) return one ? humanApproval(one) : `There is no approval ${id}.`
  if (!one) return 'No approvals.'
  const open = approvals.find(({ status }) => status === 'pending')
  const inOrder = approvals.toSorted((a, b) => Number(isDecided(a)) - Number(isDecided(b)))
  const rows = inOrder.map(({ id, status, requestedAt, by, skill, args, title, reason, ...rest }) => [
    id,
    age(requestedAt),
    shorten(String(title), 80),
    [coloured(String(status)), ...stateOf(rest, String(status))].join(', '),
    shorten(String(reason ?? ''), 60),
    shownAuthor(by),
    skill,
    shorten(JSON.stringify(args ?? {}), 60),
  ])
  const list = lineTable(COLUMNS, rows)
  return open ? `${list}\n${decideHint(open)}` : list
}

/** One request with all its arguments. */
function humanApproval(approval: JsonObject): string {
  return approval.status === 'pending' ? `${fields(approval)}\n\n${decideHint(approval)}` : fields(approval)
}

function decideHint({ id }: JsonObject): string {
  return paragraph('', `Decide: \`trivium approval decide ${id} --approve\` (or --no-approve)`)
}

/** `approval-decide`. */
function humanDecision(result: Json): string {
  const { id, status, title, skill, pausedBy } = Object(result)
  const waits = status === 'approved' ? whenResumed(pausedBy) : undefined
  const next = waits === undefined ? '' : `\n${paragraph('', `It ${waits}. See: \`trivium pause list\``)}`
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
