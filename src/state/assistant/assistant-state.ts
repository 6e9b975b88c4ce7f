import { z } from 'zod'
import { delegationSchema, noteSchema, scheduleSchema, searchSchema } from '../../core/assistant-services.ts'
import { isJsonObject, type Json, type JsonObject, jsonObjectSchema } from '../../core/json.ts'
import { jsonSchemaOf } from '../documents/schema.ts'
import type { DocumentSpec } from '../documents/spec.ts'

const stateSchema = z.strictObject({
  schema_version: z.literal(1),
  assistant_name: z.string().min(1),
  memory: z.array(noteSchema),
  searches: z.array(searchSchema),
  delegations: z.array(delegationSchema),
  schedules: z.array(scheduleSchema),
  /** The number that the next one of each kind gets. */
  next_ids: z.record(z.string(), z.int().min(1)),
  /** What an older file held that this version does not know. */
  extra: jsonObjectSchema.exactOptional(),
})

/** The content of `state.json`. */
export type AssistantState = z.infer<typeof stateSchema>

/** The document `state`, bootstrapped empty. Version 0 is a file of another program without `schema_version`. */
export const assistantDocument: DocumentSpec<AssistantState> = {
  name: 'state',
  version: 1,
  get schema() {
    return jsonSchemaOf(stateSchema)
  },
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
  const isEmpty = (value: Json) => Array.isArray(value) && value.length === 0
  const extra = Object.fromEntries(Object.entries(rest).filter(([, value]) => !isEmpty(value)))
  return {
    ...assistantDocument.initial(),
    assistant_name: typeof assistant_name === 'string' ? assistant_name : 'trivium',
    memory: notes.map(asNote),
    next_ids: isJsonObject(next_ids) ? next_ids : {},
    ...(Object.keys(extra).length > 0 ? { extra } : {}),
  }
}

function asNote(note: Json, index: number): JsonObject {
  const found = isJsonObject(note) ? note : { text: note }
  return {
    id: String(found.id ?? `memory-${index + 1}`),
    text: String(found.text ?? ''),
    channel: String(found.channel ?? 'cli'),
    time: typeof found.time === 'string' ? found.time : new Date(0).toISOString(),
  }
}
