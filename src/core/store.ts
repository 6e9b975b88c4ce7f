import type { Event, NewEvent } from './event.ts'
import type { Json } from './json.ts'
import type { Accepted, Message, NewMessage } from './message.ts'
import type { MessageQuery, Outcome } from './message-query.ts'

/**
 * The store port; `test/contract/store.contract.ts` is its contract. What resolves is durable. Each method throws `store_unavailable`
 * (retryable) when the store cannot be reached; whether it wrote is then unknown, and repeating it must be harmless.
 */
export type Store = {
  readonly kind: 'embedded' | 'redis'
  /** Where it is, fit for a log line: no password. */
  readonly address: string
  readonly journal: Journal
  readonly receive: ReceiveQueue
  readonly topics: Topics
  readonly jobs: Jobs
  readonly kv: KeyValues
  readonly leases: Leases
  /** Absent where all who share the store share its data dir too. */
  readonly blobs?: Blobs
  /**
   * Calls `listener` after something became durable, in any process; returns the function that ends it. A signal is a hint:
   * it may come twice or late, and after a reconnect every listener is called once. `partition`: where, if that is known.
   */
  onSignal(name: Signal, listener: (partition?: number) => void): () => void
  /** When it was last away (Unix ms), 0 if never: it may have come back without its last writes. */
  awayAt(): number
  /** Resolves when the store took a write: one that is full can still be read. */
  ping(): Promise<void>
  stats(): Promise<StoreStats>
  /** What waits, for each road, gateway and state. It costs more than `stats`, and is bounded too. */
  oldestWaiting(): Promise<Waiting[]>
  /** Removes what is older than the policy allows, a bounded part per call; there may be more where anything was removed. */
  trim(policy: Retention): Promise<{ removed: number }>
  close(): Promise<void>
}

/**
 * `journal`: a message was accepted. `receive`: one may be taken. `topic:NAME`: an event was published or given back.
 * `jobs:QUEUE`: a job may be claimed. `job:ID`: a job with `notify` has ended. `kv:KEY`: it was written or deleted.
 */
export type Signal = 'journal' | 'receive' | `${'topic' | 'jobs' | 'job' | 'kv'}:${string}`

export type Journal = {
  /**
   * Appends messages, in one atomic step that makes each visible to `receive`, the topic `gateway-message` and the pump.
   * One whose (gateway, key) was there within seven days, or earlier in the call, changes nothing and gets the id of the
   * first. The answers stand in the order of the messages, as they do in every method that takes a list. Where only a part of the store
   * is away, the answers of what belongs there are errors. A long list may take several steps unless `together` is set; over shards
   * there is one step for each.
   */
  accept(messages: readonly NewMessage[], together?: boolean): Promise<Accepted[]>
  get(id: string): Promise<Message | undefined>
  /** Newest first: what matches in the part of the journal that can be looked at in a quarter of a second or so. */
  search(search: MessageSearch): Promise<FoundMessages>
  /** How each of these messages stands; undefined for one that is not retained. */
  outcomes(ids: readonly string[]): Promise<(Outcome | undefined)[]>
  /** Adds to a message's history; drops notes of one that is no longer retained. */
  note(id: string, notes: readonly Note[]): Promise<void>
  /** The notes on a message, oldest first, those that the store itself wrote (`receive`) among them. */
  history(id: string): Promise<Note[]>
  /** Messages after the dispatch cursor, oldest first; fewer than `max` where they are large (`LARGE_READ`). */
  unpumped(max: number): Promise<{ cursor: number; messages: Message[] }>
  /**
   * Moves the dispatch cursor from `cursor` to the message `last` and adds the jobs, in one atomic step. False, and nothing
   * done: another daemon moved it first, or the journal has lost that message.
   */
  pumped(cursor: number, last: string, jobs: readonly NewJob[]): Promise<boolean>
}

/** `before` is a message id to page on from; `outcomes`: only with one of these. */
export type MessageSearch = MessageQuery & {
  outcomes?: readonly Outcome[] | undefined
  before?: string | undefined
  limit: number
}

/** `next`: the id to page on from, absent at the end of the journal; there may be one where nothing was found. */
export type FoundMessages = { found: { message: Message; outcome: Outcome }[]; next?: string }

/** One line of a message's history: on which road what happened when. */
export type Note = { at: number; road: 'dispatch' | 'receive' | 'outbox'; what: string; detail?: Json }

export type ReceiveQueue = {
  /** Takes the oldest that matches; with `lease` (ms) it comes back unless acknowledged. Its history tells that, and `by` whom. */
  take(filter: ReceiveFilter, lease?: number, by?: string): Promise<Taken | undefined>
  /** Consumes a leased message. False: the lease has run out and the message may be with another. */
  ack(receipt: string): Promise<boolean>
  /** Gives a leased message back, to be taken again after `delay` ms (default 0). The receipt ends. False: as for `ack`. */
  release(receipt: string, delay?: number): Promise<boolean>
  /** Lets a lease run for `lease` ms from now. False: as for `ack`. */
  extend(receipt: string, lease: number): Promise<boolean>
  /** Puts a consumed message back to be taken. False: it is no longer retained. */
  restore(id: string): Promise<boolean>
  /** The message that a receipt holds; undefined where its lease has run out or ended. */
  leased(receipt: string): Promise<Message | undefined>
  /** When the next lease runs out (Unix ms), so that waiters need not poll. */
  nextExpiry(): Promise<number | undefined>
  /** In how many parts the messages lie, for the two methods that look at them one by one, from 0. */
  readonly parts: number
  /** Shows what may be taken and takes nothing, for takers that choose by what is in a message. */
  look(request: ReceiveLook): Promise<ReceiveLooked>
  /** Those of these positions at which a message is, oldest first; fewer where they are large (`LARGE_READ`), but one at least. */
  lookAt(part: number, positions: readonly number[]): Promise<PlacedMessage[]>
}

/** `only`: the message with this id, whatever is older. */
export type ReceiveFilter = { gateway?: string; conversation?: string; only?: string }

/** What was never taken after a position, oldest first, `max` at most. */
export type ReceiveLook = { part: number; gateway?: string | undefined; after: number; max: number }

/**
 * `to`: nothing else up to this position is for such a look. `isAll`: nothing else at all. `back`: the positions of what may be taken
 * again after it was taken, in order.
 */
export type ReceiveLooked = { messages: PlacedMessage[]; to: number; isAll: boolean; back: number[] }

export type PlacedMessage = { position: number; message: Message }

/** `missed`: how many messages of its gateway retention removed before anybody took them; told once. */
export type Taken = { message: Message; receipt?: string; missed?: number }

/**
 * `gateway-message` may lie in several partitions, each in order, one after the other from 0; reads for groups merge them, oldest
 * first to within a second. Other topics have one.
 */
export type Topics = {
  partitions(topic: string): number
  /** Where the event with this id lies; undefined for what is no id of ours. */
  placeOf(topic: string, id: string): { partition: number; position: number } | undefined
  /** Appends events to a topic, and returns their ids. Not for `gateway-message`. */
  publish(topic: string, events: readonly NewEvent[]): Promise<string[]>
  /** Makes the group, at the end of the topic or at the start of what is retained. One that is there keeps its place. */
  subscribe(topic: string, group: string, from: 'now' | 'start'): Promise<{ created: boolean }>
  unsubscribe(topic: string, group: string): Promise<boolean>
  /** Lets the group begin anew at the end or the start, with nothing held or missed, in one atomic step. False: it is not there. */
  seek(topic: string, group: string, to: 'now' | 'start'): Promise<boolean>
  /** With a partition only what waits there. */
  groups(topic?: string, partition?: number): Promise<GroupInfo[]>
  /**
   * Reads for several groups of one topic in one step; undefined is a group that is not there. Where events are large
   * (`LARGE_READ`) a group gets fewer than it asked for; an empty batch means that there is none.
   */
  read(topic: string, requests: readonly GroupRead[]): Promise<(GroupBatch | undefined)[]>
  /**
   * Consumes events, and returns how many. An id that stands for missed ones (`missedIn`) takes these off what reads tell.
   * `areRead`: the caller read them all from this topic, and none needs to be compared with what is there but the newest.
   */
  ack(topic: string, group: string, ids: readonly string[], areRead?: boolean): Promise<number>
  /** Gives events back: visible again after `delay` ms, at their old place. Returns how many. */
  nack(topic: string, group: string, ids: readonly string[], delay: number): Promise<number>
  /** Hides leased events for `lease` ms from now. Returns how many: those whose lease ran out are not. */
  extend(topic: string, group: string, ids: readonly string[], lease: number): Promise<number>
  /** Shows an event that the group has consumed to it once more, with no delivery counted. False: the group or the event is gone. */
  restore(topic: string, group: string, id: string): Promise<boolean>
  /** Reads without any group: events after a position (0: the start), and the position of each; fewer where they are large. */
  tail(
    topic: string,
    after: number,
    max: number,
    partition?: number,
  ): Promise<{ position: number; event: Event }[]>
  /** The position of the newest event; 0 for an empty topic. Positions count on by one. */
  end(topic: string, partition?: number): Promise<number>
}

/**
 * `consume`: the events returned are consumed. `peek`: nothing changes; of a `partition` what is up to the position `after` is left
 * out. `lease`: the group sees them again after so many ms.
 */
export type GroupRead = {
  group: string
  max: number
  mode: 'consume' | 'peek' | 'lease'
  lease?: number
  partition?: number
  after?: number
  /** Counts how often each event was delivered under a lease. */
  isCounted?: boolean
}

/** `missed`: how many events retention removed before this group read them: told once, by peeks until it is acknowledged. */
export type GroupBatch = {
  events: Event[]
  missed: number
  nextVisible?: number
  /** Of a counted lease: which delivery this is, of each event. */
  deliveries?: number[]
}

export type GroupInfo = { topic: string; group: string; lag: number; pending: number }

/** Durable jobs. Those of one lane run one at a time, in order; lanes run in parallel. A job that waits holds its lane. */
export type Jobs = {
  /** Adds jobs, except those whose id was added to the queue within seven days. */
  add(queue: string, jobs: readonly NewJob[]): Promise<{ added: boolean }[]>
  /**
   * Claims up to `max` due jobs at the heads of free lanes, the longest ready first; of a group as many as `limits` says,
   * where it names it. A job is the caller's until its lease (ms) runs out. Fewer where their messages are large.
   */
  claim(queue: string, request: Claim): Promise<ClaimedJobs>
  /**
   * Takes the untouched jobs of a group, by the same sender, that wait right behind a claimed job into that one, whose `collected` has their messages from
   * then on, and returns these. The history of each says `steered`. Undefined: the claim is lost.
   */
  follow(queue: string, claim: { id: string; token: string; group: string }): Promise<Message[] | undefined>
  /** Ends claims, each as its outcome says. False: the claim ran out, and another has the job. An error: its part of the store is away. */
  settle(queue: string, outcomes: readonly Settled[]): Promise<(boolean | Error)[]>
  /** Heads of lanes that are held, by their ids from after that one on. A short page is not the end, an empty one is. */
  held(queue: string, after: string, limit: number): Promise<HeldJob[]>
  /** Lets held jobs be claimed, each at its old place. Returns how many. */
  unhold(queue: string, ids: readonly string[]): Promise<number>
  /** Renews the leases; answers false for claims that are lost. */
  renew(queue: string, claims: readonly { id: string; token: string }[], lease: number): Promise<boolean[]>
  /** How a job ended that is dead, or was done within seven days and had `notify`; undefined for every other. */
  end(queue: string, id: string): Promise<JobEnd | undefined>
  deadLetters: {
    /** Newest first, by time and then by id; fewer where they are large (`LARGE_READ`): only an empty page is the end. */
    list(filter: LetterFilter): Promise<DeadLetter[]>
    ids(): Promise<string[]>
    /** Without `queue` the newest of that id, as in what follows. */
    get(id: string, queue?: string): Promise<DeadLetter | undefined>
    /** Puts it back at the end of its lane with fresh attempts. False: there is no such dead letter. */
    retry(id: string, queue?: string): Promise<boolean>
    drop(id: string, queue?: string): Promise<boolean>
  }
}

export type NewJob = {
  /** Unique in its queue. For dispatch: the message id. */
  id: string
  lane: string
  /** What limits concurrency: the route for dispatch, the gateway for the outbox. */
  group: string
  /** The message it belongs to, delivered with the claim. It is retained while the job lives. */
  messageId?: string
  data?: Json
  /** Remembers the result and the fact that it ended, and sends the signal `job:ID`. */
  notify?: boolean
}

export type Claim = {
  max: number
  lease: number
  limits?: Record<string, number>
  /** Of jobs for one message each, by group. */
  busy?: Record<string, BusyLane>
}

/**
 * What a claim does with the jobs of one group and one sender that stand first in a lane and that nobody has claimed yet. `merge`: the newest is claimed,
 * with the messages of the others, which are gone; their histories say that word. `settle`: not before the newest is so many ms old, or
 * the first ten times that.
 */
export type BusyLane = { merge?: 'collected' | 'superseded'; settle?: number }

export type HeldJob = Pick<NewJob, 'id' | 'lane' | 'group'>

/** `nextDue`: when something may become claimable with no signal (a retry, a lease that runs out). */
export type ClaimedJobs = { jobs: ClaimedJob[]; nextDue?: number }

export type ClaimedJob = NewJob & {
  token: string
  /** Whole attempts before this one that failed. */
  failures: number
  /** Claims that ran out without an outcome: the holder died, and what it did is unknown. */
  lost: number
  errors: AttemptError[]
  message?: Message
  /** Messages that went into this job, oldest first. */
  collected?: Message[]
}

export type AttemptError = { at: number; code: string; message: string; stack?: string }

/**
 * `result` is kept seven days for jobs with `notify`. `retry`: a failed attempt, again after `delay` ms. `release`: given back
 * unchanged (drain, reload), which is no attempt. `hold`: the same, and nobody claims it or what is behind it before `unhold`.
 */
export type Settled = { id: string; token: string; notes?: readonly Note[] } & (
  | { outcome: 'done'; result?: Json }
  | { outcome: 'retry'; delay: number; error: AttemptError }
  | { outcome: 'release'; delay?: number }
  | { outcome: 'hold' }
  | { outcome: 'dead'; error: AttemptError; reason: DeadReason }
)

/** `ambiguous`: a send whose outcome is unknown and that must not be repeated blindly. */
export type DeadReason = 'attempts' | 'permanent' | 'ambiguous'

export type JobEnd = { state: 'done'; result?: Json } | { state: 'dead'; error: AttemptError }

/** `before`: a place to page on from. */
export type LetterFilter = {
  queue?: string | undefined
  group?: string | undefined
  before?: Pick<DeadLetter, 'at' | 'id'> | undefined
  limit: number
}

/** Its message is kept whole, also when retention has removed it from the journal. */
export type DeadLetter = Pick<
  ClaimedJob,
  'id' | 'lane' | 'group' | 'data' | 'errors' | 'message' | 'collected'
> & {
  queue: string
  at: number
  reason: DeadReason
}

export type KeyValues = {
  get(key: string): Promise<{ value: Json; version: number } | undefined>
  /** Returns the new version; undefined where the key has another than `ifVersion` (0: is absent). `ttl` in ms. */
  set(key: string, value: Json, options?: { ttl?: number; ifVersion?: number }): Promise<number | undefined>
  delete(key: string): Promise<boolean>
  /** Keys with that prefix, sorted. */
  list(prefix: string, limit: number): Promise<string[]>
}

/** Bytes by name, for what is too large for a message. Each is gone after its `ttl` (ms). */
export type Blobs = {
  set(name: string, bytes: Uint8Array, ttl: number): Promise<void>
  get(name: string): Promise<Uint8Array | undefined>
  /** Gives it `ttl` ms from now at least. False: it is not there. */
  renew(name: string, ttl: number): Promise<boolean>
}

/** Mutual exclusion with a fencing token that grows with every new holder. */
export type Leases = {
  /** Takes or renews the lease for `ttl` ms. Undefined: another holds it. A renewal keeps its token. */
  acquire(name: string, owner: string, ttl: number): Promise<{ token: number } | undefined>
  release(name: string, owner: string): Promise<void>
}

/** Ages in ms. What the pump has not seen, and what an unfinished job needs, is never removed. */
export type Retention = {
  journal: { maxAge: number; maxCount: number }
  /** Overrides for single gateways and for single topics. The count of a gateway lies within that of the journal. */
  gateways?: Record<string, { maxAge?: number; maxCount?: number }>
  topics?: Record<string, { maxAge?: number; maxCount?: number }>
  /** The most dead letters of a queue (default 5,000); the oldest of more go. */
  deadLetters?: number
}

/**
 * What waits on a road of a gateway, and since when. On `receive` for a consumer; on a queue the jobs that are neither running
 * nor dead, among its 1,000 oldest that a message names; on `dispatch` also what is not a job yet. `gateway` is empty for
 * other queues. `oldestAt`: when the oldest message came in, or was put back from the dead letters.
 */
export type Waiting = { road: string; gateway: string; oldestAt: number } & (
  | { state: 'waiting' }
  /** Jobs whose attempt failed, or that wait for a set time. `nextAt`: when the first of these is due (Unix ms). */
  | { state: 'retrying'; count: number; nextAt: number }
)

export type StoreStats = {
  /** The shards that could not be asked; the numbers are of the others. */
  away?: number[]
  journal: { messages: number; oldestAt?: number }
  /**
   * `lost`: by gateway, how many messages retention has removed untaken, where the last that was taken (and not as part of
   * a conversation) was less than seven days older.
   */
  receive: { ready: number; leased: number; oldestAt?: number; lost: Record<string, number> }
  dispatch: { unpumped: number; oldestAt?: number }
  /** `oldestAt`: when the message came in that names the oldest unfinished job; absent where none names it. */
  jobs: { queue: string; waiting: number; running: number; dead: number; oldestAt?: number }[]
}
