import type { Log } from '../core/log.ts'
import type { Approval, ApprovalService } from '../core/services.ts'
import { defined } from '../lib/defined.ts'
import type { Logs } from '../state/logs/logs.ts'

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
  const record = async (event: string, { id: approval, skill, message }: Approval, more: object) => {
    const about = defined({ channel: message?.gateway, messageId: message?.id })
    try {
      await logs.event({ event, ...about, approval, skill, ...more })
    } catch (err) {
      log.error({ err, event }, 'the event log could not be written')
    }
  }

  const noted = new Set<string>()
  const ended = async (approval: Approval | undefined) => {
    if (!approval || approval.status === 'pending' || approval.decidedBy !== undefined) return
    const { id, status, decidedAt = 0 } = approval
    if (noted.has(id) || now() - decidedAt > RECENT) return
    if (noted.size >= MOST_NOTED) noted.clear()
    noted.add(id)
    await record('approval_expired', approval, { status })
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
      // A repeated invocation finds the request of its first run, which has been noted.
      if (standing.status === 'pending' && standing.requestedAt >= before) {
        await record('approval_required', standing, { title: standing.title })
      }
      await ended(standing)
      return standing
    },
    async decide(args, call) {
      const decided = await approvals.decide(args, call)
      await record('approval_decided', decided, defined({ status: decided.status, by: decided.decidedBy }))
      return decided
    },
  }
}
