import type { JsonObject } from '../core/json.ts'
import type { DocumentSpec } from './document.ts'
import { refuseAfterHumanTouch } from './human-touch.ts'

/** `agent_state.json`: what the next session needs to go on. */
export type AgentState = {
  schema_version: number
  active_task_id: string | null
  touched_files: string[]
  assumptions: string[]
  risks: string[]
  next_action: string
  /** When a person last changed the file (ISO 8601); null: never. Agents wait five seconds after it. */
  last_human_touch: string | null
}

type TaskBase = {
  id: string
  title: string
  status: 'open' | 'claimed' | 'done'
  owner?: string
  result?: string
}

/** Something to make, with how to see that it is made. */
export type BuildTask = TaskBase & { kind: 'build'; acceptance: string[] }

/** Something to look at. */
export type ReviewTask = TaskBase & { kind: 'review'; target: string; reviewer?: string }

export type Task = BuildTask | ReviewTask

/** `task_board.json`. */
export type TaskBoard = {
  schema_version: number
  tasks: Task[]
  next_id: number
  last_human_touch: string | null
}

const text = { type: 'string' }
const line = { type: 'string', minLength: 1 }
const lines = { type: 'array', items: text }
const touch = { type: ['string', 'null'], format: 'date-time' }

/** Version 1 said `blockers` where version 2 says `risks`. */
export const agentStateDocument: DocumentSpec<AgentState> = {
  name: 'agent_state',
  version: 2,
  schema: {
    type: 'object',
    properties: {
      schema_version: { const: 2 },
      active_task_id: { type: ['string', 'null'] },
      touched_files: { ...lines, uniqueItems: true },
      assumptions: lines,
      risks: lines,
      next_action: text,
      last_human_touch: touch,
    },
    required: [
      'schema_version',
      'active_task_id',
      'touched_files',
      'assumptions',
      'risks',
      'next_action',
      'last_human_touch',
    ],
    additionalProperties: false,
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
  guard: refuseAfterHumanTouch('agent_state'),
}

const taskProperties = {
  id: line,
  title: line,
  status: { enum: ['open', 'claimed', 'done'] },
  owner: line,
  result: text,
}

/** Tasks of two kinds by `oneOf`, each with fields of its own. */
export const taskBoardDocument: DocumentSpec<TaskBoard> = {
  name: 'task_board',
  version: 1,
  schema: {
    type: 'object',
    properties: {
      schema_version: { const: 1 },
      tasks: {
        type: 'array',
        items: {
          type: 'object',
          discriminator: { propertyName: 'kind' },
          required: ['kind'],
          oneOf: [
            {
              properties: {
                ...taskProperties,
                kind: { const: 'build' },
                acceptance: { ...lines, minItems: 1 },
              },
              required: ['id', 'kind', 'title', 'status', 'acceptance'],
              additionalProperties: false,
            },
            {
              properties: { ...taskProperties, kind: { const: 'review' }, target: line, reviewer: line },
              required: ['id', 'kind', 'title', 'status', 'target'],
              additionalProperties: false,
            },
          ],
        },
      },
      next_id: { type: 'integer', minimum: 1 },
      last_human_touch: touch,
    },
    required: ['schema_version', 'tasks', 'next_id', 'last_human_touch'],
    additionalProperties: false,
  },
  initial: () => ({ schema_version: 1, tasks: [], next_id: 1, last_human_touch: null }),
  adopt: touched,
  guard: refuseAfterHumanTouch('task_board'),
}

function touched(document: { last_human_touch: string | null }, at: number): void {
  document.last_human_touch = new Date(at).toISOString()
}
