import type { NewWorkbenchTask, WorkbenchTask, WorkbenchUpdate } from '../../core/assistant-services.ts'
import { TriviumError } from '../../core/errors.ts'
import { defined } from '../../lib/defined.ts'
import type { StateDocument } from '../documents/document.ts'
import type { Actor } from '../documents/spec.ts'
import type { AgentState, TaskBoard } from './documents.ts'

/** The state that agents and people share in a repository. */
export type Workbench = ReturnType<typeof createWorkbench>

/** Makes the workbench over its two documents; `WorkbenchService` says what each method does. */
export function createWorkbench(state: StateDocument<AgentState>, board: StateDocument<TaskBoard>) {
  const onBoard = async <T>(actor: Actor, change: (draft: TaskBoard) => T): Promise<T> =>
    (await board.update(change, { actor })).made

  return {
    async get() {
      const [agent, tasks] = await Promise.all([state.load(), board.load()])
      return { state: agent, board: tasks }
    },
    async update({ set = {}, add = {}, expect }: WorkbenchUpdate, actor: Actor) {
      const { document, revision } = await state.update(
        (draft) => {
          Object.assign(draft, set)
          for (const key of ['touched_files', 'assumptions', 'risks'] as const) {
            draft[key] = [...new Set([...draft[key], ...(add[key] ?? [])])]
          }
        },
        { actor, expect },
      )
      return { document, revision }
    },
    addTask: (args: NewWorkbenchTask, actor: Actor) =>
      onBoard(actor, (draft) => {
        const task: WorkbenchTask = { id: `task-${draft.next_id}`, status: 'open', ...args }
        draft.next_id += 1
        draft.tasks.push(task)
        return task
      }),
    claim: ({ id, owner: who }: { id?: string; owner?: string }, actor: Actor) =>
      onBoard(actor, (draft) => {
        const owner = who ?? actor.name
        const task =
          id === undefined ? draft.tasks.find(({ status }) => status === 'open') : taskOf(draft, id)
        if (!task) return null
        if (task.status !== 'open' && task.owner !== owner) throw notYours(task)
        if (task.status === 'open') Object.assign(task, { status: 'claimed', owner })
        return task
      }),
    finish: ({ id, owner, result }: { id: string; owner?: string; result?: string }, actor: Actor) =>
      onBoard(actor, (draft) => {
        const task = taskOf(draft, id)
        if (task.status === 'open' || task.owner !== (owner ?? actor.name)) throw notYours(task)
        if (task.status === 'claimed') Object.assign(task, { status: 'done' }, defined({ result }))
        return task
      }),
  }
}

function taskOf(board: TaskBoard, id: string): WorkbenchTask {
  const task = board.tasks.find((one) => one.id === id)
  if (!task) throw new TriviumError('not_found', { path: id })
  return task
}

function notYours(task: WorkbenchTask): TriviumError {
  const reason = task.owner === undefined ? 'claim it first' : `${task.owner} has it (${task.status})`
  return new TriviumError('forbidden', { what: `changing ${task.id}`, reason })
}
