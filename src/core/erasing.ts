import type { Json } from './json.ts'

/** A part of many items; `next` is where to continue, absent at the end. */
export type Part<T> = { items: T[]; next?: string }

/** An unfinished job, or the remembered end of one (`done`). `content`: all of its stored data. */
export type KeptJob = { state: 'unfinished' | 'done'; queue: string; id: string; content: Json }

/** A line of the history of a message. `place` is internal to the store. */
export type KeptNote = { place: string; content: Json }

/** What erasing needs of a store: access to all of its data, including internal keys. */
export type Erasing = {
  /**
   * Removes messages, regardless of what waits for them: their history, their places on the roads, their
   * jobs. Returns how many existed. Groups see that they missed some; idempotency keys remain as hashes.
   */
  dropMessages(ids: readonly string[]): Promise<number>
  jobs(after?: string): Promise<Part<KeptJob>>
  /** Removes them even while they are running, which loses their claim. */
  dropJobs(jobs: readonly KeptJob[]): Promise<void>
  notes(after?: string): Promise<Part<KeptNote>>
  dropNotes(notes: readonly KeptNote[]): Promise<void>
  /** All except `gateway-message`. */
  topics(): Promise<string[]>
  dropEvents(topic: string, ids: readonly string[]): Promise<void>
  /** Removes a topic with its groups. */
  dropTopic(topic: string): Promise<void>
  /** Overwrites the remains of removed data in files and memory of the store. */
  overwrite(): Promise<void>
}
