import { TriviumError } from '../core/errors.ts'
import type { Actor, DocumentSpec, Snapshot } from './document.ts'
import type { StateManager } from './manager.ts'
import { updateWith } from './update-with.ts'
import {
  type AgentState,
  agentStateDocument,
  type BuildTask,
  type ReviewTask,
  type Task,
  type TaskBoard,
  taskBoardDocument,
} from './workbench-documents.ts'

/** The state that agents and people share in a repository. Agents' writes throw `state_human_touch` after a person's. */
export type Workbench = {
  /** Both documents, with their revisions for `expect`. */
  get(): Promise<{ state: Snapshot<AgentState>; board: Snapshot<TaskBoard> }>
  /**
   * Sets the given fields of the agent state; `add` appends to its lists what is not in them. With `expect` only at
   * that revision (`document_conflict`).
   */
  update(args: WorkbenchUpdate, actor: Actor): Promise<Snapshot<AgentState>>
  addTask(args: NewTask, actor: Actor): Promise<Task>
  /** Takes a task, the oldest open one without `id`. Null: none is open. Throws `not_found`, `forbidden` where another has it. */
  claim(args: { id?: string; owner: string }, actor: Actor): Promise<Task | null>
  /** Ends a task of its owner. The same again changes nothing. Throws `not_found`, `forbidden`. */
  finish(args: { id: string; owner: string; result?: string }, actor: Actor): Promise<Task>
}

type Fields = Omit<AgentState, 'schema_version' | 'last_human_touch'>

export type WorkbenchUpdate = {
  set?: Partial<Fields>
  add?: Partial<Pick<Fields, 'touched_files' | 'assumptions' | 'risks'>>
  expect?: number
}

export type NewTask =
  | Pick<BuildTask, 'kind' | 'title' | 'acceptance'>
  | Pick<ReviewTask, 'kind' | 'title' | 'target'>
  | Pick<Required<ReviewTask>, 'kind' | 'title' | 'target' | 'reviewer'>

export type WorkbenchDocuments = { agentState: DocumentSpec<AgentState>; taskBoard: DocumentSpec<TaskBoard> }

/** The documents as they ship. */
export const workbenchDocuments: WorkbenchDocuments = {
  agentState: agentStateDocument,
  taskBoard: taskBoardDocument,
}

/**
 * Makes the workbench over a manager that knows its documents: the shipped ones, or a project's own (see
 * `openWorkbench`). `now` is Unix ms.
 */
export function createWorkbench(
  manager: StateManager,
  now: () => number = Date.now,
  documents: WorkbenchDocuments = workbenchDocuments,
): Workbench {
  const state = manager.document(documents.agentState)
  const board = manager.document(documents.taskBoard)
  const touch = (document: { last_human_touch: string | null }, actor: Actor) => {
    if (actor.kind === 'human') document.last_human_touch = new Date(now()).toISOString()
  }
  const onBoard = <T>(actor: Actor, change: (draft: TaskBoard) => T): Promise<T> =>
    updateWith(
      board,
      (draft) => {
        const made = change(draft)
        touch(draft, actor)
        return made
      },
      { actor },
    )

  return {
    async get() {
      const [agent, tasks] = await Promise.all([state.load(), board.load()])
      return { state: agent, board: tasks }
    },
    async update({ set = {}, add = {}, expect }, actor) {
      const { document, revision } = await state.update(
        (draft) => {
          Object.assign(draft, set)
          for (const key of ['touched_files', 'assumptions', 'risks'] as const) {
            draft[key] = [...new Set([...draft[key], ...(add[key] ?? [])])]
          }
          touch(draft, actor)
        },
        { actor, ...(expect === undefined ? {} : { expect }) },
      )
      return { document, revision }
    },
    addTask: (args, actor) =>
      onBoard(actor, (draft) => {
        const task: Task = { id: `task-${draft.next_id}`, status: 'open', ...args }
        draft.next_id += 1
        draft.tasks.push(task)
        return { ...task }
      }),
    claim: ({ id, owner }, actor) =>
      onBoard(actor, (draft) => {
        const task =
          id === undefined ? draft.tasks.find(({ status }) => status === 'open') : taskOf(draft, id)
        if (!task) return null
        if (task.status !== 'open' && task.owner !== owner) throw notYours(task)
        if (task.status === 'open') Object.assign(task, { status: 'claimed', owner })
        return { ...task }
      }),
    finish: ({ id, owner, result }, actor) =>
      onBoard(actor, (draft) => {
        const task = taskOf(draft, id)
        if (task.status === 'open' || task.owner !== owner) throw notYours(task)
        if (task.status === 'claimed')
          Object.assign(task, { status: 'done', ...(result === undefined ? {} : { result }) })
        return { ...task }
      }),
  }
}

function taskOf(board: TaskBoard, id: string): Task {
  const task = board.tasks.find((one) => one.id === id)
  if (!task) throw new TriviumError('not_found', { path: id })
  return task
}

function notYours(task: Task): TriviumError {
  const reason = task.owner === undefined ? 'claim it first' : `${task.owner} has it (${task.status})`
  return new TriviumError('forbidden', { what: `changing ${task.id}`, reason })
}
