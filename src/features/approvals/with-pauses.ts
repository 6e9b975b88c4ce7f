import type { Approval, ApprovalService } from '../../core/approval.ts'
import type { ServiceOf } from '../../core/operation.ts'
import type { Journal } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import type { approvals } from './operations.ts'
import { postedOf } from './posted.ts'

/** The message whose skill run asked for approval. */
type ApprovalMessage = NonNullable<Approval['message']>

/**
 * `approval-list` and `approval-decide` with `pausedBy`: the pauses that hold the message of a
 * request, and that of its skill. The call runs only after they end, even if it is approved. Only
 * requests that are pending, or approved and not run yet, have `pausedBy`. A request that is read by
 * its id has its post too.
 */
export function withPauses(
  service: Pick<ApprovalService, 'list' | 'decide'>,
  pausesOf: (message: ApprovalMessage, route: string | undefined) => readonly object[],
  journal: Pick<Journal, 'outcomesIfReachable' | 'history'>,
  pauseOfSkill: (skill: string) => object | undefined,
): ServiceOf<typeof approvals> {
  const withPausedBy = (request: Approval) => {
    const { message, route, skill } = request
    const own = pauseOfSkill(skill)
    const pausedBy = new Set([...(message ? pausesOf(message, route) : []), ...(own ? [own] : [])])
    return pausedBy.size > 0 ? { ...request, pausedBy: [...pausedBy] } : request
  }
  return {
    async list(args) {
      const requests = await service.list(args)
      const approved = requests.flatMap(({ message, status }) =>
        message && status === 'approved' ? [message.id] : [],
      )
      const outcomes = approved.length > 0 ? await journal.outcomesIfReachable(approved) : []
      const waiting = new Set(approved.filter((_, index) => WAITS.test(outcomes[index] ?? '')))
      const listed = requests.map((request) => {
        const isOpen = request.status === 'pending' || waiting.has(request.message?.id ?? '')
        return isOpen ? withPausedBy(request) : request
      })
      if (!args.id) return listed
      return Promise.all(
        listed.map(async (request) => ({
          ...request,
          ...defined({ posted: await postedOf(journal, request) }),
        })),
      )
    },
    async decide(args, call) {
      const decided = await service.decide(args, call)
      const hasRun = decided.run !== undefined
      return decided.status === 'approved' && !hasRun ? withPausedBy(decided) : decided
    },
  }
}

/** Outcomes of messages that dispatch has yet to run. */
const WAITS = /^(waiting|retrying)$/
