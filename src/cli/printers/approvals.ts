import { type Json, objectsIn } from '../../core/json.ts'
import { age, paint, shorten, table } from '../terminal.ts'

/** `approval-list`. */
export function humanApprovals(result: Json): string {
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
export function humanDecision(result: Json): string {
  const { id, status, title, skill } = Object(result)
  return `${coloured(String(status))}: ${shorten(String(title), 100)} (${id}, skill ${skill})`
}

function coloured(status: string): string {
  if (status === 'pending') return paint('yellow', status)
  return paint(status === 'approved' ? 'green' : 'red', status)
}
