import { hash } from 'node:crypto'
import { lstatSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type ZodType, z } from 'zod'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import { isJsonObject, type Json, type JsonObject, jsonObjectSchema, toJson } from '../../core/json.ts'
import { compileJsonSchema, type ErrorObject, type ValidateFunction } from '../../lib/json-schema.ts'

/** `schema` is a JSON Schema (2020-12) of `version`, the document’s `schema_version`; `migrations[n]` makes n + 1 of version n. */
export type DocumentSpec<T extends JsonObject = JsonObject> = {
  /** Lower-case letters, digits, `_` and `-`, beginning with a letter: the file is `<name>.json`. */
  name: string
  version: number
  readonly schema: JsonObject
  /** The same as zod, or stricter: what it takes as it is needs no check by `schema`. */
  type?: ZodType
  migrations?: Record<number, (document: JsonObject) => JsonObject>
  /** What a missing file is made of, if the schema takes it. Called for each bootstrap. */
  initial(): JsonObject
  /** Called when a person changed the document, beside the manager too; may note that in it. */
  adopt?(document: T, at: number): void
  /** Called before each write with what is there; throws to refuse it. */
  guard?(document: T, write: { name: string; actor: Actor; now: number }): void
}

/** Who writes. `human` and `agent` differ where a document protects a person's edits from agents. */
export type Actor = { kind: 'human' | 'agent' | 'system'; name: string }

/** One step of an RFC 6902 JSON Patch; the three operations that a recorded change needs. */
export type Operation = { op: 'add' | 'replace'; path: string; value: Json } | { op: 'remove'; path: string }

/** One line of the event log: what changed; with `document` all of it as it is then. */
export type Change = {
  seq: number
  /** ISO 8601, UTC. */
  time: string
  /** `bootstrap`: a missing document was made. `outside`: a person edited the file, or a crash cut off an update. */
  event: 'update' | 'bootstrap' | 'outside' | 'migration' | 'repair'
  actor: string
  patch?: Operation[]
  document?: JsonObject
}

/** A document and its revision: the number of its last event. */
export type Snapshot<T extends JsonObject = JsonObject> = { document: T; revision: number }

/** The text of a document: sorted keys, one value a line, so that a change is one line in a review. */
export function formatDocument(document: JsonObject): string {
  // fromEntries defines its keys, so that one named __proto__ stays data.
  const sorted = (_key: string, value: Json) =>
    isJsonObject(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value
  return `${JSON.stringify(document, sorted, 2)}\n`
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

/** The error for what cannot be read of a document. The command finds `state` by itself, others in the folder of the file. */
export function corrupt(name: string, path: string, reason: string, cause?: unknown): TriviumError {
  const dir = name === 'state' ? '' : ` --dir ${dirname(path)}`
  const todo = `run \`trivium state repair ${name}${dir}\` (in code: \`repair('${name}')\` of its manager)`
  return new TriviumError('state_corrupt', { path, reason, todo }, { cause })
}

/** In place of the parser's message, which quotes the text: a link may lead to any file of this user. */
export const LINKED = 'it is a link to a file that holds no JSON object'

export function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false
}

/** Reads a file that must be a JSON object. Throws `state_corrupt`, with what to do besides mending it. */
export function readDocument(path: string, todo: string): JsonObject {
  try {
    return parseDocument(readFileSync(path, 'utf8'))
  } catch (error) {
    const reason = isLink(path) ? LINKED : reasonOf(error)
    throw new TriviumError('state_corrupt', { path, todo, reason }, { cause: error })
  }
}

/** The version a document says it has; 0 where it says none. */
export function versionOf(document: JsonObject): number {
  const found = document.schema_version
  return typeof found === 'number' && Number.isInteger(found) ? found : 0
}

/** The document in the current version, as a copy. Throws `state_version` for a newer one or a missing step. */
export function migrationOf(spec: DocumentSpec, document: JsonObject, path: string): JsonObject {
  const found = versionOf(document)
  const refused = (what: string) =>
    new TriviumError('state_version', { path, found, known: spec.version, what })
  if (found > spec.version)
    throw refused('Install a newer Trivium, or put a backup of the older version in its place.')
  let current = copyOf(document)
  for (let version = found; version < spec.version; version += 1) {
    const step = spec.migrations?.[version]
    if (!step) {
      throw refused(
        `There is no migration from version ${version}: add one beside its schema, then run \`trivium state migrate ${spec.name}\`.`,
      )
    }
    try {
      current = { ...objectOf(step(current)), schema_version: version + 1 }
    } catch (error) {
      const why = error instanceof TriviumError ? error.message : reasonOf(error)
      throw failedMigration(spec, found, path, `The migration from version ${version} failed: ${why}`, error)
    }
  }
  return current
}

function objectOf(migrated: unknown): JsonObject {
  if (isJsonObject(migrated)) return migrated
  throw new TypeError('it did not return the document')
}

/** A document of an older version is not broken where its migration is: repairing it would lose it. */
export function failedMigration(
  { version: known }: Pick<DocumentSpec, 'version'>,
  found: number,
  path: string,
  what: string,
  cause?: unknown,
): TriviumError {
  const rest = 'Mend the migration, then try again; the document is as it was.'
  return new TriviumError(
    'state_version',
    { path, found, known, what: `${what.replace(/\.$/, '')}. ${rest}` },
    { cause },
  )
}

/** What JSON makes of it: dates as text, undefined left out. */
export function copyOf<T extends JsonObject>(document: T): T {
  return JSON.parse(JSON.stringify(document))
}

/** A time (Unix ms) as it stands in names of files. */
export function stampOf(time: number): string {
  return new Date(time).toISOString().replaceAll(/[-:.]/g, '')
}

/** Where documents and their events live. What resolves is durable; what fails changes nothing. */
export type DocumentBackend = {
  /** Where a document is, for messages to people. */
  locate(name: string): string
  /** What is there now, for the caller to keep. */
  read(name: string): Promise<Stored>
  /**
   * The one way to write: `work` gets what is there while no other writer, in any process, can come between; undefined or a throw writes
   * nothing. It may be called again with newer content; its last answer counts.
   */
  transact(name: string, work: (current: Stored) => Commit | undefined): Promise<void>
  /** The events, oldest first, without holding them in memory. Throws where something is broken or missing. */
  changes(name: string): AsyncIterable<Change>
  /** Keeps a copy of the document as it is stored, and returns where; undefined where there is none. */
  keep(name: string, label: string): Promise<string | undefined>
  /** Forgets what the document was before, copies of it too: its events begin with the document as it is. */
  forgetHistory(name: string): Promise<void>
  /** Puts an unreadable event log away, so that a new one begins; returns where it is kept. Of files alone. */
  putEventsAside?(name: string, label: string): Promise<string>
  close(): Promise<void>
}

/** `revision`: of the last event, or 0. `edited`: the text is not what that left (a person, a crash). `missing`: never made, or deleted. */
export type Stored =
  | { revision: number; document: JsonObject }
  | { revision: number; edited: { text: string; at: number; isLink: boolean } }
  | { revision: number; missing: true }

/** The new document and the event that leads to it. `keepText`: the stored text stays as a person wrote it. */
export type Commit = { change: Change; document: JsonObject; keepText?: true }

/** A check against the schema of a document, compiled when it is needed: returns the document, or throws what `refused` makes of what is wrong. */
export function compileSchema<T extends JsonObject>(of: Pick<DocumentSpec<T>, 'schema' | 'type'>) {
  let validate: ValidateFunction<T> | undefined
  const isTaken = (document: JsonObject): document is T =>
    isDeepStrictEqual(of.type?.safeParse(document).data, document)
  return (document: JsonObject, refused: (details: string) => Error): T => {
    if (isTaken(document)) return document
    validate ??= compileJsonSchema<T>(of.schema, AJV)
    if (validate(document)) return document
    throw refused(explain(validate.errors ?? []))
  }
}

/** A zod schema as JSON Schema. */
export function jsonSchemaOf(type: ZodType): JsonObject {
  return jsonObjectSchema.parse(toJson(z.toJSONSchema(type)))
}

const AJV = { allErrors: true, discriminator: true, allowUnionTypes: true }

function explain(errors: readonly ErrorObject[]): string {
  const lines = errors.map((error) => `${pathOf(error)} ${error.message ?? error.keyword}${allowed(error)}`)
  return [...new Set(lines)].join('; ')
}

function pathOf({ instancePath, params }: ErrorObject): string {
  const extra: unknown = params.missingProperty ?? params.additionalProperty ?? params.unevaluatedProperty
  return typeof extra === 'string' ? `${instancePath}/${extra}` : instancePath || '/'
}

function allowed({ params }: ErrorObject): string {
  if (Array.isArray(params.allowedValues)) return `: ${params.allowedValues.join(', ')}`
  return 'allowedValue' in params ? `: ${String(params.allowedValue)}` : ''
}
