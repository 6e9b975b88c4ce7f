import type { Message } from '../message.ts'
import type { Page } from './page.ts'

/** The receive road: each message goes to one consumer. */
export type ReceiveQueue = {
  /**
   * Takes the oldest match. Without `lease` the message is consumed. With a lease (ms), it can be
   * taken again after that time unless it is acknowledged. The history records who took it (`by`).
   */
  take(filter: ReceiveFilter, lease?: number, by?: string): Promise<Taken | undefined>
  /**
   * Consumes a leased message. Returns false if the lease expired: another consumer may have it.
   */
  ack(receipt: string): Promise<boolean>
  /**
   * Releases a leased message, which can be taken again after `delay` ms (default 0). Ends the
   * receipt. Returns false like `ack`.
   */
  release(receipt: string, delay?: number): Promise<boolean>
  /** Extends a lease to `lease` ms from now. Returns false like `ack`. */
  extend(receipt: string, lease: number): Promise<boolean>
  /** Makes a consumed message available again. Returns false if it is no longer retained. */
  restore(id: string): Promise<boolean>
  /** The message of a receipt; undefined if the lease has ended. */
  leased(receipt: string): Promise<Message | undefined>
  /** When the next lease expires (Unix ms), so that waiters need not poll. */
  nextExpiry(): Promise<number | undefined>
  /** The messages of a gateway that can be taken now; see `Backlog`. */
  backlog(gateway: string): Promise<Backlog>
  /** Number of parts (shards), numbered from 0, for `look` and `lookAt`. */
  readonly parts: number
  /**
   * Reads messages without taking them, for consumers that filter by content: those that were never
   * taken, and the positions (for `lookAt`) of those that can be taken again.
   */
  look(request: ReceiveLook): Promise<ReceiveLooked>
  /**
   * The messages at these positions, oldest first. A page has at least one message, even if that
   * message alone exceeds the size of a page.
   */
  lookAt(part: number, positions: readonly number[]): Promise<Page<PlacedMessage>>
}

/**
 * `messages` that wait for a consumer, without those under a lease. `oldestAt`: when the oldest
 * arrived (Unix ms). `more`: there may be more; counting stops at 10,000,
 * and earlier if many later messages were taken already.
 */
export type Backlog = { messages: number; oldestAt?: number; more: boolean }

export type ReceiveFilter = {
  gateway?: string
  conversation?: string
  /** Only the message with this id, even if older ones wait. */
  only?: string
}

export type ReceiveLook = {
  part: number
  gateway?: string | undefined
  /** The position after which to start. */
  after: number
  max: number
}

export type ReceiveLooked = Page<PlacedMessage> & {
  /** The position up to which `items` is complete. The next request starts after it. */
  to: number
  /** Positions of messages that were taken and can be taken again, ascending. */
  back: number[]
}

export type PlacedMessage = { position: number; message: Message }

export type Taken = {
  message: Message
  /** Present with a lease. */
  receipt?: string
  /** Number of messages of the gateway that expired unread; reported once. */
  missed?: number
}
