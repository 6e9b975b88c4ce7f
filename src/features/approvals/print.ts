import { type Json, objectsIn } from '../../core/json.ts'
import type { Printers } from '../../core/readable.ts'
import { paint } from '../../lib/paint.ts'
import { age, shorten } from '../../lib/short-text.ts'
import { table } from '../../lib/text-table.ts'

export const printers: Printers = {
  'approval-list': humanApprovals,
  'approval-decide': humanDecision,
}

/** `approval-list`. */
function humanApprovals(result: Json): string {
  const approvals = objectsIn(result)
  if (approvals.length === 0) return 'No approvals.'
  const rows = approvals.map(({ id, status, requestedAt, by, skill, args, title }) => [
    id,
    coloured(String(status)),
    age(requestedAt),
    by,
    skill,
    shorten(String(title), 50),
    shorten(JSON.stringify(args ?? {}), 60),
  ])
  const list = table(['id', 'status', 'age', 'by', 'skill', 'title', 'arguments'], rows)
  const open = approvals.find(({ status }) => status === 'pending')
  return open ? `${list}\nDecide: trivium approval decide ${open.id} --approve (or --no-approve)` : list
}

/** `approval-decide`. */
function humanDecision(result: Json): string {
  const { id, status, title, skill } = Object(result)
  return `${coloured(String(status))}: ${shorten(String(title), 100)} (${id}, skill ${skill})`
}

function coloured(status: string): string {
  if (status === 'pending') return paint('yellow', status)
  return paint(status === 'approved' ? 'green' : 'red', status)
}
