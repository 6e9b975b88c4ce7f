import { type Approval, approvalSchema } from '../../core/approval.ts'
import { TriviumError } from '../../core/errors.ts'
import type { KeyValues } from '../../core/store.ts'
import { updateKv } from '../../core/update-kv.ts'

export const PREFIX = 'approval:'
/**
 * Index of requests that are open, or whose invocation has not resumed yet. A sweep reads only
 * these, not every past request.
 */
export const OPEN = 'approval-open:'
/** How long (ms) a decision is kept after the request would have expired. */
export const KEPT = 7 * 86_400_000

export type ApprovalEvent = 'approval_required' | 'approval_decided' | 'approval_expired'

/** Stores approval requests. `noted` is called once for each decision and each expiry. */
export function createApprovalRecords(deps: {
  kv: KeyValues
  noted(event: ApprovalEvent, approval: Approval): Promise<void>
  now: () => number
}) {
  const { kv, now } = deps

  /** Reads a request, and marks it as expired if its time is over. */
  const load = async (id: string): Promise<Approval | undefined> => {
    const entry = await kv.get(PREFIX + id)
    const found = entry && approvalSchema.parse(entry.value)
    if (found?.status !== 'pending' || found.expiresAt > now()) return found
    const status = found.onTimeout === 'approve' ? 'approved' : 'expired'
    return change(id, (current) =>
      current.status === 'pending' ? { ...current, status, decidedAt: now() } : undefined,
    )
  }
  const change = async (id: string, next: (current: Approval) => Approval | undefined): Promise<Approval> => {
    let ends = false
    const value = await updateKv(kv, PREFIX + id, (current) => {
      if (current === undefined) throw new TriviumError('approval_not_found', { id })
      const before = approvalSchema.parse(current)
      const changed = next(before)
      ends = changed !== undefined && changed.status !== before.status
      return changed && { value: { ...changed }, ttl: changed.expiresAt + KEPT - now() }
    })
    const stands = approvalSchema.parse(value)
    if (ends) await deps.noted(stands.decidedBy ? 'approval_decided' : 'approval_expired', stands)
    return stands
  }
  return {
    load,
    /** Changes a request, unless `next` returns undefined. Throws `approval_not_found`. */
    change,
    /** Oldest first. */
    async all(prefix: string, id = ''): Promise<Approval[]> {
      const keys = await kv.list(prefix + id, 10_000)
      const found = await Promise.all(keys.map((key) => load(key.slice(prefix.length))))
      return found.filter((one) => one !== undefined).sort((a, b) => a.requestedAt - b.requestedAt)
    },
  }
}
