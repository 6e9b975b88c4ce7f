import { type Call, willResume } from '../../core/call.ts'
import { workerOf } from '../../core/delegation-words.ts'
import { reasonOf } from '../../core/errors.ts'
import { toJson } from '../../core/json.ts'
import type { ServiceOf } from '../../core/operation.ts'
import { viewerOf } from '../../core/viewer.ts'
import { type AssistantState, byId, type Change, isOpen, notFound, requireText } from './assistant-state.ts'
import type { AssistantContext } from './context.ts'
import { createDelegations } from './delegations.ts'
import type * as operations from './operations.ts'
import { createPeople } from './people.ts'
import type { TranscriptIndex } from './transcript-index.ts'
import { createWork, reportOf } from './work.ts'

const HINT = 'Say who should do what: delegate to ada: check the invoices.'
/** `delegation-2: all paid`, or `2: all paid`. */
const NUMBER_AND_RESULT = /^(?:delegation)?-?(\d+)\s*[:,.–-]?\s*(.*)$/s

/** Delegates work to skills, people and workers. */
export function createDelegating(deps: {
  load(): Promise<AssistantState>
  change: Change
  viewer(call: Call): ReturnType<typeof viewerOf>
  index: Pick<TranscriptIndex, 'lastMessage'>
  context: AssistantContext
  time(): string
}) {
  const { load, viewer, index, context } = deps
  const work = createWork(deps)
  const { create, finish, finishAndReport } = work
  const findPerson = createPeople(context, index)

  const runSkill = async (worker: string, task: string, call: Call) => {
    await context.requireAccess(worker, call)
    const { delegation } = await create({ worker, task, status: 'working' }, call)
    if (!isOpen(delegation)) return { text: reportOf(delegation), delegation }
    try {
      const result = toJson(await context.run(worker, { text: task }, call))
      const done = await finish(delegation.id, result, false)
      return { text: reportOf(done.delegation), delegation: done.delegation }
    } catch (error) {
      if (willResume(error, call)) throw error
      const failed = await finish(delegation.id, reasonOf(error), true)
      return { text: reportOf(failed.delegation), delegation: failed.delegation }
    }
  }

  const askPerson = async (worker: string, task: string, call: Call) => {
    const person = await findPerson(worker, call)
    const { delegation } = await create({ worker: person?.identity ?? worker, task, status: 'queued' }, call)
    const requester = viewer(call).owner
    const text = `${requester} asks you (${delegation.id}): ${task}\n\nReply with: done ${delegation.id}: the result`
    const key = `ask:${delegation.id}:${delegation.time}`
    const obstacle = person && (await context.ask(person.recipient, text, key, call))
    if (person && obstacle === undefined) {
      const asked = `Asked ${delegation.worker} (${delegation.id}). You will get the answer here.`
      return { text: asked, delegation }
    }
    // Without an address, the worker takes the work itself (`delegation-take`).
    const why = obstacle ? ` (${worker} cannot be asked: ${obstacle})` : ''
    return { text: `Delegated ${delegation.id} to ${worker}${why}.`, delegation }
  }

  const assistant = {
    async delegate({ text, worker: ofArgs }, call) {
      const { worker, task } = workerOf(text, ofArgs)
      requireText(task, HINT)
      return context.mayUse(worker, call) ? runSkill(worker, task, call) : askPerson(worker, task, call)
    },
    async 'work-done'({ text }, call) {
      const [, number, result = ''] = NUMBER_AND_RESULT.exec(text) ?? []
      const id = requireText(
        number === undefined ? '' : `delegation-${number}`,
        'Say which work is done: done delegation-2: all paid.',
      )
      const { owner, sees } = viewerOf(call, 'person')
      const one = byId((await load()).delegations, id)
      // Its requester may end it too, and so may operators, who see everything.
      const isWorker = one.worker === owner || one.takenBy === owner
      if (!isWorker && !sees(one.owner ?? one.channel)) throw notFound(id)
      if (!isOpen(one)) return { text: `${id} is already ${one.status}.`, delegation: one }
      const done = await finishAndReport(
        id,
        requireText(result, `Add the result: done ${id}: all paid.`),
        false,
        call,
      )
      return {
        text: `Recorded the result of ${id}${done.askedBy ? ' and sent it to the requester' : ''}.`,
        delegation: done,
      }
    },
  } satisfies Partial<ServiceOf<typeof operations.assistant>>

  return { assistant, delegations: createDelegations(deps, work) }
}
