import { z } from 'zod'
import type { ActivityEntry } from '../../core/activity.ts'
import { TriviumError } from '../../core/errors.ts'
import { isJsonObject, type Json, type JsonObject, jsonObjectSchema } from '../../core/json.ts'
import type { Limit } from '../../core/limits.ts'
import { scheduleSchema } from '../../core/schedule.ts'
import { jsonSchemaOf } from '../documents/document-schema.ts'
import type { DocumentSpec } from '../documents/spec.ts'
import { type Delegation, delegationSchema, noteSchema, searchSchema } from './records.ts'

const stateSchema = z.strictObject({
  schema_version: z.literal(2),
  assistant_name: z.string().min(1),
  memory: z.array(noteSchema),
  searches: z.array(searchSchema),
  delegations: z.array(delegationSchema),
  schedules: z.array(scheduleSchema),
  /** Per kind (`memory`, `search`, …): the number in the next id. */
  next_ids: z.record(z.string(), z.int().min(1)),
  /** Unknown content of an older file. */
  extra: jsonObjectSchema.exactOptional(),
})

/** The content of `state.json`. */
export type AssistantState = z.infer<typeof stateSchema>

/**
 * The document `state`. Version 0 is a file of another program; in version 1, notes had no owners.
 */
export const assistantDocument: DocumentSpec<AssistantState> = {
  name: 'state',
  version: 2,
  get schema() {
    return jsonSchemaOf(stateSchema)
  },
  type: stateSchema,
  entries: { schedules: scheduleSchema },
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

/**
 * Takes over notes, and other content that fits the schema; the rest goes to `extra`, so that
 * nothing is lost.
 */
function fromUnversioned({ memory, schema_version: _, ...rest }: JsonObject): JsonObject {
  const anyField = stateSchema.partial()
  const { valid = [], extra } = Object.groupBy(Object.entries(rest), ([key, value]) =>
    anyField.safeParse({ [key]: value }).success ? 'valid' : 'extra',
  )
  return {
    ...assistantDocument.initial(),
    ...Object.fromEntries(valid),
    memory: Array.isArray(memory) ? memory.map(asNote) : [],
    ...(extra && { extra: Object.fromEntries(extra) }),
  }
}

function asNote(stored: Json, index: number): JsonObject {
  const note = isJsonObject(stored) ? stored : { text: stored }
  // A note without a valid time gets 1970.
  const time = Date.parse(String(note.time)) || 0
  return {
    id: String(note.id ?? `memory-${index + 1}`),
    text: String(note.text ?? ''),
    channel: String(note.channel ?? 'cli'),
    time: new Date(time).toISOString(),
  }
}

/**
 * Adds owners. The owner of a note is its channel (an operator, or a gateway). A schedule already
 * has a creator, whose id gets the gateway in front: `ada` becomes `team:ada`.
 */
function withOwners(document: JsonObject): JsonObject {
  const { memory, schedules } = document
  return {
    ...document,
    memory: mapObjects(memory, (note) => ({ owner: note.channel ?? 'cli', ...note })),
    schedules: mapObjects(schedules, ({ by, ...rest }) =>
      isJsonObject(by) ? { ...rest, by: { ...by, id: `${rest.channel}:${by.id}` } } : rest,
    ),
  }
}

/** Changes the objects of a list. Other values remain, so that validation reports them. */
function mapObjects(list: Json | undefined, change: (one: JsonObject) => JsonObject): Json {
  if (!Array.isArray(list)) return list ?? []
  return list.map((one) => (isJsonObject(one) ? change(one) : one))
}

/**
 * Limits of the assistant's state, because each change writes all of it. Lengths are in characters.
 */
export const LIMITS = {
  notes: { most: 10_000, what: 'Notes', todo: 'Remove some with `forget`.' },
  /** Total for all unverified senders, so that they cannot use up the space of others. */
  unverifiedNotes: { most: 1_000, what: 'Notes of unverified senders', todo: 'Remove some with `forget`.' },
  /** Per person; operators may use all of the space. */
  ownNotes: { most: 2_000, what: 'Your notes', todo: 'Remove some with `forget`.' },
  note: { most: 10_000, what: 'A note' },
  query: { most: 1_000, what: 'A search', todo: 'Search for fewer words.' },
  /** Limited because time patterns are tried at each position. */
  timeInWords: { most: 2_000, what: 'The description of a time', todo: 'Use a shorter one.' },
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

/**
 * Changes the state and resolves with the result of `mutate`. Once the change is durable, logs what
 * `entry` returns.
 */
export type Change = <T>(
  mutate: (draft: AssistantState) => T,
  entry: (result: T) => ActivityEntry | undefined,
) => Promise<T>

/** Whether work is unfinished. */
export function isOpen({ status }: Delegation): boolean {
  return status === 'queued' || status === 'working'
}

/** Finds an entry by its id. Throws `not_found`. */
export function byId<T extends { id: string }>(list: readonly T[], id: string): T {
  const found = list.find((one) => one.id === id)
  if (!found) throw notFound(id)
  return found
}

/** The error for an entry that does not exist, or that the caller may not see. */
export function notFound(id: string): TriviumError {
  return new TriviumError('not_found', { path: id })
}

/** Returns the text. Throws `usage` with a hint if it is empty. */
export function requireText(text: string, hint: string): string {
  if (text === '') throw new TriviumError('usage', { details: hint })
  return text
}
