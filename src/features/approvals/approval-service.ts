import { createHash } from 'node:crypto'
import type { Approval, ApprovalService } from '../../core/approval.ts'
import { viaOf } from '../../core/audit.ts'
import type { Call, Caller } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { compileMember, isOperator } from '../../core/identity.ts'
import type { Store } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import { waitFor } from '../../lib/wait-for.ts'
import { abortError } from '../../runtime/bounded.ts'
import { type ApprovalEvent, createApprovalRecords, KEPT, OPEN, PREFIX } from './approval-records.ts'

export type ApprovalDeps = {
  store: Pick<Store, 'kv' | 'onSignal'>
  resume(approval: Approval): Promise<void>
  noted(event: ApprovalEvent, approval: Approval): Promise<void>
  now: () => number
}

/**
 * Approval requests in the message store. `resume` dispatches the message of a parked invocation
 * again. It may be called twice for one approval, and must be idempotent. `noted` is called once
 * for each step, and must not throw.
 */
export function createApprovalService(deps: ApprovalDeps) {
  const { now } = deps
  const { kv, onSignal } = deps.store
  const { load, change, all } = createApprovalRecords({ ...deps, kv })

  const resumeOnce = async (approval: Approval): Promise<void> => {
    if (approval.status === 'pending' || !(await kv.get(OPEN + approval.id))) return
    if (approval.message) await deps.resume(approval)
    await kv.delete(OPEN + approval.id)
  }
  return {
    async request(request) {
      const id = createHash('sha256').update(request.key).digest('hex').slice(0, 16)
      const standing = await load(id)
      if (standing) return standing
      const [requestedAt, ttl] = [now(), request.timeout + KEPT]
      const expiresAt = requestedAt + request.timeout
      const fresh: Approval = { ...request, id, status: 'pending', requestedAt, expiresAt }
      await kv.set(OPEN + id, id, { ttl })
      const made = await kv.set(PREFIX + id, { ...fresh }, { ifVersion: 0, ttl })
      // A concurrent call has just made the same request.
      if (made === undefined) return change(id, () => undefined)
      await deps.noted('approval_required', fresh)
      return fresh
    },

    async decide({ id, approve, reason }, call) {
      const asked = await load(id)
      if (!asked) throw new TriviumError('approval_not_found', { id })
      requireRight(asked, call)
      const status: Approval['status'] = approve ? 'approved' : 'denied'
      const decided = await change(id, (current) => {
        if (current.status === status) return undefined
        if (current.status !== 'pending') {
          throw new TriviumError('approval_decided', { id, status: current.status })
        }
        return { ...current, status, decidedAt: now(), ...deciderOf(call), ...defined({ reason }) }
      })
      await resumeOnce(decided)
      return decided
    },

    async list({ id = '', status, limit }) {
      const found = await all(status === 'pending' ? OPEN : PREFIX, id)
      return found
        .filter((one) => (!id || one.id === id) && (!status || one.status === status))
        .slice(0, limit)
    },

    async wait(id, timeout, signal) {
      const decided = await waitFor({
        attempt: async () => {
          const current = await load(id)
          if (!current) throw new TriviumError('approval_not_found', { id })
          return current.status === 'pending' ? { retryIn: current.expiresAt - now() } : { value: current }
        },
        watch: (wake) => onSignal(`kv:${PREFIX}${id}`, wake),
        timeout,
        signal,
      })
      if (!decided && signal.aborted) throw abortError(signal, `Waiting for approval ${id}`)
      return decided
    },
    /**
     * Expires overdue requests, and resumes invocations that a crash left parked. Call it every few
     * seconds.
     */
    async sweep() {
      for (const approval of await all(OPEN)) await resumeOnce(approval)
    },
  } satisfies ApprovalService & Record<'sweep', unknown>
}

/** A sender may decide only if the request lists them and they are verified. Operators always may. */
export function mayDecide({ approvers }: Approval, caller: Caller): boolean {
  if (isOperator(caller)) return true
  return caller.id !== undefined && approvers.some((member) => compileMember(member)(caller))
}

function requireRight(approval: Approval, { caller }: Pick<Call, 'caller'>): void {
  if (mayDecide(approval, caller)) return
  throw new TriviumError('forbidden', {
    what: `Deciding approval ${approval.id}`,
    reason: `${caller.id ?? 'an unknown sender'} is not among its approvers`,
  })
}

function deciderOf({ caller }: Pick<Call, 'caller'>) {
  return { decidedBy: caller.id ?? caller.kind, decidedVia: viaOf(caller) }
}
