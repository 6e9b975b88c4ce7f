import type { Log } from '../core/log.ts'
import type { Approval, ApprovalService } from '../core/services.ts'
import type { ActivityEntry, Logs } from '../state/logs/logs.ts'

/** What ended longer ago (ms) was noted before a restart: the sweep ends it and has it asked for again at once. */
const RECENT = 600_000
const MOST_NOTED = 10_000

/**
 * Approvals that leave a trace in events.jsonl: `approval_required` once per request, `approval_decided`, and
 * `approval_expired` when whoever waits for it finds that its time is over.
 */
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

  const noted = new Set<string>()
  const ended = async (approval: Approval | undefined) => {
    if (!approval || approval.status === 'pending' || approval.decidedBy !== undefined) return
    const { id, skill, status, message, decidedAt = 0 } = approval
    if (noted.has(id) || now() - decidedAt > RECENT) return
    if (noted.size >= MOST_NOTED) noted.clear()
    noted.add(id)
    const about = message ? { channel: message.gateway, messageId: message.id } : {}
    await record({ event: 'approval_expired', ...about, approval: id, skill, status })
  }

  return {
    ...approvals,
    async wait(id, timeout, signal) {
      const found = await approvals.wait(id, timeout, signal)
      await ended(found)
      return found
    },
    async request(args) {
      const before = now()
      const standing = await approvals.request(args)
      const { id, status, skill, title, requestedAt, message } = standing
      // A repeated invocation finds the request of its first run, which has been noted.
      if (status === 'pending' && requestedAt >= before) {
        const about = message ? { channel: message.gateway, messageId: message.id } : {}
        await record({ event: 'approval_required', ...about, approval: id, skill, title })
      }
      await ended(standing)
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
