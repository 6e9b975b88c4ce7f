import { counted } from '../../lib/counted.ts'
import { paragraph } from '../../lib/paragraph.ts'

/** How many requests wait for a decision, and the command that lists them, after an empty line. */
export function waitingNote(approvals: unknown): string[] {
  const many = Number(approvals ?? 0)
  if (many === 0) return []
  return [
    '',
    paragraph('', `${counted(many, 'request waits', 'requests wait')} for an approval.`),
    paragraph('  → ', '`trivium approval list --status pending` lists them.'),
  ]
}
