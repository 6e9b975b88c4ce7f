import type { Erasing } from './erasing.ts'
import type { Note } from './note.ts'
import type { QueueStats } from './queue-stats.ts'
import type { Retention, Trimmed } from './retention.ts'
import type { Jobs } from './store/jobs.ts'
import type { Journal } from './store/journal.ts'
import type { Blobs, KeyValues, Leases } from './store/key-values.ts'
import type { ReceiveQueue } from './store/receive-queue.ts'
import type { Topics } from './store/topics.ts'

export type * from './store/jobs.ts'
export type * from './store/journal.ts'
export type * from './store/key-values.ts'
export type * from './store/page.ts'
export type * from './store/receive-queue.ts'
export type * from './store/topics.ts'
export type { Note }

/**
 * The store port. `test/contract/store.contract.ts` is its contract. A resolved write is durable.
 * Each method throws `store_unavailable` (retryable) if the store cannot be reached; the write may
 * then have happened, so repeating it must be harmless.
 */
export type Store = {
  readonly kind: 'embedded' | 'redis'
  /** Location for log lines, without a password. */
  readonly address: string
  readonly journal: Journal
  readonly receive: ReceiveQueue
  readonly topics: Topics
  readonly jobs: Jobs
  readonly kv: KeyValues
  readonly leases: Leases
  readonly erasing: Erasing
  /** Absent if all processes that share the store also share its data directory. */
  readonly blobs?: Blobs
  /**
   * Calls `listener` after a durable change in any process; returns a function that unsubscribes.
   * Signals are hints: they may be repeated or late, and after a reconnect every listener is called
   * once. `partition`: the number of the partition of the topic (or of the shard) that changed, if
   * known.
   */
  onSignal(name: Signal, listener: (partition?: number) => void): () => void
  /**
   * When the store was last unreachable (Unix ms), 0 if never. It may have returned without its
   * last writes.
   */
  awayAt(): number
  /** Checks the store by a write, because a full store can still be read. */
  ping(): Promise<void>
  stats(): Promise<StoreStats>
  /**
   * For each combination of road (or queue), gateway and state: the oldest waiting message or job.
   * Bounded, but more expensive than `stats`.
   */
  oldestWaiting(): Promise<Waiting[]>
  /** Removes a limited number of the entries that the policy no longer retains. */
  trim(policy: Retention): Promise<Trimmed>
  close(): Promise<void>
}

export type Signal =
  /** A message was accepted. */
  | 'journal'
  /** A message can be taken. */
  | 'receive'
  /** An event of the topic was published or released. */
  | `topic:${string}`
  /** A job of the queue can be claimed. */
  | `jobs:${string}`
  /** The job with this id, which has `notify`, ended. */
  | `job:${string}`
  /** The key was written or deleted. */
  | `kv:${string}`

/** The oldest message or job in one state. */
export type Waiting = {
  /**
   * `receive`: messages that wait for a consumer. `dispatch`: messages that have no job yet, and
   * jobs. Otherwise the name of another queue. Only the 1,000 oldest jobs of a queue are examined.
   * Left out: jobs without a message, and running and dead ones, which do not wait.
   */
  road: string
  /** Empty for queues other than dispatch and outbox. */
  gateway: string
  /** When it arrived, or was retried as a dead letter (Unix ms). */
  oldestAt: number
} & (Ready | Retrying)

/** `held`: it waits because something is paused. */
type Ready = { state: 'waiting' | 'held' }

/** Jobs in back-off, or scheduled for a later time. */
type Retrying = {
  state: 'retrying'
  count: number
  /** When the first one is due (Unix ms). */
  nextAt: number
}

export type StoreStats = {
  /** Unreachable shards; the numbers cover the others. */
  away?: number[]
  journal: { messages: number; oldestAt?: number }
  receive: {
    ready: number
    leased: number
    oldestAt?: number
    /**
     * Messages that expired before anyone took them, by gateway. A message counts only if a
     * consumer had received from its gateway, without naming a conversation, in the seven days
     * before the message arrived.
     */
    lost: Record<string, number>
  }
  dispatch: { unpumped: number; oldestAt?: number }
  jobs: QueueStats[]
}
