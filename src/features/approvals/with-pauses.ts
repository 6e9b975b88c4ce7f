import type { Approval, ApprovalService } from '../../core/approval.ts'
import type { ServiceOf } from '../../core/operation.ts'
import type { Journal } from '../../core/store.ts'
import type { approvals } from './operations.ts'

/** A message as an approval knows it. */
type Asking = NonNullable<Approval['message']>

/**
 * `approval-list` and `approval-decide` with `pausedBy`: the pauses that hold the message of a
 * request, for which an approved call waits. Only requests that are pending, or approved and not
 * run yet, have it.
 */
export function withPauses(
  service: Pick<ApprovalService, 'list' | 'decide'>,
  pausesOf: (message: Asking, route: string | undefined) => readonly object[],
  journal: Pick<Journal, 'reachableOutcomes'>,
): ServiceOf<typeof approvals> {
  const withPausedBy = (request: Approval) => {
    const { message, route } = request
    const pausedBy = message ? pausesOf(message, route) : []
    return pausedBy.length > 0 ? { ...request, pausedBy } : request
  }
  return {
    async list(args) {
      const requests = await service.list(args)
      const approved = requests.flatMap(({ message, status }) =>
        message && status === 'approved' ? [message.id] : [],
      )
      const outcomes = approved.length > 0 ? await journal.reachableOutcomes(approved) : []
      const waiting = new Set(approved.filter((_, index) => WAITS.test(outcomes[index] ?? '')))
      return requests.map((request) => {
        const isOpen = request.status === 'pending' || waiting.has(request.message?.id ?? '')
        return isOpen ? withPausedBy(request) : request
      })
    },
    async decide(args, call) {
      const decided = await service.decide(args, call)
      return decided.status === 'approved' && !decided.run ? withPausedBy(decided) : decided
    },
  }
}

/** Outcomes of messages that dispatch has yet to run. */
const WAITS = /^(waiting|retrying)$/
