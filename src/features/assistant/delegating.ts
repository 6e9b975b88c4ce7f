import { type Call, goesOn } from '../../core/call.ts'
import { workerOf } from '../../core/delegation-words.ts'
import { reasonOf } from '../../core/errors.ts'
import { toJson } from '../../core/json.ts'
import type { ServiceOf } from '../../core/operation.ts'
import { viewerOf } from '../../core/viewer.ts'
import { type AssistantState, byId, type Change, isOpen, notThere, said } from './assistant-state.ts'
import type { AssistantContext } from './context.ts'
import { createDelegations } from './delegations.ts'
import type * as operations from './operations.ts'
import { createPeople } from './people.ts'
import type { TranscriptIndex } from './transcript-index.ts'
import { createWork, reportOf } from './work.ts'

const HINT = 'Say who should do what: delegate to ada: check the invoices.'
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
  const { load, viewer, index, world } = deps
  const work = createWork(deps)
  const { give, finish, finishAndTell } = work
  const personOf = createPeople(world, index)

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

  const askPerson = async (worker: string, task: string, call: Call) => {
    const person = await personOf(worker, call)
    const { one } = await give({ worker: person?.identity ?? worker, task, status: 'queued' }, call)
    const who = viewer(call).owner
    const text = `${who} asks you (${one.id}): ${task}\n\nReply with: done ${one.id}: the result`
    const reason = person && (await world.ask(person.whom, text, `ask:${one.id}:${one.time}`, call))
    if (person && reason === undefined)
      return { text: `Asked ${one.worker} (${one.id}). You will get the answer here.`, delegation: one }
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
        'Say which work is done: done delegation-2: all paid.',
      )
      const { owner, sees } = viewerOf(call, 'person')
      const one = byId((await load()).delegations, id)
      // Operators may see everything; the delegating person may end it too.
      if (one.worker !== owner && one.takenBy !== owner && !sees(one.owner ?? one.channel)) throw notThere(id)
      if (!isOpen(one)) return { text: `${id} is already ${one.status}.`, delegation: one }
      const done = await finishAndTell(id, said(result, `Add the result: done ${id}: all paid.`), false, call)
      return {
        text: `Recorded the result of ${id}${done.askedBy ? ' and sent it to the requester' : ''}.`,
        delegation: done,
      }
    },
  } satisfies Partial<ServiceOf<typeof operations.assistant>>

  return { assistant, delegations: createDelegations(deps, work) }
}
