import { TriviumError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Change } from './spec.ts'

/**
 * Where documents and their events live. `test/state/manager.contract.ts` runs the manager over each. A
 * promise that resolves means durable; what fails changes nothing.
 */
export type DocumentBackend = {
  /** Where a document is, for messages to people. */
  locate(name: string): string
  /** Makes the error for a document that cannot be read, or whose events cannot. */
  corrupt(name: string): Corrupt
  /** What is there now, for the caller to keep. */
  read(name: string): Promise<Stored>
  /**
   * The one way to write. Calls `work` with what is there while no other writer, in any process, can come
   * between, and writes what it returns; undefined or a throw writes nothing. `work` may be called again
   * with newer content, and only its last answer counts.
   */
  transact(name: string, work: (current: Stored) => Commit | undefined): Promise<void>
  /**
   * The events, oldest first, without holding them in memory. Throws `state_corrupt`; with `onBroken`, that is told what is
   * broken, and what can be read of the rest comes.
   */
  changes(name: string, onBroken?: OnBroken): AsyncIterable<Change>
  /** Keeps a copy of the document as it is stored, and returns where; undefined where there is none. */
  keep(name: string, label: string): Promise<string | undefined>
  /** Puts an unreadable event log away, so that a new one begins; returns where it is kept. */
  putEventsAside(name: string, label: string): Promise<string>
  close(): Promise<void>
}

/**
 * `revision`: the number of the last event, 0 where there is none. `edited`: the text is not what the last
 * event left; a person, or a crash between the two, changed it. `missing`: never made, or deleted. `broken`: what is
 * there is no text of a document.
 */
export type Stored =
  | { revision: number; document: JsonObject }
  | { revision: number; edited: { text: string; at: number } }
  | { revision: number; missing: true }
  | { revision: number; broken: string }

export type OnBroken = (reason: Error) => void

/** Makes `state_corrupt` for what lies at a place. */
export type Corrupt = (path: string, reason: string, cause?: unknown) => TriviumError

/** For who reads events and goes no further where they are broken. */
export const raise: OnBroken = (reason) => {
  throw reason
}

/** What mends a document where nobody says more. */
const inCode = (name: string) => `call \`repair('${name}')\` of its manager`

/** `repair` says what to do about a document, besides mending it by hand. */
export function corruptBy(repair = inCode): DocumentBackend['corrupt'] {
  return (name) => (path, reason, cause) =>
    new TriviumError('state_corrupt', { path, reason, todo: repair(name) }, { cause })
}

/** The new document and the event that leads to it. `keepText`: the stored text stays as a person wrote it. */
export type Commit = { change: Change; document: JsonObject; keepText?: true }
