import type { Erasing } from './erasing.ts'
import type { Event, NewEvent } from './event.ts'
import type { Json } from './json.ts'
import type { Accepted, Message, NewMessage } from './message.ts'
import type { MessageQuery, Outcome } from './message-query.ts'
import type { Note } from './note.ts'
import type { QueueStats } from './queue-stats.ts'
import type { Retention, Trimmed } from './retention.ts'

export type { Note }

/**
 * The store port. `test/contract/store.contract.ts` is its contract. A resolved write is durable. Each method throws `store_unavailable`
 * (retryable) if the store cannot be reached; the write may then have happened, so repeating it must be harmless.
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
   * Calls `listener` after a durable change in any process; returns a function that unsubscribes. Signals are hints: they may be
   * repeated or late, and after a reconnect every listener is called once. `partition`: where it changed, if known.
   */
  onSignal(name: Signal, listener: (partition?: number) => void): () => void
  /** When the store was last unreachable (Unix ms), 0 if never. It may have returned without its last writes. */
  awayAt(): number
  /** Resolves after a successful write: a full store can still be read. */
  ping(): Promise<void>
  stats(): Promise<StoreStats>
  /** Counts what waits, by road, gateway and state. Bounded, but more expensive than `stats`. */
  oldestWaiting(): Promise<Waiting[]>
  /** Removes a limited number of the entries that the policy no longer retains. */
  trim(policy: Retention): Promise<Trimmed>
  close(): Promise<void>
}

/**
 * `journal`: a message was accepted. `receive`: a message can be taken. `topic:NAME`: an event was published or released.
 * `jobs:QUEUE`: a job can be claimed. `job:ID`: a job with `notify` ended. `kv:KEY`: the key was written or deleted.
 */
export type Signal = 'journal' | 'receive' | `${'topic' | 'jobs' | 'job' | 'kv'}:${string}`

/**
 * The result of a read that may stop early: at the requested number, or because the items are large (`LARGE_READ`).
 * `more: false`: nothing was left. `more: true`: the next read continues from here, and may find nothing.
 */
export type Page<Item> = { items: Item[]; more: boolean }

export type Journal = {
  /**
   * Appends messages in one atomic step, which makes each visible to `receive`, the topic `gateway-message` and the pump.
   * A message whose (gateway, key) was seen within seven days, or earlier in the call, changes nothing and gets the id of the
   * first. Results are in the order of the messages, as in every method that takes a list. If only part of the store is
   * unreachable, the results for that part are errors. A long list may take several steps unless `together` is set; each shard
   * takes one step.
   */
  accept(messages: readonly NewMessage[], together?: boolean): Promise<Accepted[]>
  get(id: string): Promise<Message | undefined>
  /** Matches in the part of the journal that can be scanned in about a quarter of a second, newest first. */
  search(search: MessageSearch): Promise<FoundMessages>
  /**
   * Counts messages by time, in spans of `width` ms that begin at multiples of it: newest first,
   * without empty spans. Scans what it can in about a quarter of a second, but at least one span.
   * Ignores the search's text and sender.
   */
  countByTime(search: Omit<MessageSearch, 'limit' | 'before'>, width: number): Promise<CountedTimes>
  /** The outcome of each message; undefined if it is no longer retained. */
  outcomes(ids: readonly string[]): Promise<(Outcome | undefined)[]>
  /** Adds to a message's history. Notes on messages that are no longer retained are dropped. */
  note(id: string, notes: readonly Note[]): Promise<void>
  /** The history of a message, oldest first, including the notes that the store itself writes (`receive`). */
  history(id: string): Promise<Note[]>
  /** Messages after the dispatch cursor, oldest first. */
  unpumped(max: number): Promise<Unpumped>
  /**
   * Moves the dispatch cursor from `cursor` to the message `last` and adds the jobs, in one atomic step. False, and nothing
   * done: another daemon moved it first, or the journal has lost that message.
   */
  pumped(cursor: number, last: string, jobs: readonly NewJob[]): Promise<boolean>
}

export type Unpumped = Page<Message> & { cursor: number }

/** `before`: the message id from which to continue. `outcomes`: only messages with one of these outcomes. */
export type MessageSearch = MessageQuery & {
  outcomes?: readonly Outcome[] | undefined
  before?: string | undefined
  limit: number
}

/** `next`: the id for the next page, absent at the end of the journal. May be set even if nothing was found. */
export type FoundMessages = { found: { message: Message; outcome: Outcome }[]; next?: string }

/** `countedTo`: earlier times are not counted yet; absent if all are. */
export type CountedTimes = { counts: { at: number; count: number }[]; countedTo?: number }

export type ReceiveQueue = {
  /** Takes the oldest match. With `lease` (ms) it is redelivered unless acknowledged. The history records this, and `by` whom. */
  take(filter: ReceiveFilter, lease?: number, by?: string): Promise<Taken | undefined>
  /** Consumes a leased message. False: the lease expired and another consumer may have the message. */
  ack(receipt: string): Promise<boolean>
  /** Releases a leased message, which can be taken again after `delay` ms (default 0). Ends the receipt. False: as for `ack`. */
  release(receipt: string, delay?: number): Promise<boolean>
  /** Extends a lease to `lease` ms from now. False: as for `ack`. */
  extend(receipt: string, lease: number): Promise<boolean>
  /** Makes a consumed message available again. False: it is no longer retained. */
  restore(id: string): Promise<boolean>
  /** The message of a receipt; undefined if the lease has ended. */
  leased(receipt: string): Promise<Message | undefined>
  /** When the next lease expires (Unix ms), so that waiters need not poll. */
  nextExpiry(): Promise<number | undefined>
  /** Number of parts (shards), numbered from 0, for `look` and `lookAt`. */
  readonly parts: number
  /** Lists messages that can be taken without taking them, for consumers that filter by content. */
  look(request: ReceiveLook): Promise<ReceiveLooked>
  /** The messages at these positions, oldest first, at least one. */
  lookAt(part: number, positions: readonly number[]): Promise<Page<PlacedMessage>>
}

/** `only`: the message with this id, even if older ones wait. */
export type ReceiveFilter = { gateway?: string; conversation?: string; only?: string }

/** Asks for up to `max` messages after a position that were never taken, oldest first. */
export type ReceiveLook = { part: number; gateway?: string | undefined; after: number; max: number }

/**
 * `to`: nothing else up to this position matches the request. `back`: positions of messages that were taken and can be taken again,
 * ascending.
 */
export type ReceiveLooked = Page<PlacedMessage> & { to: number; back: number[] }

export type PlacedMessage = { position: number; message: Message }

/** `missed`: number of messages of the gateway that expired unread; reported once. */
export type Taken = { message: Message; receipt?: string; missed?: number }

/**
 * `gateway-message` may have several partitions, numbered from 0, each in order. Reads for groups merge them by age, to
 * within a second. Other topics have one partition.
 */
export type Topics = {
  partitions(topic: string): number
  /** The place of an event; undefined if the id is not one of ours. */
  placeOf(topic: string, id: string): { partition: number; position: number } | undefined
  /** Appends events to a topic and returns their ids. Not for `gateway-message`. */
  publish(topic: string, events: readonly NewEvent[]): Promise<string[]>
  /** Creates a group at the end of the topic or at the oldest retained event. An existing group keeps its position. */
  subscribe(topic: string, group: string, from: 'now' | 'start'): Promise<{ created: boolean }>
  unsubscribe(topic: string, group: string): Promise<boolean>
  /** Moves a group to the end or the start and clears its leases and missed count, atomically. False: no such group. */
  seek(topic: string, group: string, to: 'now' | 'start'): Promise<boolean>
  /** With `partition`, counts only what waits there. */
  groups(topic?: string, partition?: number): Promise<GroupInfo[]>
  /** Reads for several groups of one topic in one step; undefined for a group that does not exist. Empty: there are no events. */
  read(topic: string, requests: readonly GroupRead[]): Promise<(GroupBatch | undefined)[]>
  /**
   * Consumes events and returns their number. The id of a gap (`missedIn`) clears the missed count that reads report.
   * `areRead`: the caller read all of them from this topic, so only the newest needs to be checked. `round`: the round in which they
   * were read. Events that were redelivered since then are not consumed.
   */
  ack(topic: string, group: string, ids: readonly string[], as?: AckOptions): Promise<number>
  /** Releases events, which become visible again after `delay` ms at their old position. Returns their number. */
  nack(topic: string, group: string, ids: readonly string[], delay: number): Promise<number>
  /** Extends leases to `lease` ms from now. Returns how many; expired leases are not extended. */
  extend(topic: string, group: string, ids: readonly string[], lease: number): Promise<number>
  /** Counts the positions in (`after`, `last`] that a group has not consumed: unread, returned or leased. Undefined: no such group. */
  unread(topic: string, group: string, range: PositionRange): Promise<number | undefined>
  /** Redelivers an event that the group has read in a new `round`, with its delivery count reset. False: the group or the event is gone. */
  restore(topic: string, group: string, id: string, round: number): Promise<boolean>
  /** Reads without a group: events after a position (0: the start), with their positions. */
  tail(topic: string, after: number, max: number, partition?: number): Promise<Page<PlacedEvent>>
  /** The position of the newest event; 0 for an empty topic. Positions increase by one. */
  end(topic: string, partition?: number): Promise<number>
}

export type PlacedEvent = { position: number; event: Event }

/**
 * `consume`: returned events are consumed. `peek`: nothing changes; in a `partition`, events up to position `after` are skipped.
 * `lease`: the group sees the events again after that many ms.
 */
export type GroupRead = {
  group: string
  max: number
  mode: 'consume' | 'peek' | 'lease'
  lease?: number
  partition?: number
  after?: number
  /** Count deliveries of each event under a lease. */
  isCounted?: boolean
  /** Return the round of each event. Repeated deliveries keep it; `restore`, `seek` and a recreated group start another one. */
  withRounds?: boolean
}

export type PositionRange = { after: number; last: number; partition?: number }
export type AckOptions = { areRead?: boolean; round?: number }

/** `missed`: events that expired before this group read them. Reported once; peeks report it until acknowledged. */
export type GroupBatch = Page<Event> & {
  missed: number
  nextVisible?: number
  /** With a counted lease: the delivery number of each event. */
  deliveries?: number[]
  rounds?: number[]
}

export type GroupInfo = { topic: string; group: string; lag: number; pending: number }

/** Durable jobs. Jobs of one lane run one at a time, in order; lanes run in parallel. A waiting job blocks its lane. */
export type Jobs = {
  /** Adds jobs, except those whose id was added to the queue within the last seven days. */
  add(queue: string, jobs: readonly NewJob[]): Promise<{ added: boolean }[]>
  /**
   * Claims up to `max` due jobs at the heads of free lanes, those ready longest first, and at most `limits[group]` per group.
   * A job belongs to the caller until its lease (ms) expires. `more`: other jobs are due, within the limits or beyond them.
   */
  claim(queue: string, request: Claim): Promise<ClaimedJobs>
  /**
   * Merges the unclaimed jobs of the same group and sender that directly follow a claimed job into that job, and returns their
   * messages, which are then in its `collected`. The history of each says `steered`. Undefined: the claim is lost.
   */
  follow(queue: string, claim: { id: string; token: string; group: string }): Promise<Message[] | undefined>
  /** Ends claims with their outcomes. False: the claim expired and another process has the job. An error: its shard is unreachable. */
  settle(queue: string, outcomes: readonly Settled[]): Promise<(boolean | Error)[]>
  /** Held heads of lanes with ids after `after`. */
  held(queue: string, after: string, limit: number): Promise<Page<HeldJob>>
  /** Makes held jobs claimable again at their old place. Returns their number. */
  unhold(queue: string, ids: readonly string[]): Promise<number>
  /** Makes jobs that wait for another attempt claimable now: all, or those with these ids. Returns their number. */
  hasten(queue: string, ids?: readonly string[]): Promise<number>
  /** When the next unclaimed job is due (Unix ms), possibly in the past; undefined if none is. */
  nextDue(queue: string): Promise<number | undefined>
  /** Renews leases; false for lost claims. */
  renew(queue: string, claims: readonly { id: string; token: string }[], lease: number): Promise<boolean[]>
  /** How a job ended: for dead jobs, and for jobs with `notify` that ended within seven days. Else undefined. */
  end(queue: string, id: string): Promise<JobEnd | undefined>
  deadLetters: {
    /** Newest first, by time and then id. */
    list(filter: LetterFilter): Promise<Page<DeadLetter>>
    ids(): Promise<string[]>
    /** Without `queue`, the newest with that id; also in the methods below. */
    get(id: string, queue?: string): Promise<DeadLetter | undefined>
    /** Puts the job at the end of its lane with all attempts available. False: no such dead letter. */
    retry(id: string, queue?: string): Promise<boolean>
    drop(id: string, queue?: string): Promise<boolean>
  }
}

export type NewJob = {
  /** Unique within its queue. In dispatch, the message id. */
  id: string
  lane: string
  /** Unit of limited concurrency: the route in dispatch, the gateway in the outbox. */
  group: string
  /** The job's message, delivered with the claim and retained while the job exists. */
  messageId?: string
  data?: Json
  /** Keeps the result, and sends the signal `job:ID` at the end. */
  notify?: boolean
}

export type Claim = {
  max: number
  lease: number
  limits?: Record<string, number>
  /** For jobs with one message each, by group. */
  busy?: Record<string, BusyLane>
}

/**
 * How a claim treats the unclaimed jobs of one group and sender at the head of a lane. `merge`: claim the newest with the
 * messages of the others, which are removed; their histories record that word. `settle`: wait until the newest is this many
 * ms old, or the first one ten times that.
 */
export type BusyLane = { merge?: 'collected' | 'superseded'; settle?: number }

export type HeldJob = Pick<NewJob, 'id' | 'lane' | 'group'>

/** `nextDue`: when a job may become claimable without a signal (a retry, an expiring lease). */
export type ClaimedJobs = Page<ClaimedJob> & { nextDue?: number }

export type ClaimedJob = NewJob & {
  token: string
  /** Number of failed attempts before this one. */
  failures: number
  /** Number of claims that expired without an outcome: the holder died, and its effects are unknown. */
  lost: number
  errors: AttemptError[]
  /** It was a dead letter that someone retried, possibly long after its message arrived. */
  requeued?: boolean
  message?: Message
  /** Messages merged into this job, oldest first. */
  collected?: Message[]
}

export type AttemptError = { at: number; code: string; message: string; stack?: string }

/**
 * `result` is kept for seven days for jobs with `notify`. `retry`: the attempt failed; try again after `delay` ms. `release`:
 * returned unchanged (drain, reload), not counted as an attempt. `hold`: the same, and blocks the lane until `unhold`.
 */
export type Settled = { id: string; token: string; notes?: readonly Note[] } & (
  | { outcome: 'done'; result?: Json }
  | { outcome: 'retry'; delay: number; error: AttemptError }
  | { outcome: 'release'; delay?: number }
  | { outcome: 'hold' }
  | { outcome: 'dead'; error: AttemptError; reason: DeadReason }
)

/** `ambiguous`: a send with an unknown outcome, which must not be repeated without a check. */
export type DeadReason = 'attempts' | 'permanent' | 'ambiguous'

export type JobEnd = { state: 'done'; result?: Json } | { state: 'dead'; error: AttemptError }

/** `before`: the place from which to continue. */
export type LetterFilter = {
  queue?: string | undefined
  group?: string | undefined
  before?: Pick<DeadLetter, 'at' | 'id'> | undefined
  limit: number
}

/** Contains the whole message, even after retention has removed it from the journal. */
export type DeadLetter = Pick<
  ClaimedJob,
  'id' | 'lane' | 'group' | 'data' | 'errors' | 'message' | 'collected'
> & {
  queue: string
  at: number
  reason: DeadReason
}

export type SetOptions = { ttl?: number; ifVersion?: number; keepTtl?: boolean }

export type KeyValues = {
  get(key: string): Promise<{ value: Json; version: number } | undefined>
  /**
   * Returns the new version; undefined if the current version is not `ifVersion` (0: absent). `ttl` in ms; `keepTtl` keeps the expiry of
   * the previous value.
   */
  set(key: string, value: Json, options?: SetOptions): Promise<number | undefined>
  delete(key: string): Promise<boolean>
  /** Keys with the prefix, sorted by bytes, after the key `after`. To read all, use `allKeys`. */
  list(prefix: string, limit: number, after?: string): Promise<Page<string>>
}

/** Bytes by name, for data too large for a message. Entries expire after `ttl` (ms). */
export type Blobs = {
  set(name: string, bytes: Uint8Array, ttl: number): Promise<void>
  get(name: string): Promise<Uint8Array | undefined>
  delete(name: string): Promise<void>
  /** Extends the expiry to at least `ttl` ms from now. False: no such entry. */
  renew(name: string, ttl: number): Promise<boolean>
}

/** Mutual exclusion with a fencing token that increases with every new holder. */
export type Leases = {
  /** Takes or renews a lease for `ttl` ms. Undefined: another owner holds it. A renewal keeps its token. */
  acquire(name: string, owner: string, ttl: number): Promise<{ token: number } | undefined>
  release(name: string, owner: string): Promise<void>
}

/**
 * Backlog of a road and gateway. `receive`: messages waiting for a consumer. A queue: jobs that are neither running nor dead,
 * among its 1,000 oldest with a message. `dispatch`: also messages that are not jobs yet. `gateway` is empty for other
 * queues. `oldestAt`: when the oldest message arrived, or was retried as a dead letter. `held`: of something paused.
 */
export type Waiting = { road: string; gateway: string; oldestAt: number } & (
  | { state: 'waiting' | 'held' }
  /** Jobs in back-off, or scheduled for a later time. `nextAt`: when the first one is due (Unix ms). */
  | { state: 'retrying'; count: number; nextAt: number }
)

export type StoreStats = {
  /** Unreachable shards; the numbers cover the others. */
  away?: number[]
  journal: { messages: number; oldestAt?: number }
  /** `lost`: messages per gateway that expired untaken, if a consumer of the whole gateway took one within seven days before. */
  receive: { ready: number; leased: number; oldestAt?: number; lost: Record<string, number> }
  dispatch: { unpumped: number; oldestAt?: number }
  jobs: QueueStats[]
}
