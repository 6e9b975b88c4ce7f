import type { Trouble } from '../../core/trouble.ts'
import { counted } from '../../lib/counted.ts'
import type { StoredReadings } from './readings.ts'
import { firstLine, warning } from './trouble-parts.ts'

/** All pending approvals, oldest first, as one trouble. */
export function approvalTroubles(approvals: StoredReadings['approvals']): Trouble[] {
  const [oldest] = approvals
  if (!oldest) return []
  const count = approvals.length
  const title = `${counted(count, 'request waits', 'requests wait')} for an approval`
  const text = `The oldest one: ${firstLine(oldest.title).replace(/[.!?]$/, '')}.`
  const todo = 'Decide in the console, or with `trivium approval list --status pending`.'
  return [warning('approval-waiting', {}, { title, text, todo, count, since: oldest.requestedAt })]
}
