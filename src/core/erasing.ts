import type { Json, JsonObject } from './json.ts'

/** A page of a list. `next`: where to continue; absent at the end. */
export type ListPage<T> = { items: T[]; next?: string }

/** Reads a list in parts. Removing the items of one part does not shift the next. */
export async function* readParts<T>(read: (after?: string) => Promise<ListPage<T>>): AsyncGenerator<T[]> {
  let after: string | undefined
  do {
    const { items, next } = await read(after)
    yield items
    after = next
  } while (after !== undefined)
}

/** An unfinished job, or the stored end of one (`done`). `content`: all of its stored data. */
export type StoredJob = { state: 'unfinished' | 'done'; queue: string; id: string; content: Json }

/** The unfinished jobs of all queues, or of one. */
export type JobsOnly = 'unfinished' | { queue: string }

/** A line of the history of a message. `place` is internal to the store. */
export type StoredNote = { place: string; content: Json }

export type ChangedNote = { note: StoredNote; detail: JsonObject }

/**
 * What erasing a person requires of a store: access to all of its data, including internal keys.
 */
export type Erasing = {
  /**
   * Removes messages with their history, their places on the roads and their jobs, even if
   * something waits for them. Returns how many messages existed. Groups get a report of missed
   * events; idempotency keys remain as hashes.
   */
  dropMessages(ids: readonly string[]): Promise<number>
  /**
   * `only`: leave out the ends of jobs, which take a search through all keys of a Redis, and the jobs
   * of other queues.
   */
  jobs(after?: string, only?: JobsOnly): Promise<ListPage<StoredJob>>
  /** Removes jobs, even running ones, whose claims are then lost. */
  dropJobs(jobs: readonly StoredJob[]): Promise<void>
  notes(after?: string): Promise<ListPage<StoredNote>>
  dropNotes(notes: readonly StoredNote[]): Promise<void>
  /** Replaces the details of notes, unless the notes were dropped meanwhile. */
  changeNotes(changes: readonly ChangedNote[]): Promise<void>
  /** The names of all topics except `gateway-message`. */
  topics(): Promise<string[]>
  dropEvents(topic: string, ids: readonly string[]): Promise<void>
  /** Removes a topic with its groups. */
  dropTopic(topic: string): Promise<void>
  /**
   * Overwrites what remains of removed data in the files and the memory of the store.
   * `isRewritten`: false if old copies may remain in the file of an embedded store, because it is
   * too large to be rewritten beside a running daemon.
   */
  overwrite(): Promise<{ isRewritten: boolean }>
}
