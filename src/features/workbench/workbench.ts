import { z } from 'zod'
import type { Call } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import type { ServiceOf } from '../../core/operation.ts'
import { defined } from '../../lib/defined.ts'
import type { StateDocument } from '../documents/document.ts'
import { jsonSchemaOf } from '../documents/document-schema.ts'
import type { Actor, DocumentSpec } from '../documents/spec.ts'
import type * as operations from './operations.ts'
import { taskSchema, type WorkbenchTask, workbenchStateSchema } from './records.ts'

/** State that agents and people share in a repository. */
export type Workbench = ReturnType<typeof createWorkbench>

type Documents = { state: StateDocument<AgentState>; board: StateDocument<TaskBoard> }

/** The author of a write. The skills of a call write as agents. */
type By = Actor | Call

/** Makes the workbench on its two documents. `using` opens them for each operation. */
export function createWorkbench(using: <T>(work: (documents: Documents) => Promise<T>) => Promise<T>) {
  /** Changes only the board. */
  const onBoard = <T>(by: By, change: (draft: TaskBoard, actor: Actor) => T): Promise<T> => {
    const actor = actorOf(by)
    return using(async ({ board }) => (await board.update((draft) => change(draft, actor), { actor })).made)
  }

  /** Changes one task, and updates the active task in the state. */
  const onTask = async <T extends WorkbenchTask | null>(
    by: By,
    change: (draft: TaskBoard, actor: Actor) => T,
  ): Promise<T> => {
    const actor = actorOf(by)
    return using(async ({ state, board }) => {
      // After a recent edit of the state by a person, an agent may change neither document.
      if (actor.kind === 'agent') await state.update(() => undefined, { actor })
      const { made: task } = await board.update((draft) => change(draft, actor), { actor })
      if (task) await state.update((draft) => setActive(draft, task), { actor })
      return task
    })
  }

  return {
    get: () =>
      using(async ({ state, board }) => {
        const [agent, tasks] = await Promise.all([state.load(), board.load()])
        return { state: agent, board: tasks }
      }),
    update: (
      { set = {}, add = {}, remove = {}, unset = [], expect }: z.input<typeof operations.workbench.update>,
      by: By,
    ) =>
      using(async ({ state }) => {
        const { document, revision } = await state.update(
          (draft) => {
            clear(draft, unset)
            Object.assign(draft, set)
            for (const key of ['touched_files', 'assumptions', 'risks'] as const) {
              const removed = remove[key] ?? []
              if (add[key] === undefined && removed.length === 0) continue
              const lines = [...(draft[key] ?? []), ...(add[key] ?? [])]
              draft[key] = [...new Set(lines.filter((line) => !removed.includes(line)))]
            }
          },
          { actor: actorOf(by), expect },
        )
        return { document, revision }
      }),
    add: (args, by: By) =>
      onBoard(by, (draft) => {
        const task: WorkbenchTask = { id: `task-${draft.next_id}`, status: 'open', ...contentOf(args) }
        draft.next_id += 1
        draft.tasks.push(task)
        return task
      }),
    claim: ({ id, owner: requestedOwner }, by: By) =>
      onTask(by, (draft, actor) => {
        const owner = requestedOwner ?? actor.name
        const task =
          id === undefined ? draft.tasks.find(({ status }) => status === 'open') : taskOf(draft, id)
        if (!task) return null
        if (task.status !== 'open' && task.owner !== owner) throw notOwned(task)
        if (task.status === 'open') Object.assign(task, { status: 'claimed', owner })
        return task
      }),
    finish: ({ id, owner, result }, by: By) =>
      onTask(by, (draft, actor) => {
        const task = taskOf(draft, id)
        if (task.status === 'open' || task.owner !== (owner ?? actor.name)) throw notOwned(task)
        if (task.status === 'claimed') Object.assign(task, { status: 'done' }, defined({ result }))
        return task
      }),
  } satisfies ServiceOf<typeof operations.workbench & typeof operations.tasks>
}

/** Updates `active_task_id`, unless the project's own schema omits the field. */
function setActive(draft: AgentState, { id, status }: WorkbenchTask): void {
  if (!('active_task_id' in draft)) return
  if (status === 'claimed') draft.active_task_id = id
  else if (draft.active_task_id === id) draft.active_task_id = null
}

/** Fields that only Trivium writes. */
const OWN_FIELDS = ['schema_version', 'last_human_touch']

/** Removes fields. Standard fields become empty instead. Throws `usage`. */
function clear(draft: AgentState, fields: readonly string[]): void {
  const empty: JsonObject = agentStateDocument.initial()
  for (const field of fields) {
    if (OWN_FIELDS.includes(field))
      throw new TriviumError('usage', { details: `${field} is written by Trivium and cannot be deleted.` })
    if (Object.hasOwn(empty, field)) Object.assign(draft, { [field]: empty[field] })
    else Reflect.deleteProperty(draft, field)
  }
}

/** The author of a write, by name if known. */
function actorOf(by: By): Actor {
  if (!('caller' in by)) return by
  const { caller, message } = by
  return { kind: 'agent', name: caller.id ?? message?.from.address ?? message?.from.id ?? caller.kind }
}

/** The fields of a new task. Throws `usage` for a review without a target. */
function contentOf({ kind, title, acceptance, target, ...review }: z.infer<typeof operations.tasks.add>) {
  if (kind === 'build') return { kind, title, acceptance }
  if (target === undefined) throw new TriviumError('usage', { details: 'A review needs a target.' })
  return { kind, title, target, ...review }
}

function taskOf(board: TaskBoard, id: string): WorkbenchTask {
  const task = board.tasks.find((one) => one.id === id)
  if (!task) throw new TriviumError('not_found', { path: `task ${id}` })
  return task
}

function notOwned(task: WorkbenchTask): TriviumError {
  const reason = task.owner === undefined ? 'claim it first' : `${task.owner} has it (${task.status})`
  return new TriviumError('forbidden', { what: `changing ${task.id}`, reason })
}

/**
 * Time of the last edit by a person (ISO 8601), or null. Agents must wait five seconds after it.
 */
const last_human_touch = z.string().nullable().meta({ format: 'date-time' })

const agentStateSchema = workbenchStateSchema.extend({ schema_version: z.literal(2), last_human_touch })

/** `agent_state.json`. */
export type AgentState = z.infer<typeof agentStateSchema>

/**
 * Tasks of two kinds, each with its own fields. `discriminator` limits errors to the given kind.
 */
const taskBoardSchema = z.strictObject({
  schema_version: z.literal(1),
  tasks: z.array(
    taskSchema.meta({ type: 'object', discriminator: { propertyName: 'kind' }, required: ['kind'] }),
  ),
  next_id: z.int().min(1),
  last_human_touch,
})

/** `task_board.json`. */
export type TaskBoard = z.infer<typeof taskBoardSchema>

/** How long (ms) agents must wait after a person's edit. */
const HUMAN_GRACE = 5_000

/**
 * Records a person's edit, and refuses writes of agents shortly after it (`state_human_touch`).
 * People and the system may always write.
 */
const edits: Pick<DocumentSpec<JsonObject & { last_human_touch: string | null }>, 'adopt' | 'guard'> = {
  adopt(document, at) {
    document.last_human_touch = new Date(at).toISOString()
  },
  guard({ last_human_touch }, { name, actor, now }) {
    if (actor.kind !== 'agent' || last_human_touch === null) return
    const age = now - Date.parse(last_human_touch)
    // A time in the future comes from a wrong clock.
    if (age >= HUMAN_GRACE || age < -HUMAN_GRACE) return
    const seconds = Math.max(0, age / 1000).toFixed(1)
    throw new TriviumError('state_human_touch', { name, seconds, grace: HUMAN_GRACE / 1000 })
  },
}

/** The state of the work. Version 1 had `blockers` instead of `risks`. */
export const agentStateDocument: DocumentSpec<AgentState> = {
  name: 'agent_state',
  version: 2,
  get schema() {
    return jsonSchemaOf(agentStateSchema)
  },
  migrations: {
    1: ({ blockers, ...rest }: JsonObject) => ({ last_human_touch: null, ...rest, risks: blockers ?? [] }),
  },
  initial: () => ({
    schema_version: 2,
    active_task_id: null,
    touched_files: [],
    assumptions: [],
    risks: [],
    next_action: '',
    last_human_touch: null,
  }),
  ...edits,
}

export const taskBoardDocument: DocumentSpec<TaskBoard> = {
  name: 'task_board',
  version: 1,
  get schema() {
    return jsonSchemaOf(taskBoardSchema)
  },
  initial: () => ({ schema_version: 1, tasks: [], next_id: 1, last_human_touch: null }),
  ...edits,
}
