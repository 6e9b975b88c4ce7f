import type { Log } from '../core/log.ts'
import type { ApprovalService } from '../core/services.ts'
import type { ActivityEntry, Logs } from '../state/logs.ts'

/** Approvals that leave a trace in events.jsonl: `approval_required` once per request, `approval_decided`. */
export function recordApprovals(
  approvals: ApprovalService,
  logs: Pick<Logs, 'event'>,
  log: Log,
  now: () => number = Date.now,
): ApprovalService {
  const record = async (entry: ActivityEntry) => {
    try {
      await logs.event(entry)
    } catch (err) {
      log.error({ err, event: entry.event }, 'the event log could not be written')
    }
  }

  return {
    ...approvals,
    async request(args) {
      const before = now()
      const standing = await approvals.request(args)
      const { id, status, skill, title, requestedAt, message } = standing
      // A repeated invocation finds the request of its first run, which has been noted.
      if (status === 'pending' && requestedAt >= before) {
        const about = message ? { channel: message.gateway, messageId: message.id } : {}
        await record({ event: 'approval_required', ...about, approval: id, skill, title })
      }
      return standing
    },
    async decide(args, call) {
      const decided = await approvals.decide(args, call)
      const { id, skill, status, message, decidedBy } = decided
      await record({
        event: 'approval_decided',
        ...(message ? { channel: message.gateway, messageId: message.id } : {}),
        approval: id,
        skill,
        status,
        ...(decidedBy === undefined ? {} : { by: decidedBy }),
      })
      return decided
    },
  }
}
