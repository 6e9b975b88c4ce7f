import { allKeys } from '../../core/all-keys.ts'
import { type Approval, approvalSchema } from '../../core/approval.ts'
import { TriviumError } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { createRecordReader } from '../../core/record-reader.ts'
import type { KeyValues } from '../../core/store.ts'
import { withUnknownFields } from '../../core/stored-entries.ts'
import { DAY } from '../../core/units.ts'
import { updateKv } from '../../core/update-kv.ts'

/** Key prefix of the requests, by id. */
export const REQUEST_PREFIX = 'approval:'
/**
 * Key prefix of an index, so that a sweep does not read every past request: the index has the
 * requests that are pending, or whose invocation has not resumed yet.
 */
export const OPEN_PREFIX = 'approval-open:'
/** How long a request is kept after its expiry, whether it was decided or not. */
export const RETENTION_MS = 7 * DAY

export type ApprovalEvent = 'approval_required' | 'approval_decided' | 'approval_expired'

/** Stores approval requests. `onEvent` is called once for each decision and each expiry. */
export function createApprovalRecords(deps: {
  kv: KeyValues
  onEvent(event: ApprovalEvent, approval: Approval): Promise<void>
  log: Pick<Log, 'warn'>
  now: () => number
}) {
  const { kv, now } = deps
  const records = createRecordReader('approvals', approvalSchema, deps.log)

  const load = async (id: string): Promise<Approval | undefined> => {
    const key = REQUEST_PREFIX + id
    const entry = await kv.get(key)
    return entry && settle(records.require(key, entry.value))
  }

  /** Gives an overdue request the outcome of its `onTimeout`. */
  const settle = async (found: Approval): Promise<Approval> => {
    const { id } = found
    if (found.status !== 'pending' || found.expiresAt > now()) return found
    const status = found.onTimeout === 'approve' ? 'approved' : 'expired'
    return change(id, (current) =>
      current.status === 'pending' ? { ...current, status, decidedAt: now() } : undefined,
    )
  }

  const change = async (id: string, next: (current: Approval) => Approval | undefined): Promise<Approval> => {
    let hasNewStatus = false
    const key = REQUEST_PREFIX + id
    const value = await updateKv(kv, key, (stored) => {
      if (stored === undefined) throw new TriviumError('approval_not_found', { id })
      const before = records.require(key, stored)
      const after = next(before)
      hasNewStatus = after !== undefined && after.status !== before.status
      if (!after) return undefined
      return { value: withUnknownFields(after, stored, before), ttl: after.expiresAt + RETENTION_MS - now() }
    })
    if (value === undefined) throw new TriviumError('approval_not_found', { id })
    const approval = records.require(key, value)
    // A request that timed out has no decider.
    const event = approval.decidedBy ? 'approval_decided' : 'approval_expired'
    if (hasNewStatus) await deps.onEvent(event, approval)
    return approval
  }

  return {
    /** Reads a request. If it is overdue, it first gets the outcome of its `onTimeout`. */
    load,
    /** Changes a request, unless `next` returns undefined. Throws `approval_not_found`. */
    change,
    /** The readable requests under a key prefix whose id starts with `id`, oldest first. */
    async all(prefix: string, id = ''): Promise<Approval[]> {
      const keys = await allKeys(kv, prefix + id)
      const readOne = async (indexKey: string) => {
        const key = REQUEST_PREFIX + indexKey.slice(prefix.length)
        const readable = records.read(key, (await kv.get(key))?.value)
        return readable && settle(readable)
      }
      const found = await Promise.all(keys.map(readOne))
      return found.filter((approval) => approval !== undefined).sort((a, b) => a.requestedAt - b.requestedAt)
    },
  }
}
