import { z } from 'zod'
import type { ActivityEntry } from '../../core/activity.ts'
import { TriviumError } from '../../core/errors.ts'
import { isJsonObject, type Json, type JsonObject, jsonObjectSchema } from '../../core/json.ts'
import type { Limit } from '../../core/limits.ts'
import { scheduleSchema } from '../../core/schedule.ts'
import { type DocumentSpec, jsonSchemaOf } from '../documents/spec.ts'
import { type Delegation, delegationSchema, noteSchema, searchSchema } from './records.ts'

const stateSchema = z.strictObject({
  schema_version: z.literal(2),
  assistant_name: z.string().min(1),
  memory: z.array(noteSchema),
  searches: z.array(searchSchema),
  delegations: z.array(delegationSchema),
  schedules: z.array(scheduleSchema),
  /** The next number of each kind. */
  next_ids: z.record(z.string(), z.int().min(1)),
  /** Unknown content of an older file. */
  extra: jsonObjectSchema.exactOptional(),
})

/** The content of `state.json`. */
export type AssistantState = z.infer<typeof stateSchema>

/** The document `state`. Version 0 is from another program; version 1 had no owners of notes. */
export const assistantDocument: DocumentSpec<AssistantState> = {
  name: 'state',
  version: 2,
  get schema() {
    return jsonSchemaOf(stateSchema)
  },
  type: stateSchema,
  migrations: { 0: fromUnversioned, 1: withOwners },
  initial: () => ({
    schema_version: 2,
    assistant_name: 'trivium',
    memory: [],
    searches: [],
    delegations: [],
    schedules: [],
    next_ids: {},
  }),
}

/** Migrates notes and other matching content; keeps the rest under `extra`, so that nothing is lost. */
function fromUnversioned({ memory, schema_version: _, ...rest }: JsonObject): JsonObject {
  const fitting = stateSchema.partial()
  const { true: fit = [], false: extra } = Object.groupBy(Object.entries(rest), ([key, value]) =>
    fitting.safeParse({ [key]: value }).success ? 'true' : 'false',
  )
  return {
    ...assistantDocument.initial(),
    ...Object.fromEntries(fit),
    memory: Array.isArray(memory) ? memory.map(asNote) : [],
    ...(extra && { extra: Object.fromEntries(extra) }),
  }
}

function asNote(given: Json, index: number): JsonObject {
  const note = isJsonObject(given) ? given : { text: given }
  const time = Date.parse(String(note.time)) || 0
  return {
    id: String(note.id ?? `memory-${index + 1}`),
    text: String(note.text ?? ''),
    channel: String(note.channel ?? 'cli'),
    time: new Date(time).toISOString(),
  }
}

/** Derives owners of notes from their channel: an operator, or the gateway. Schedules already have creator and gateway. */
function withOwners(document: JsonObject): JsonObject {
  const { memory, schedules } = document
  return {
    ...document,
    memory: changed(memory, (note) => ({ owner: note.channel ?? 'cli', ...note })),
    schedules: changed(schedules, ({ by, ...rest }) =>
      isJsonObject(by) ? { ...rest, by: { ...by, id: `${rest.channel}:${by.id}` } } : rest,
    ),
  }
}

function changed(list: Json | undefined, change: (one: JsonObject) => JsonObject): Json {
  return Array.isArray(list) ? list.map((one) => (isJsonObject(one) ? change(one) : one)) : (list ?? [])
}

/** Limits of the assistant’s state, which is written as a whole. Lengths are in characters. */
export const LIMITS = {
  notes: { most: 10_000, what: 'Notes', todo: 'Remove some with `forget`.' },
  /** Total for all unverified senders, so that they cannot use up the space of others. */
  unprovenNotes: { most: 1_000, what: 'Notes of unverified senders', todo: 'Remove some with `forget`.' },
  /** Per person; operators may use all of the space. */
  ownNotes: { most: 2_000, what: 'Your notes', todo: 'Remove some with `forget`.' },
  note: { most: 10_000, what: 'A note' },
  query: { most: 1_000, what: 'A search', todo: 'Search for fewer words.' },
  /** Limited because time patterns are tried at each position. */
  timed: { most: 2_000, what: 'The description of a time', todo: 'Use a shorter one.' },
  /** Unfinished work, queued or with a worker. */
  openWork: { most: 1_000, what: 'Work for others', todo: 'Finish some with `delegation-accept`.' },
  /** Per person. */
  ownWork: {
    most: 100,
    what: 'Your work for others',
    todo: 'Report the result of some: done delegation-1: all paid.',
  },
  task: { most: 10_000, what: 'A task' },
  result: { most: 100_000, what: 'A result' },
} satisfies Record<string, Limit>

/** Changes the state, then logs `entry` once the change is durable. */
export type Change = <T>(
  mutate: (draft: AssistantState) => T,
  entry: (made: T) => ActivityEntry | undefined,
) => Promise<T>

/** Whether work is unfinished. */
export function isOpen({ status }: Delegation): boolean {
  return status === 'queued' || status === 'working'
}

/** Throws `not_found`. */
export function byId<T extends { id: string }>(list: readonly T[], id: string): T {
  const found = list.find((one) => one.id === id)
  if (!found) throw notThere(id)
  return found
}

/** The error for missing entries, and for entries without access. */
export function notThere(id: string): TriviumError {
  return new TriviumError('not_found', { path: id })
}

/** Returns trimmed text; throws `usage` with a hint if it is empty. */
export function said(text: string, hint: string): string {
  if (text === '') throw new TriviumError('usage', { details: hint })
  return text
}
