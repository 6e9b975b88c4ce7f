import { hash } from 'node:crypto'
import { isJsonObject, type Json, type JsonObject } from '../core/json.ts'
import type { Operation } from './patch.ts'

/**
 * What a named document is. `schema` is a JSON Schema (2020-12) of `version`; the document carries that
 * version in `schema_version`. `migrations[n]` turns a document of version n into one of n + 1.
 */
export type DocumentSpec<T extends JsonObject = JsonObject> = {
  /** Lower-case letters, digits, `_` and `-`: the file is `<name>.json`. */
  name: string
  version: number
  schema: JsonObject
  migrations?: Record<number, (document: JsonObject) => JsonObject>
  /** What a missing file is made of. Called for each bootstrap. */
  initial(): T
  /** Called when a person changed the file beside the manager; may note that in the document. */
  adopt?(document: T, at: number): void
  /** Called before each write with what is there; throws to refuse it. */
  guard?(document: T, write: { actor: Actor; now: number }): void
}

/** Who writes. `human` and `agent` differ where a document protects a person's edits from agents. */
export type Actor = { kind: 'human' | 'agent' | 'system'; name: string }

/** One line of the event log: what changed, or with `document` everything from there on. */
export type Change = {
  seq: number
  /** ISO 8601, UTC. */
  time: string
  /** `bootstrap`: a missing document was made. `outside`: a person edited the file. `snapshot`: a new log begins. */
  event: 'update' | 'bootstrap' | 'outside' | 'migration' | 'repair' | 'snapshot'
  actor: string
  patch?: Operation[]
  document?: JsonObject
}

/** A document and its revision: the number of its last event. */
export type Snapshot<T extends JsonObject = JsonObject> = { document: T; revision: number }

/** The text of a document: sorted keys, one value a line, so that a change is one line in a review. */
export function formatDocument(document: JsonObject): string {
  return `${JSON.stringify(sorted(document), null, 2)}\n`
}

/** The fingerprint by which the event log recognises a written text. */
export function fingerprint(text: string | Uint8Array): string {
  return hash('sha256', text, 'hex').slice(0, 32)
}

/** Parses text that must be a JSON object; throws a SyntaxError with the position otherwise. */
export function parseDocument(text: string): JsonObject {
  const parsed: unknown = JSON.parse(text)
  if (!isJsonObject(parsed)) throw new SyntaxError('it is not a JSON object')
  return parsed
}

function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isJsonObject(value)) return value
  // fromEntries defines its keys, so that one named __proto__ stays data.
  const keys = Object.keys(value).sort()
  return Object.fromEntries(
    keys.flatMap((key) => (value[key] === undefined ? [] : [[key, sorted(value[key])]])),
  )
}
