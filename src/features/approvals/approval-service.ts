import { createHash } from 'node:crypto'
import type { Approval, ApprovalService } from '../../core/approval.ts'
import { viaOf } from '../../core/audit.ts'
import { authorOf, shownAuthor } from '../../core/author.ts'
import type { Call, Caller } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { compileMember, isOperator } from '../../core/identity.ts'
import type { Log } from '../../core/log.ts'
import type { Store } from '../../core/store.ts'
import { comparisonIn } from '../../lib/amounts.ts'
import { argumentsText } from '../../lib/arguments-in-words.ts'
import { defined } from '../../lib/defined.ts'
import { dayAndTime } from '../../lib/utc-time.ts'
import { waitFor } from '../../lib/wait-for.ts'
import { abortError } from '../../runtime/bounded.ts'
import {
  type ApprovalEvent,
  createApprovalRecords,
  OPEN_PREFIX,
  REQUEST_PREFIX,
  RETENTION_MS,
} from './approval-records.ts'

export type ApprovalDeps = {
  store: Pick<Store, 'kv' | 'onSignal'>
  /**
   * Dispatches the message of a parked invocation again. It must be idempotent: daemons that sweep
   * at the same time both call it.
   */
  resume(approval: Approval): Promise<void>
  /** Called once for each step of a request. Must not throw. */
  onEvent(event: ApprovalEvent, approval: Approval): Promise<void>
  log: Pick<Log, 'warn'>
  now: () => number
}

/** Approval requests in the message store. */
export function createApprovalService(deps: ApprovalDeps) {
  const { now } = deps
  const { kv, onSignal } = deps.store
  const { load, change, all } = createApprovalRecords({ ...deps, kv })

  /** Resumes the invocation of a decided request, unless that has already been done. */
  const resumeDecided = async (approval: Approval): Promise<void> => {
    if (approval.status === 'pending' || !(await kv.get(OPEN_PREFIX + approval.id))) return
    if (approval.message) await deps.resume(approval)
    await kv.delete(OPEN_PREFIX + approval.id)
  }

  return {
    async request(request) {
      const id = createHash('sha256').update(request.key).digest('hex').slice(0, 16)
      const existing = await load(id)
      if (existing) return existing
      const requestedAt = now()
      const expiresAt = requestedAt + request.timeout
      const created: Approval = { ...request, id, status: 'pending', requestedAt, expiresAt }
      const ttl = request.timeout + RETENTION_MS
      // The index entry comes first: without its request, after a crash, it is harmless.
      await kv.set(OPEN_PREFIX + id, id, { ttl })
      const version = await kv.set(REQUEST_PREFIX + id, { ...created }, { ifVersion: 0, ttl })
      // A concurrent call has just made the same request. `change` reads it.
      if (version === undefined) return change(id, () => undefined)
      await deps.onEvent('approval_required', created)
      return created
    },

    async decide({ id, approve, reason }, call) {
      const found = await load(id)
      if (!found) throw new TriviumError('approval_not_found', { id })
      requireRight(found, call)
      const status: Approval['status'] = approve ? 'approved' : 'denied'
      let repeated = false
      const decided = await change(id, (current) => {
        repeated = current.status === status
        if (repeated) return undefined
        requirePending(current)
        return { ...current, status, decidedAt: now(), ...deciderOf(call), ...defined({ reason }) }
      })
      await resumeDecided(decided)
      return repeated ? { ...decided, repeated } : decided
    },

    async list({ limit, ...wanted }) {
      const found = await all(wanted.status === 'pending' ? OPEN_PREFIX : REQUEST_PREFIX, wanted.id ?? '')
      return limited(
        found.filter((one) => isWanted(one, wanted)),
        limit,
      )
    },

    async wait(id, timeout, signal) {
      const decided = await waitFor({
        attempt: async () => {
          const current = await load(id)
          if (!current) throw new TriviumError('approval_not_found', { id })
          return current.status === 'pending' ? { retryIn: current.expiresAt - now() } : { value: current }
        },
        watch: (wake) => onSignal(`kv:${REQUEST_PREFIX}${id}`, wake),
        timeout,
        signal,
      })
      if (!decided && signal.aborted) throw abortError(signal, `Waiting for approval ${id}`)
      return decided
    },

    ran: async (id, run) => void (await change(id, (current) => ({ ...current, run }))),

    /**
     * Expires overdue requests, and resumes invocations that a crash left parked. Call it every few
     * seconds.
     */
    async sweep() {
      await forEach(await all(OPEN_PREFIX), resumeDecided)
    },
  } satisfies ApprovalService & Record<'sweep', unknown>
}

type Wanted = Omit<Parameters<ApprovalService['list']>[0], 'limit'>

function isWanted(
  one: Approval,
  { id, status, text, before, since = 0, until = Number.POSITIVE_INFINITY }: Wanted,
): boolean {
  const at = lastChangeOf(one)
  if ((id && one.id !== id) || (status && !hasStatus(one, status))) return false
  if (before !== undefined && !isBefore(one, before)) return false
  return at >= since && at < until && (text === undefined || hasText(one, text))
}

function hasStatus({ status }: Approval, wanted: NonNullable<Wanted['status']>): boolean {
  return wanted === 'decided' ? status !== 'pending' : status === wanted
}

/** Whether a decision comes after that at `place` ("time/id") in the order of `byNewestDecision`. */
function isBefore(one: Approval, place: string): boolean {
  if (one.status === 'pending') return false
  const [at = '', id = ''] = place.split('/')
  const difference = lastChangeOf(one) - Number(at)
  return difference < 0 || (difference === 0 && one.id < id)
}

/** Whether a request has a text in what people see of it (case is ignored), or an amount as in `amount<50`. */
function hasText(approval: Approval, text: string): boolean {
  const holds = comparisonIn(text)
  if (holds) return holds(approval.args)
  const { id, title, args, skill, route, by, reason, decidedBy, message } = approval
  const seen = [id, title, argumentsText(args), skill, route, by, reason, message?.conversation]
  const decider = decidedBy === undefined ? undefined : shownAuthor(decidedBy)
  return [...seen, decider].some((part) => part?.toLowerCase().includes(text.toLowerCase()))
}

/** Up to `limit` requests in their order: the oldest pending ones, then those decided last. */
function limited(requests: readonly Approval[], limit: number): Approval[] {
  const pending = requests.filter(({ status }) => status === 'pending').slice(0, limit)
  const decided = requests.filter(({ status }) => status !== 'pending').toSorted(byNewestDecision)
  const chosen = new Set([...pending, ...decided.slice(0, limit - pending.length)])
  return requests.filter((one) => chosen.has(one))
}

function byNewestDecision(a: Approval, b: Approval): number {
  return lastChangeOf(b) - lastChangeOf(a) || (a.id < b.id ? 1 : -1)
}

/** When (Unix ms) a request was decided or expired, or if pending requested. */
function lastChangeOf({ status, requestedAt, decidedAt, expiresAt }: Approval): number {
  return status === 'pending' ? requestedAt : (decidedAt ?? expiresAt)
}

/** Calls `work` for each item, one after the other. Throws the first error after the last one. */
async function forEach<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const errors: unknown[] = []
  for (const item of items) await work(item).catch((error: unknown) => errors.push(error))
  if (errors.length > 0) throw errors[0]
}

/** Operators may decide every request; others only if they are verified and among its approvers. */
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

function requirePending(approval: Approval): void {
  const { id, status } = approval
  if (status !== 'pending')
    throw new TriviumError('approval_decided', { id, status, by: whoDecided(approval) })
}

/** ` by Ada, 2026-11-28 02:51 UTC`; a request that timed out has no decider. */
function whoDecided({ decidedBy, decidedAt }: Approval): string {
  if (decidedBy === undefined || decidedAt === undefined) return ''
  return ` by ${shownAuthor(decidedBy)}, ${dayAndTime(decidedAt)}`
}

function deciderOf({ caller }: Pick<Call, 'caller'>) {
  return { decidedBy: authorOf(caller), decidedVia: viaOf(caller) }
}
