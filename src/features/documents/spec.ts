import { hash } from 'node:crypto'
import { lstatSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type ZodType, z } from 'zod'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import { isJsonObject, type Json, type JsonObject, jsonObjectSchema, toJson } from '../../core/json.ts'
import { compileJsonSchema, type ErrorObject, type ValidateFunction } from '../../lib/json-schema.ts'

/**
 * Defines a document. `schema`: JSON Schema (2020-12) of this `version`, the document's
 * `schema_version`. `migrations[n]` converts version n to n + 1.
 */
export type DocumentSpec<T extends JsonObject = JsonObject> = {
  /** Lower-case letters, digits, `_` and `-`, starting with a letter. The file is `<name>.json`. */
  name: string
  version: number
  readonly schema: JsonObject
  /** Equivalent to `schema`, or stricter: a document that it accepts unchanged is not checked by `schema`. */
  type?: ZodType
  migrations?: Record<number, (document: JsonObject) => JsonObject>
  /** The first document, which must match the schema. Called for each bootstrap. */
  initial(): JsonObject
  /** Called when a person has changed the document outside the manager. May record that in the document. */
  adopt?(document: T, at: number): void
  /** Called with the current document before each write. Throws to refuse the write. */
  guard?(document: T, write: { name: string; actor: Actor; now: number }): void
}

/** The author of a write. Documents may protect edits of a `human` from an `agent`. */
export type Actor = { kind: 'human' | 'agent' | 'system'; name: string }

/** One step of a JSON Patch (RFC 6902), limited to the operations used here. */
export type Operation = { op: 'add' | 'replace'; path: string; value: Json } | { op: 'remove'; path: string }

/** One line of the event log. `document`: the complete document after the change, if included. */
export type Change = {
  seq: number
  /** ISO 8601, UTC. */
  time: string
  /**
   * `bootstrap`: a missing document was created. `outside`: a person edited the file, or a crash
   * interrupted an update.
   */
  event: 'update' | 'bootstrap' | 'outside' | 'migration' | 'repair'
  actor: string
  patch?: Operation[]
  document?: JsonObject
}

/** A document and its revision, which is the number of its last event. */
export type Snapshot<T extends JsonObject = JsonObject> = { document: T; revision: number }

/** Formats a document with sorted keys and one value per line, for readable diffs. */
export function formatDocument(document: JsonObject): string {
  // fromEntries defines own properties, so a key named `__proto__` stays data.
  const sorted = (_key: string, value: Json) =>
    isJsonObject(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value
  return `${JSON.stringify(document, sorted, 2)}\n`
}

/** The hash by which the event log recognises a text. */
export function fingerprint(text: string | Uint8Array): string {
  return hash('sha256', text, 'hex').slice(0, 32)
}

/** Parses text to a JSON object. Throws a SyntaxError with the position. */
export function parseDocument(text: string): JsonObject {
  const parsed: unknown = JSON.parse(text)
  if (!isJsonObject(parsed)) throw new SyntaxError('it is not a JSON object')
  return parsed
}

/**
 * The error for an unreadable document. The repair command needs `--dir` for documents other than
 * `state`.
 */
export function corrupt(name: string, path: string, reason: string, cause?: unknown): TriviumError {
  const dir = name === 'state' ? '' : ` --dir ${dirname(path)}`
  const todo = `run \`trivium state repair ${name}${dir}\` (in code: \`repair('${name}')\` of its manager)`
  return new TriviumError('state_corrupt', { path, reason, todo }, { cause })
}

/**
 * Replaces the parser's message for links, as it quotes the text: a link may lead to any file of
 * this user.
 */
export const LINKED = 'it is a link to a file without a JSON object'

export function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false
}

/** Reads a file with a JSON object. Throws `state_corrupt`, with `todo` as an alternative to a repair. */
export function readDocument(path: string, todo: string): JsonObject {
  try {
    return parseDocument(readFileSync(path, 'utf8'))
  } catch (error) {
    const reason = isLink(path) ? LINKED : reasonOf(error)
    throw new TriviumError('state_corrupt', { path, todo, reason }, { cause: error })
  }
}

/** The version stated in a document; 0 without one. */
export function versionOf(document: JsonObject): number {
  const found = document.schema_version
  return typeof found === 'number' && Number.isInteger(found) ? found : 0
}

/**
 * A copy of the document in the current version. Throws `state_version` for a newer version or a
 * missing migration.
 */
export function migrationOf(spec: DocumentSpec, document: JsonObject, path: string): JsonObject {
  const found = versionOf(document)
  const refused = (what: string) =>
    new TriviumError('state_version', { path, found, known: spec.version, what })
  if (found > spec.version)
    throw refused('Install a newer Trivium, or restore a backup of the older version.')
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

/** The error of a failed migration. The document itself is intact, and repairing it would lose it. */
export function failedMigration(
  { version: known }: Pick<DocumentSpec, 'version'>,
  found: number,
  path: string,
  what: string,
  cause?: unknown,
): TriviumError {
  const rest = 'Fix the migration, then try again; the document is unchanged.'
  return new TriviumError(
    'state_version',
    { path, found, known, what: `${what.replace(/\.$/, '')}. ${rest}` },
    { cause },
  )
}

/** A copy through JSON: dates become text, undefined properties are dropped. */
export function copyOf<T extends JsonObject>(document: T): T {
  return JSON.parse(JSON.stringify(document))
}

/** A time (Unix ms) in the format of file names. */
export function stampOf(time: number): string {
  return new Date(time).toISOString().replaceAll(/[-:.]/g, '')
}

/** Storage of documents and their events. Resolved writes are durable, and failed ones change nothing. */
export type DocumentBackend = {
  /** The location of a document, for messages. */
  locate(name: string): string
  /** The current content, as a copy. */
  read(name: string): Promise<Stored>
  /**
   * The only way to write. Calls `work` with the current content while all other writers, in any
   * process, are excluded. If it returns undefined or throws, nothing is written. It may be called
   * again with newer content; the last result counts.
   */
  transact(name: string, work: (current: Stored) => Commit | undefined): Promise<void>
  /** Streams the events, oldest first. Throws if one is broken or missing. */
  changes(name: string): AsyncIterable<Change>
  /** Copies the stored document, and returns the location of the copy; undefined if there is no document. */
  keep(name: string, label: string): Promise<string | undefined>
  /**
   * Removes earlier versions of the document, including copies. Its events restart with the current
   * document.
   */
  forgetHistory(name: string): Promise<void>
  /** Renames an unreadable event log, so that a new one starts. Returns its new location. Only for files. */
  putEventsAside?(name: string, label: string): Promise<string>
  close(): Promise<void>
}

/**
 * `revision`: of the last event, or 0. `edited`: the text differs from the last event (a person, a
 * crash). `missing`: never created, or deleted.
 */
export type Stored =
  | { revision: number; document: JsonObject }
  | { revision: number; edited: { text: string; at: number; isLink: boolean } }
  | { revision: number; missing: true }

/** A new document, and the event that leads to it. `keepText`: keeps the text as a person wrote it. */
export type Commit = { change: Change; document: JsonObject; keepText?: true }

/**
 * Makes a check against a document's schema, compiled on first use. It returns the document, or
 * throws `refused` with the errors.
 */
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
