import type { Json } from './json.ts'

/** A part of many items; `next` says where to go on, absent at the end. */
export type Part<T> = { items: T[]; next?: string }

/** A job that has not ended, or the remembered end of one (`done`). `content`: all that is kept of it. */
export type KeptJob = { state: 'unfinished' | 'done'; queue: string; id: string; content: Json }

/** A line of the history of a message. `place` is the store's own. */
export type KeptNote = { place: string; content: Json }

/** What erasing needs of a store beyond its roads: all that it keeps, also under names that nobody outside knows. */
export type Erasing = {
  /**
   * Removes messages whatever waits for them: their history, their places on the roads, their jobs. Returns how many were there. Groups
   * learn that they missed some; their idempotency keys stay known, as hashes.
   */
  dropMessages(ids: readonly string[]): Promise<number>
  jobs(after?: string): Promise<Part<KeptJob>>
  /** Removes them also while somebody works on them, whose claim is lost then. */
  dropJobs(jobs: readonly KeptJob[]): Promise<void>
  notes(after?: string): Promise<Part<KeptNote>>
  dropNotes(notes: readonly KeptNote[]): Promise<void>
  /** All but `gateway-message`. */
  topics(): Promise<string[]>
  dropEvents(topic: string, ids: readonly string[]): Promise<void>
  /** Removes a topic with its groups. */
  dropTopic(topic: string): Promise<void>
  /** Overwrites what removed data left behind in files and memory of the store. */
  overwrite(): Promise<void>
}
