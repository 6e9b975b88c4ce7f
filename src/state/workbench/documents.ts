import { z } from 'zod'
import { taskSchema, workbenchStateSchema } from '../../core/assistant-services.ts'
import { TriviumError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { type Actor, type DocumentSpec, jsonSchemaOf } from '../documents/spec.ts'

/** When a person last changed the document (ISO 8601); null: never. Agents wait five seconds after it. */
const last_human_touch = z.string().nullable().meta({ format: 'date-time' })

const agentStateSchema = workbenchStateSchema.extend({ schema_version: z.literal(2), last_human_touch })

/** `agent_state.json`. */
export type AgentState = z.infer<typeof agentStateSchema>

/** Tasks of two kinds by `oneOf`, each with fields of its own; `discriminator` makes errors speak of one kind. */
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

/** Version 1 said `blockers` where version 2 says `risks`. */
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
  adopt: touched,
  guard: refuseAfterHumanTouch,
}

export const taskBoardDocument: DocumentSpec<TaskBoard> = {
  name: 'task_board',
  version: 1,
  get schema() {
    return jsonSchemaOf(taskBoardSchema)
  },
  initial: () => ({ schema_version: 1, tasks: [], next_id: 1, last_human_touch: null }),
  adopt: touched,
  guard: refuseAfterHumanTouch,
}

function touched(document: { last_human_touch: string | null }, at: number): void {
  document.last_human_touch = new Date(at).toISOString()
}

/** How long agents stay away from what a person edited, in ms. */
const HUMAN_GRACE = 5000

/** Refuses an agent's write soon after a person's edit (`state_human_touch`). People and the system may always write. */
function refuseAfterHumanTouch(
  { last_human_touch }: { last_human_touch: string | null },
  { name, actor, now }: { name: string; actor: Actor; now: number },
): void {
  if (actor.kind !== 'agent' || last_human_touch === null) return
  const age = now - Date.parse(last_human_touch)
  // A time in the future is a clock that was wrong, not an edit.
  if (age >= HUMAN_GRACE || age < -HUMAN_GRACE) return
  const seconds = Math.max(0, age / 1000).toFixed(1)
  throw new TriviumError('state_human_touch', { name, seconds, grace: HUMAN_GRACE / 1000 })
}
