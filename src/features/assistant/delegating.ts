import { askedBy, channelOf, type Delegation, workerOf } from '../../core/assistant-services.ts'
import { type Call, type Caller, goesOn } from '../../core/call.ts'
import { reasonOf } from '../../core/errors.ts'
import { identityOf, isOperator, partsOf } from '../../core/identity.ts'
import { type Json, toJson } from '../../core/json.ts'
import { requireRoom } from '../../core/limits.ts'
import type { Services } from '../../core/services.ts'
import { textOf } from '../../core/skill.ts'
import { viewerOf } from '../../core/viewer.ts'
import { defined } from '../../lib/defined.ts'
import { nextId } from '../../lib/next-id.ts'
import { type AssistantState, byId, type Change, isOpen, LIMITS, notThere, said } from './assistant-state.ts'
import type { AssistantContext } from './context.ts'
import type { TranscriptIndex } from './transcript-index.ts'

const KEPT_FINISHED = 500
const HINT = 'Say what is to be done, and by whom: delegate to ada: check the invoices.'
const NAMED = /^(?:delegation)?-?(\d+)\s*[:,.–-]?\s*(.*)$/s

/** Delegates work to skills, people and workers. */
export function createDelegating(deps: {
  load(): Promise<AssistantState>
  change: Change
  viewer(call: Call): ReturnType<typeof viewerOf>
  index: Pick<TranscriptIndex, 'lastMessage'>
  world: AssistantContext
  time(): string
}) {
  const { load, change, viewer, index, world, time } = deps

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

  const runSkill = async (worker: string, task: string, call: Call) => {
    await world.permit(worker, call)
    const { one } = await give({ worker, task, status: 'working' }, call)
    if (!isOpen(one)) return { text: reportOf(one), delegation: one }
    try {
      const result = toJson(await world.run(worker, { text: task }, call))
      const done = await finish(one.id, result, false)
      return { text: reportOf(done.one), delegation: done.one }
    } catch (error) {
      if (goesOn(error, call)) throw error
      const failed = await finish(one.id, reasonOf(error), true)
      return { text: reportOf(failed.one), delegation: failed.one }
    }
  }

  /** Resolves a person: `gateway:identity`, an address, or a name on the call's gateway. Undefined if unknown. */
  const personOf = async (named: string, call: Call) => {
    const { gateway: given, name } = partsOf(named)
    const gateway = given || call.message?.gateway || ''
    const transport = world.transportOf(gateway)
    if (transport === undefined) return undefined
    const identity = `${gateway}:${name}`
    const last = await index.lastMessage(gateway, name)
    const message = last === undefined ? undefined : await world.message(last)
    // Unverified claims to be this person do not count.
    if (message && identityOf(message) === identity) return { identity, whom: { message } }
    const isAddress = transport === 'email' ? name.includes('@') : transport === 'slack' && given !== ''
    return isAddress ? { identity, whom: { gateway, to: name } } : undefined
  }

  const askPerson = async (worker: string, task: string, call: Call) => {
    const person = await personOf(worker, call)
    const { one } = await give({ worker: person?.identity ?? worker, task, status: 'queued' }, call)
    const who = viewer(call).owner
    const text = `${who} asks you (${one.id}): ${task}\n\nAnswer with: done ${one.id}: what came of it`
    const reason = person && (await world.ask(person.whom, text, `ask:${one.id}:${one.time}`, call))
    if (person && reason === undefined)
      return { text: `Asked ${one.worker} (${one.id}). You get the answer here.`, delegation: one }
    const why = reason ? ` (${worker} cannot be asked: ${reason})` : ''
    return { text: `Delegated ${one.id} to ${worker}${why}.`, delegation: one }
  }

  const assistant = {
    async delegate({ text, worker: given }, call) {
      const { worker, task } = workerOf(text, given)
      said(task, HINT)
      return world.isFor(worker, call) ? runSkill(worker, task, call) : askPerson(worker, task, call)
    },
    async 'work-done'({ text }, call) {
      const [, number, result = ''] = NAMED.exec(text) ?? []
      const id = said(
        number === undefined ? '' : `delegation-${number}`,
        'Say which work: done delegation-2: all paid.',
      )
      const { owner, sees } = viewerOf(call, 'person')
      const one = byId((await load()).delegations, id)
      // Operators may see everything; the delegating person may end it too.
      if (one.worker !== owner && one.takenBy !== owner && !sees(one.owner ?? one.channel)) throw notThere(id)
      if (!isOpen(one)) return { text: `${id} was ${one.status} before.`, delegation: one }
      const done = await finishAndTell(
        id,
        said(result, `Say what came of it: done ${id}: all paid.`),
        false,
        call,
      )
      return {
        text: `Noted what came of ${id}${done.askedBy ? ', and told who asked' : ''}.`,
        delegation: done,
      }
    },
  } satisfies Partial<Services['assistant']>

  const delegations = {
    async list({ status, worker }, call) {
      const { owner: who, sees } = viewer(call)
      return (await load()).delegations.filter(
        (one) =>
          mayReach(one, call.caller) &&
          (sees(one.owner ?? one.channel) || one.worker === who || one.takenBy === who) &&
          (status === undefined || one.status === status) &&
          (worker === undefined || one.worker === worker),
      )
    },
    take({ worker, by: name }, call) {
      const by = name ?? call.caller.id ?? worker
      return change(
        (draft) => {
          const next = draft.delegations.find(
            (one) => one.worker === worker && one.status === 'queued' && mayReach(one, call.caller),
          )
          return next ? Object.assign(next, { status: 'working' as const, takenBy: by }) : null
        },
        (next) =>
          next ? { event: 'work_taken', channel: next.channel, id: next.id, worker, by } : undefined,
      )
    },
    accept: ({ id, result, failed }, call) => finishAndTell(id, result, failed, call),
  } satisfies Services['delegations']

  return { assistant, delegations }
}

/** A program limited to some gateways can access work from their messages, and its own. */
function mayReach({ askedBy: asked, owner }: Delegation, { gateways, id }: Caller): boolean {
  if (!gateways) return true
  return asked ? gateways.includes(asked.gateway) : owner === id
}

function reportOf({ id, worker, status, result = null }: Delegation): string {
  const text = textOf(result)
  const head = `${id} (${worker})`
  if (status === 'failed') return `${head} failed: ${text || 'nobody said why'}`
  return text === '' ? `${head} is done.` : `${head}: ${text}`
}
