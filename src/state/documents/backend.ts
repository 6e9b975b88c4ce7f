import type { TriviumError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Change } from './spec.ts'

/**
 * Where documents and their events live. `test/state/manager.contract.ts` runs the manager over each. A
 * promise that resolves means durable; what fails changes nothing.
 */
export type DocumentBackend = {
  /** Where a document is, for messages to people. */
  locate(name: string): string
  /** What is there now, for the caller to keep. */
  read(name: string): Promise<Stored>
  /**
   * The one way to write. Calls `work` with what is there while no other writer, in any process, can come
   * between, and writes what it returns; undefined or a throw writes nothing. `work` may be called again
   * with newer content, and only its last answer counts.
   */
  transact(name: string, work: (current: Stored) => Commit | undefined): Promise<void>
  /** The events, oldest first, without holding them in memory. Where something is broken or missing, its error comes instead. */
  changes(name: string): AsyncIterable<Change | TriviumError>
  /** Keeps a copy of the document as it is stored, and returns where; undefined where there is none. */
  keep(name: string, label: string): Promise<string | undefined>
  /** Puts an unreadable event log away, so that a new one begins; returns where it is kept. */
  putEventsAside(name: string, label: string): Promise<string>
  close(): Promise<void>
}

/**
 * `revision`: the number of the last event, 0 where there is none. `edited`: the text is not what the last
 * event left; a person, or a crash between the two, changed it. `missing`: never made, or deleted.
 */
export type Stored =
  | { revision: number; document: JsonObject }
  | { revision: number; edited: { text: string; at: number } }
  | { revision: number; missing: true }

/** The new document and the event that leads to it. `keepText`: the stored text stays as a person wrote it. */
export type Commit = { change: Change; document: JsonObject; keepText?: true }
