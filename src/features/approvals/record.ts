import type { Activity } from '../../core/activity.ts'
import type { Approval } from '../../core/services.ts'
import { defined } from '../../lib/defined.ts'
import type { ApprovalEvent } from './approval-service.ts'

/** Notes in events.jsonl what becomes of approvals. */
export function recordApprovals(activity: Activity) {
  return async (event: ApprovalEvent, { id: approval, message, ...rest }: Approval): Promise<void> => {
    const { skill, title, status, decidedBy: by } = rest
    const about = defined({ channel: message?.gateway, messageId: message?.id, by })
    const what = status === 'pending' ? { title } : { status }
    await activity.event({ event, ...about, approval, skill, ...what })
  }
}
