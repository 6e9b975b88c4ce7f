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
import { type AssistantState, byId, type Change, isOpen, LIMITS, notThere } from './assistant-state.ts'
import type { AssistantContext } from './context.ts'
import type { Delegation } from './records.ts'

const KEPT_FINISHED = 500

export type Work = ReturnType<typeof createWork>

/** Delegated work: from its creation to the report of its result. */
export function createWork(deps: {
  load(): Promise<AssistantState>
  change: Change
  viewer(call: Call): ReturnType<typeof viewerOf>
  world: Pick<AssistantContext, 'report'>
  time(): string
}) {
  const { load, change, viewer, world, time } = deps

  /** Creates a delegation. The same work of the same message, as in a retry, returns the existing one. */
  const give = (given: Pick<Delegation, 'worker' | 'task' | 'status'>, call: Call) => {
    const channel = channelOf(call)
    const { owner } = viewer(call)
    const asked = askedBy(call)
    requireRoom(LIMITS.task, given.task)
    return change(
      (draft) => {
        const isSame = (one: Delegation) =>
          one.worker === given.worker && one.task === given.task && one.askedBy?.id === asked?.id
        const standing = asked && draft.delegations.find(isSame)
        if (standing) return { one: standing, isNew: false }
        const open = draft.delegations.filter(isOpen)
        requireRoom(LIMITS.openWork, open.length)
        if (!isOperator(call.caller))
          requireRoom(LIMITS.ownWork, open.filter((one) => one.owner === owner).length)
        const id = nextId(draft, 'delegation')
        const one: Delegation = {
          id,
          kind: 'task',
          ...given,
          channel,
          owner,
          time: time(),
          ...defined({ askedBy: asked }),
        }
        draft.delegations.push(one)
        return { one, isNew: true }
      },
      ({ one: { id, worker }, isNew }) =>
        isNew ? { event: 'work_delegated', channel, id, worker } : undefined,
    )
  }

  /** Records the result of work, once; returns the current state. */
  const finish = (id: string, result: Json, failed: boolean) => {
    requireRoom(LIMITS.result, JSON.stringify(result))
    return change(
      (draft) => {
        const one = byId(draft.delegations, id)
        const isNew = isOpen(one)
        if (isNew) Object.assign(one, { status: failed ? 'failed' : 'done', finished: time(), result })
        // Dropped delegations stay in the event log.
        const finished = draft.delegations.filter((delegation) => !isOpen(delegation))
        const dropped = new Set(finished.slice(0, -KEPT_FINISHED))
        draft.delegations = draft.delegations.filter((delegation) => !dropped.has(delegation))
        return { one, isNew }
      },
      ({ one: { channel, worker }, isNew }) =>
        isNew ? { event: 'result_accepted', channel, id, worker, ok: !failed } : undefined,
    )
  }

  /** Reports even if the result was recorded before, as the first report may have been interrupted. */
  const finishAndTell = async (id: string, result: Json, failed: boolean, { caller }: Call) => {
    if (!mayReach(byId((await load()).delegations, id), caller)) throw notThere(id)
    const { one } = await finish(id, result, failed)
    if (one.askedBy) {
      const key = `delegation:${one.id}:${one.time}`
      await world.report(one.askedBy, { key, text: reportOf(one), by: `delegation ${one.id}` })
    }
    return one
  }

  return { give, finish, finishAndTell }
}

/** A program limited to some gateways can access work from their messages, and its own. */
export function mayReach({ askedBy: asked, owner }: Delegation, { gateways, id }: Caller): boolean {
  if (!gateways) return true
  return asked ? gateways.includes(asked.gateway) : owner === id
}

/** The result of work, for who asked for it. */
export function reportOf({ id, worker, status, result = null }: Delegation): string {
  const text = textOf(result)
  const head = `${id} (${worker})`
  if (status === 'failed') return `${head} failed: ${text || 'no reason given'}`
  return text === '' ? `${head} is done.` : `${head}: ${text}`
}
