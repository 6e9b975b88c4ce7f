import { askedBy } from '../../core/asked-by.ts'
import type { Call, Caller } from '../../core/call.ts'
import { channelOf } from '../../core/call.ts'
import { isOperator } from '../../core/identity.ts'
import type { Json } from '../../core/json.ts'
import { requireRoom } from '../../core/limits.ts'
import { textOf } from '../../core/skill.ts'
import type { viewerOf } from '../../core/viewer.ts'
import { defined } from '../../lib/defined.ts'
import { nextId } from '../../lib/next-id.ts'
import { type AssistantState, byId, type Change, isOpen, LIMITS, notFound } from './assistant-state.ts'
import type { AssistantContext } from './context.ts'
import type { Delegation } from './records.ts'

/** Maximum number of finished delegations that are kept. */
const MAX_FINISHED = 500

export type Work = ReturnType<typeof createWork>

/** Delegated work: from its creation to the report of its result. */
export function createWork(deps: {
  load(): Promise<AssistantState>
  change: Change
  viewer(call: Call): ReturnType<typeof viewerOf>
  context: Pick<AssistantContext, 'report'>
  time(): string
}) {
  const { load, change, viewer, context, time } = deps

  /** Creates a delegation. A retry of the same message returns the existing one. */
  const create = (work: Pick<Delegation, 'worker' | 'task' | 'status'>, call: Call) => {
    const channel = channelOf(call)
    const { owner } = viewer(call)
    const requester = askedBy(call)
    requireRoom(LIMITS.task, work.task)
    return change(
      (draft) => {
        const isSame = (one: Delegation) =>
          one.worker === work.worker && one.task === work.task && one.askedBy?.id === requester?.id
        const existing = requester && draft.delegations.find(isSame)
        if (existing) return { delegation: existing, isNew: false }
        const open = draft.delegations.filter(isOpen)
        requireRoom(LIMITS.openWork, open.length)
        if (!isOperator(call.caller))
          requireRoom(LIMITS.ownWork, open.filter((one) => one.owner === owner).length)
        const id = nextId(draft, 'delegation')
        const delegation: Delegation = {
          id,
          kind: 'task',
          ...work,
          channel,
          owner,
          time: time(),
          ...defined({ askedBy: requester }),
        }
        draft.delegations.push(delegation)
        return { delegation, isNew: true }
      },
      ({ delegation: { id, worker }, isNew }) =>
        isNew ? { event: 'work_delegated', channel, id, worker } : undefined,
    )
  }

  /** Records the result of work, unless it has one. Returns the current delegation. */
  const finish = (id: string, result: Json, failed: boolean) => {
    requireRoom(LIMITS.result, JSON.stringify(result))
    return change(
      (draft) => {
        const delegation = byId(draft.delegations, id)
        const isNew = isOpen(delegation)
        if (isNew) Object.assign(delegation, { status: failed ? 'failed' : 'done', finished: time(), result })
        // Dropped delegations remain in the event log.
        const finished = draft.delegations.filter((one) => !isOpen(one)).toSorted(byEnd)
        const dropped = new Set(finished.slice(0, -MAX_FINISHED))
        draft.delegations = draft.delegations.filter((one) => !dropped.has(one))
        return { delegation, isNew }
      },
      ({ delegation: { channel, worker }, isNew }) =>
        isNew ? { event: 'result_accepted', channel, id, worker, ok: !failed } : undefined,
    )
  }

  /**
   * Records a result and reports it to the requester, also if it was recorded before: the first
   * report may have been interrupted.
   */
  const finishAndReport = async (id: string, result: Json, failed: boolean, { caller }: Call) => {
    if (!mayReach(byId((await load()).delegations, id), caller)) throw notFound(id)
    const { delegation } = await finish(id, result, failed)
    if (delegation.askedBy) {
      const key = `delegation:${delegation.id}:${delegation.time}`
      const text = reportOf(delegation)
      await context.report(delegation.askedBy, { key, text, by: `delegation ${delegation.id}` })
    }
    return delegation
  }

  return { create, finish, finishAndReport }
}

/** Compares the times at which two delegations were finished. Older entries may not have one. */
function byEnd({ finished: a = '' }: Delegation, { finished: b = '' }: Delegation): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/**
 * Whether a caller may access work. A program limited to gateways may access the work that messages
 * of these gateways requested, and its own.
 */
export function mayReach({ askedBy: requester, owner }: Delegation, { gateways, id }: Caller): boolean {
  if (!gateways) return true
  return requester ? gateways.includes(requester.gateway) : owner === id
}

/** The result of work, as a text for its requester. */
export function reportOf({ id, worker, status, result = null }: Delegation): string {
  const text = textOf(result)
  const head = `${id} (${worker})`
  if (status === 'failed') return `${head} failed: ${text || 'no reason given'}`
  return text === '' ? `${head} is done.` : `${head}: ${text}`
}
