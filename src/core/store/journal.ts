import type { Accepted, Message, NewMessage } from '../message.ts'
import type { MessageQuery, Outcome } from '../message-query.ts'
import type { Note } from '../note.ts'
import type { NewJob } from './jobs.ts'
import type { Page } from './page.ts'

/** All messages, in the order of their arrival, with their histories. */
export type Journal = {
  /**
   * Appends messages. The step that appends a message also makes it visible to `receive`, the topic
   * `gateway-message` and the pump. With `together`, each shard appends all its messages in one
   * step; otherwise a long list may take several.
   *
   * A message whose (gateway, key) was seen within seven days, or earlier in the call, changes
   * nothing and gets the id of the first. Results are in the order of the messages, as in every
   * method that takes a list. If only part of the store is unreachable, the results for that part
   * are errors.
   */
  accept(messages: readonly NewMessage[], together?: boolean): Promise<Accepted[]>
  get(id: string): Promise<Message | undefined>
  /**
   * Finds matches, newest first, in the part of the journal that can be scanned in about a quarter
   * of a second. If a part of the store is unreachable: rejects, or with `isPartial` leaves it out.
   */
  search(search: MessageSearch): Promise<FoundMessages>
  /**
   * Counts messages by time, in spans of `width` ms that begin at multiples of it: newest first,
   * without empty spans. Scans what it can in about a quarter of a second, but at least one span.
   * Ignores the search's text and sender. `isPartial` as in `search`. `byRoute`: counts each route
   * of a span on its own.
   */
  countByTime(
    search: Omit<MessageSearch, 'limit' | 'before'>,
    width: number,
    byRoute?: boolean,
  ): Promise<CountedTimes>
  /** The outcome of each message; undefined if it is no longer retained. */
  outcomes(ids: readonly string[]): Promise<(Outcome | undefined)[]>
  /** Like `outcomes`, with `unreachable` for the messages of shards that cannot be reached. */
  outcomesIfReachable(ids: readonly string[]): Promise<(Outcome | 'unreachable' | undefined)[]>
  /** Adds to a message's history. Notes on messages that are no longer retained are dropped. */
  note(id: string, notes: readonly Note[]): Promise<void>
  /**
   * The history of a message, oldest first, including the notes that the store itself writes
   * (`receive`).
   */
  history(id: string): Promise<Note[]>
  /** Messages after the dispatch cursor, oldest first. */
  unpumped(max: number): Promise<Unpumped>
  /**
   * Moves the dispatch cursor from `cursor` to the message `last` and adds the jobs, in one atomic
   * step. Does nothing and returns false if another daemon moved the cursor first, the journal has
   * lost the message `last`, or a message of the jobs was erased.
   */
  pumped(cursor: number, last: string, jobs: readonly NewJob[]): Promise<boolean>
}

export type Unpumped = Page<Message> & { cursor: number }

export type MessageSearch = MessageQuery & {
  /** Only messages with one of these outcomes. */
  outcomes?: readonly Outcome[] | undefined
  /** The message id from which to continue. */
  before?: string | undefined
  limit: number
  /** Leave out the messages of unreachable shards. Otherwise the read rejects if there are any. */
  isPartial?: boolean
}

export type FoundMessages = {
  found: { message: Message; outcome: Outcome }[]
  /**
   * The id for the next page; absent at the end of the journal. May be set even if nothing was
   * found.
   */
  next?: string
  /** The shards that could not be reached; absent if all could. */
  away?: number[]
}

export type CountedTimes = {
  /** `at`: the start of a span (Unix ms). `route`: only if asked for, and if the messages have one. */
  counts: { at: number; count: number; route?: string }[]
  /** Earlier times are not counted yet; absent if all are. */
  countedTo?: number
  /** The shards that could not be reached; absent if all could. */
  away?: number[]
}
