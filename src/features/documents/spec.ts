import type { ZodType } from 'zod'
import type { Json, JsonObject } from '../../core/json.ts'

/** Defines a document. */
export type DocumentSpec<T extends JsonObject = JsonObject> = {
  /** Lower-case letters, digits, `_` and `-`, starting with a letter. The file is `<name>.json`. */
  name: string
  /** The current version, which each document states as `schema_version`. */
  version: number
  /** JSON Schema (2020-12) of this version. */
  readonly schema: JsonObject
  /**
   * Equivalent to `schema`, or stricter. A document that this type accepts and does not change is
   * not checked by `schema`.
   */
  type?: ZodType
  /**
   * Schemas of the entries of some lists. An entry that does not match is left out, logged, and
   * kept by writes, so that one damaged entry does not make the whole document unreadable.
   */
  entries?: Record<string, ZodType>
  /** `migrations[n]` converts version n to n + 1. */
  migrations?: Record<number, (document: JsonObject) => JsonObject>
  /** The first document, which must match the schema. Called for each bootstrap. */
  initial(): JsonObject
  /**
   * Called when a person has changed the document, `at` a time (Unix ms). May record that in the
   * document.
   */
  adopt?(document: T, at: number): void
  /** Called with the current document before each update. Throws to refuse it. */
  guard?(document: T, write: { name: string; actor: Actor; now: number }): void
}

/**
 * The author of a write. The guard of a document may protect edits of a `human` from an `agent`.
 */
export type Actor = { kind: 'human' | 'agent' | 'system'; name: string }

/** One step of a JSON Patch (RFC 6902), limited to the operations used here. */
export type Operation = { op: 'add' | 'replace'; path: string; value: Json } | { op: 'remove'; path: string }

/** One line of the event log. */
export type Change = {
  /** The number of the event, which is the revision of the document after it. */
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
  /** The complete document after the change. Either this or `patch` is set, or both. */
  document?: JsonObject
}

/** A document and its revision, which is the number of its last event. */
export type Snapshot<T extends JsonObject = JsonObject> = { document: T; revision: number }

/**
 * Storage of documents and their events. Resolved writes are durable, and failed ones change
 * nothing.
 */
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
  /**
   * Copies the stored document. Resolves with the location of the copy; undefined if there is no
   * document.
   */
  backUp(name: string, label: string): Promise<string | undefined>
  /**
   * Removes earlier versions of the document, including copies. Its events restart with the current
   * document.
   */
  forgetHistory(name: string): Promise<void>
  /**
   * Earlier versions that `changes` does not have: backups, and events that were set aside.
   * `forgetHistory` removes them. Only for files.
   */
  setAside?(name: string): Iterable<string>
  /**
   * Renames an unreadable event log, so that a new one starts. Resolves with its new location. Only
   * for files.
   */
  setEventsAside?(name: string, label: string): Promise<string>
  close(): Promise<void>
}

/** The content of a document. `revision`: the number of the last event, or 0. */
export type Stored = { revision: number } & (
  | { document: JsonObject }
  /** The text differs from the last event: a person changed it, or a crash interrupted a write. */
  | { edited: { text: string; at: number; isLink: boolean } }
  /** It was never created, or was deleted. */
  | { missing: true }
)

/** A new document, and the event that leads to it. `keepText`: a person's text stays as it is. */
export type Commit = { change: Change; document: JsonObject; keepText?: true }
