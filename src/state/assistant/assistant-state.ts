import { z } from 'zod'
import { delegationSchema, noteSchema, scheduleSchema, searchSchema } from '../../core/assistant-services.ts'
import { isJsonObject, type JsonObject, jsonObjectSchema } from '../../core/json.ts'
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

/** Its notes may have no times. */
function fromUnversioned({ memory, ...rest }: JsonObject): JsonObject {
  const notes = Array.isArray(memory) ? memory.filter(isJsonObject) : []
  const time = new Date(0).toISOString()
  return {
    ...assistantDocument.initial(),
    ...rest,
    memory: notes.map((note) => ({ channel: 'cli', time, ...note })),
  }
}
