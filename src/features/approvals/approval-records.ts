import { allKeys } from '../../core/all-keys.ts'
import { type Approval, approvalSchema } from '../../core/approval.ts'
import { TriviumError } from '../../core/errors.ts'
import type { KeyValues } from '../../core/store.ts'
import { withUnknownFields } from '../../core/stored-entries.ts'
import { DAY } from '../../core/units.ts'
import { updateKv } from '../../core/update-kv.ts'

/** Key prefix of the requests, by id. */
export const REQUEST_PREFIX = 'approval:'
/**
 * Key prefix of an index of the requests that are pending, or whose invocation has not resumed yet. A
 * sweep reads only these, not every past request.
 */
export const OPEN_PREFIX = 'approval-open:'
/** How long a request is kept after its expiry, whether it was decided or not. */
export const RETENTION_MS = 7 * DAY

export type ApprovalEvent = 'approval_required' | 'approval_decided' | 'approval_expired'

/** Stores approval requests. `onEvent` is called once for each decision and each expiry. */
export function createApprovalRecords(deps: {
  kv: KeyValues
  onEvent(event: ApprovalEvent, approval: Approval): Promise<void>
  now: () => number
}) {
  const { kv, now } = deps

  const load = async (id: string): Promise<Approval | undefined> => {
    const entry = await kv.get(REQUEST_PREFIX + id)
    const found = entry && approvalSchema.parse(entry.value)
    if (found?.status !== 'pending' || found.expiresAt > now()) return found
    const status = found.onTimeout === 'approve' ? 'approved' : 'expired'
    return change(id, (current) =>
      current.status === 'pending' ? { ...current, status, decidedAt: now() } : undefined,
    )
  }

  const change = async (id: string, next: (current: Approval) => Approval | undefined): Promise<Approval> => {
    let hasNewStatus = false
    const value = await updateKv(kv, REQUEST_PREFIX + id, (stored) => {
      if (stored === undefined) throw new TriviumError('approval_not_found', { id })
      const before = approvalSchema.parse(stored)
      const after = next(before)
      hasNewStatus = after !== undefined && after.status !== before.status
      if (!after) return undefined
      return { value: withUnknownFields(after, stored, before), ttl: after.expiresAt + RETENTION_MS - now() }
    })
    const approval = approvalSchema.parse(value)
    // An expired request has no decider.
    const event = approval.decidedBy ? 'approval_decided' : 'approval_expired'
    if (hasNewStatus) await deps.onEvent(event, approval)
    return approval
  }

  return {
    /** Reads a request. One that is overdue first gets the outcome of its `onTimeout`. */
    load,
    /** Changes a request, unless `next` returns undefined. Throws `approval_not_found`. */
    change,
    /** The requests under a key prefix whose id starts with `id`, oldest first. */
    async all(prefix: string, id = ''): Promise<Approval[]> {
      const keys = await allKeys(kv, prefix + id)
      const found = await Promise.all(keys.map((key) => load(key.slice(prefix.length))))
      return found.filter((approval) => approval !== undefined).sort((a, b) => a.requestedAt - b.requestedAt)
    },
  }
}
