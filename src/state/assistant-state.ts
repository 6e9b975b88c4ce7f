import type { Json, JsonObject } from '../core/json.ts'
import type { DocumentSpec } from './document.ts'

export type Note = { id: string; text: string; channel: string; time: string }

/** `score`: higher is better, comparable within one search. */
export type SearchResult = {
  source: 'note' | 'message'
  ref: string
  text: string
  channel: string
  score: number
}

export type Search = { id: string; query: string; channel: string; time: string; results: SearchResult[] }

/** Work given to somebody else. `digest`: a summary that a worker writes. */
export type Delegation = {
  id: string
  kind: 'task' | 'digest'
  worker: string
  task: string
  channel: string
  status: 'queued' | 'working' | 'done' | 'failed'
  time: string
  takenBy?: string
  finished?: string
  result?: Json
}

/** `skip`: what was missed is gone. `once`: the newest missed time fires. `within: ms`: only while it is that young. */
export type Misfire = 'skip' | 'once' | { within: number }

export type Schedule = {
  id: string
  name: string
  /** Cron (5 or 6 fields) in `timezone`, or an interval in ms from `created`. */
  cron?: string
  every?: number
  timezone: string
  misfire: Misfire
  skill: string
  args: JsonObject
  channel: string
  created: string
  /** Who made it by a message, with the roles of then: the skill runs for them. Absent: an operator. */
  by?: { id: string; roles: string[] }
}

/** The content of `state.json`. */
export type AssistantState = {
  schema_version: number
  assistant_name: string
  memory: Note[]
  searches: Search[]
  delegations: Delegation[]
  schedules: Schedule[]
  /** The number that the next one of each kind gets. */
  next_ids: { [kind: string]: number }
  /** What an older file held that this version does not know. */
  extra?: JsonObject
}

const text = { type: 'string' }
const time = { type: 'string', format: 'date-time' }

const record = (properties: JsonObject, optional: string[] = []): JsonObject => ({
  type: 'object',
  properties,
  required: Object.keys(properties).filter((key) => !optional.includes(key)),
  additionalProperties: false,
})

/** The document `state`, bootstrapped empty. Version 0 is a file of the same shape without `schema_version`. */
export const assistantDocument: DocumentSpec<AssistantState> = {
  name: 'state',
  version: 1,
  schema: record(
    {
      schema_version: { const: 1 },
      assistant_name: { type: 'string', minLength: 1 },
      memory: { type: 'array', items: record({ id: text, text, channel: text, time }) },
      searches: {
        type: 'array',
        items: record({
          id: text,
          query: text,
          channel: text,
          time,
          results: {
            type: 'array',
            items: record({
              source: { enum: ['note', 'message'] },
              ref: text,
              text,
              channel: text,
              score: { type: 'number' },
            }),
          },
        }),
      },
      delegations: {
        type: 'array',
        items: record(
          {
            id: text,
            kind: { enum: ['task', 'digest'] },
            worker: { type: 'string', minLength: 1 },
            task: text,
            channel: text,
            status: { enum: ['queued', 'working', 'done', 'failed'] },
            time,
            takenBy: text,
            finished: time,
            result: {},
          },
          ['takenBy', 'finished', 'result'],
        ),
      },
      schedules: {
        type: 'array',
        items: record(
          {
            id: text,
            name: { type: 'string', minLength: 1 },
            cron: text,
            every: { type: 'integer', minimum: 1000 },
            timezone: text,
            misfire: {
              oneOf: [{ enum: ['skip', 'once'] }, record({ within: { type: 'integer', minimum: 0 } })],
            },
            skill: { type: 'string', minLength: 1 },
            args: { type: 'object' },
            channel: text,
            created: time,
            by: record({ id: text, roles: { type: 'array', items: text } }),
          },
          ['cron', 'every', 'by'],
        ),
      },
      next_ids: { type: 'object', additionalProperties: { type: 'integer', minimum: 1 } },
      extra: { type: 'object' },
    },
    ['extra'],
  ),
  migrations: { 0: fromUnversioned },
  initial: () => ({
    schema_version: 1,
    assistant_name: 'trivium',
    memory: [],
    searches: [],
    delegations: [],
    schedules: [],
    next_ids: {},
  }),
}

/** The number for the next of a kind, as `kind-1`; moves the counter. */
export function nextId(state: AssistantState, kind: string): string {
  const number = Object.hasOwn(state.next_ids, kind) ? (state.next_ids[kind] ?? 1) : 1
  state.next_ids[kind] = number + 1
  return `${kind}-${number}`
}

/** Notes are taken over; what has another shape is kept under `extra`, so that nothing is lost. */
function fromUnversioned(old: JsonObject): JsonObject {
  const { assistant_name, memory, next_ids, ...rest } = old
  const notes = Array.isArray(memory) ? memory : []
  const kept = Object.fromEntries(Object.entries(rest).filter(([, value]) => !isEmpty(value)))
  return {
    ...assistantDocument.initial(),
    assistant_name: typeof assistant_name === 'string' ? assistant_name : 'trivium',
    memory: notes.map((note, index) => asNote(note, index)),
    next_ids: typeof next_ids === 'object' && next_ids !== null ? next_ids : {},
    ...(Object.keys(kept).length > 0 ? { extra: kept } : {}),
  }
}

function asNote(note: Json, index: number): JsonObject {
  const found = typeof note === 'object' && note !== null && !Array.isArray(note) ? note : { text: note }
  return {
    id: String(found.id ?? `memory-${index + 1}`),
    text: String(found.text ?? ''),
    channel: String(found.channel ?? 'cli'),
    time: typeof found.time === 'string' ? found.time : new Date(0).toISOString(),
  }
}

function isEmpty(value: Json): boolean {
  return Array.isArray(value) && value.length === 0
}
