import type { Activity } from '../../core/activity.ts'
import type { Approval } from '../../core/approval.ts'
import { type RecordAudit, SYSTEM } from '../../core/audit.ts'
import type { Journal, Note } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import type { ApprovalEvent } from './approval-records.ts'

/** Maximum characters of a reason in the audit log. */
const MAX_REASON = 200
/** The reason of a decision that `onTimeout` made. */
const TIMED_OUT = 'nobody decided in time'

/**
 * Returns the function that records the steps of approvals in events.jsonl, and decisions in the
 * history of the message and in the audit log.
 */
export function createApprovalRecorder(
  activity: Activity,
  recordAudit: RecordAudit,
  journal: Pick<Journal, 'note'>,
) {
  return async (event: ApprovalEvent, { id: approval, message, ...rest }: Approval): Promise<void> => {
    const { skill, title, status, decidedBy: by, decidedVia: via = 'code', reason } = rest
    const source = defined({ channel: message?.gateway, messageId: message?.id, by })
    const state = status === 'pending' ? { title } : { status }
    await activity.event({ event, ...source, approval, skill, ...state })
    if (message && status !== 'pending')
      await journal.note(message.id, [decisionNote({ id: approval, message, ...rest })])
    if (event === 'approval_required') return
    const target = defined({ id: approval, skill, messageId: message?.id, status })
    if (by === undefined) {
      const author = { by: SYSTEM, via: 'system' } as const
      await recordAudit({ ...author, action: 'approval-decide', target, outcome: 'ok', reason: TIMED_OUT })
      return
    }
    // A decision by a message has its reason in the text, which does not belong in the audit log.
    const why = via === 'gateway' ? undefined : reason
    const entry = { by, via, action: 'approval-decide', target, outcome: 'ok' }
    await recordAudit({ ...entry, ...defined({ reason: why?.slice(0, MAX_REASON) }) })
  }
}

/**
 * The entry of a decision in the history of its message. `by` is absent if the request timed out.
 */
function decisionNote({ id, status, decidedAt, expiresAt, decidedBy, decidedVia, reason }: Approval): Note {
  const detail = { approval: id, ...defined({ by: decidedBy, via: decidedVia, reason }) }
  return { at: decidedAt ?? expiresAt, road: 'dispatch', what: status, detail }
}
