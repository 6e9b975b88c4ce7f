import type { Readable } from 'node:stream'
import { z } from 'zod'
import type {
  AssistantService,
  CallService,
  ScheduleService,
  WorkbenchService,
} from './assistant-services.ts'
import type { Call } from './call.ts'
import type { Event } from './event.ts'
import type { Json } from './json.ts'
import type { Attachment, Message } from './message.ts'
import type { DeadLetter, KeyValues, MessageFilter, Note, ReceiveFilter, Taken } from './store.ts'
import type { Health, Refused, Reply } from './transport.ts'

/** `ctx.services`: what the shipped skills work on. A skill calls its method with arguments that its schema has validated. */
export type Services = {
  events: EventService
  receive: ReceiveService
  send: SendService
  messages: MessageService
  deadLetters: DeadLetterService
  subscriptions: SubscriptionService
  gateways: GatewayService
  state: Record<StateStoreName, StateBackend>
  callbacks: CallbackService
  approvals: ApprovalService
  sessions: SessionService
  assistant: AssistantService
  schedules: ScheduleService
  workbench: WorkbenchService
  calls: CallService
  artifacts: ArtifactService
}

export type EventService = {
  /** Publishes one event. Throws `topic_reserved` for `gateway-message`. */
  emit(args: { topic: string; type?: string; data: Json }, call: Call): Promise<{ id: string }>
  /** Makes the consumer group `queue`, or one of `call.rootId`. Idempotent. With `ref` that skill is invoked for each event. */
  subscribe(
    args: { topic: string; queue?: string; replay: boolean; ref?: string },
    call: Call,
  ): Promise<{ topic: string; queue: string; created: boolean }>
  unsubscribe(args: { topic: string; queue?: string; ref?: string }, call: Call): Promise<{ ok: boolean }>
  /**
   * Events at once, or those that come within `timeout` ms, or `[]`. Without `queue` it reads the caller's own group, and
   * without one of those waits for what comes next.
   */
  wait(
    args: { topic: string; queue?: string; timeout: number; ack: boolean; max: number; lease?: number },
    call: Call,
  ): Promise<Event[]>
  /** Consumes events, or with `nack` gives them back, visible again after `delay` ms. */
  ack(
    args: { topic: string; queue: string; ids: string[]; nack: boolean; delay: number },
    call: Call,
  ): Promise<{ count: number }>
}

export type ReceiveService = {
  /** The oldest message within `timeout` ms, else null. A call inside a conversation means that, unless it names another. */
  receive(
    args: ReceiveFilter & { timeout: number; lease?: number },
    call: Call,
  ): Promise<ReceivedMessage | null>
  ack(args: { receipt: string }, call: Call): Promise<{ ok: boolean }>
}

/** A taken message. `receipt`: it was taken with a lease. */
export type ReceivedMessage = Message & Omit<Taken, 'message'>

export type SendService = {
  /**
   * Puts a reply into the outbox, and waits `wait` ms for the transport's receipt. It answers the message of the call, or
   * that of `messageId` or `receipt`. A `key` is sent once for the message; without one it is `message:route:ordinal`.
   * `data` is for the transport: blocks in Slack. Throws `no_reply_target`, `target_not_allowed`, `message_not_found`,
   * `receipt_expired`, `forbidden`, `send_rejected` where `data` asks for what only Trivium itself sends.
   */
  send(
    args: Pick<Reply, 'text' | 'subject' | 'attachments' | 'data'> &
      Partial<Pick<Reply, 'gateway' | 'to' | 'key'>> & {
        messageId?: string
        receipt?: string
        wait?: number
      },
    call: Call,
  ): Promise<{ key: string; sent: boolean; duplicate: boolean; receipt?: Json }>
}

/** Who asks for a file, and in which conversation. */
export type FileAsking = Pick<Call, 'caller' | 'message'>

/** Files: what `ctx.artifacts` and the control API work on. */
export type ArtifactService = {
  /** Keeps up to 25 MB, to be attached to replies. Throws `artifact_too_large`, `forbidden`, `store_unavailable`. */
  save(args: { name: string; type: string; data: FileData }, asking: FileAsking): Promise<Attachment>
  /** `messageId` brought it, where the call is not about that. Throws `artifact_not_found`, also where it is not for the caller. */
  open(
    args: { artifact: string | Pick<Attachment, 'sha256'>; messageId?: string },
    asking: FileAsking,
  ): Promise<Readable>
  /** Throws as `open` unless the caller may send all of them; `named` is the message that is answered. */
  requireAll(attachments: readonly Attachment[], asking: FileAsking, named?: Message): Promise<void>
}

export type FileData = string | Uint8Array | Readable

export type MessageService = {
  /** `history` begins with how it was accepted; `receive` and `events`: how it stands there. Throws `message_not_found`. */
  show(
    args: { id: string },
    call: Call,
  ): Promise<{ message: Message; history: HistoryLine[]; receive: ReceiveStanding; events: GroupStanding[] }>
  /** Newest first. */
  list(args: MessageFilter, call: Call): Promise<Message[]>
}

/** `waiting`: it may be taken. Of a lease `until` (Unix ms) tells how long it holds. */
export type ReceiveStanding = { state: string; by?: string; until?: number }

/**
 * `read`: the group is past the message, which it is too where it subscribed later. `open`: how many events it was given and
 * has not acknowledged, of which this may be one.
 */
export type GroupStanding = { group: string; state: 'waiting' | 'read'; open: number }

export type HistoryLine = Note | (Omit<Note, 'road'> & { road: 'accept' })

export type DeadLetterService = {
  list(args: { queue?: string; group?: string; limit: number }, call: Call): Promise<DeadLetter[]>
  /** Throws `dead_letter_not_found`, as the next two. */
  show(args: { id: string }, call: Call): Promise<DeadLetter>
  retry(args: { id: string }, call: Call): Promise<{ ok: boolean }>
  drop(args: { id: string }, call: Call): Promise<{ ok: boolean }>
}

/** Push subscriptions. All but `list` throw `subscription_not_found`. */
export type SubscriptionService = {
  list(): Promise<SubscriptionInfo[]>
  /** With its last attempts, newest first: what was answered, in how many ms, or why not. */
  show(args: { name: string }): Promise<SubscriptionInfo | null>
  /** Nothing is sent until `resume`; what comes keeps its place. */
  pause(args: { name: string }, call: Call): Promise<{ ok: boolean }>
  /** Goes on, also where the receiver was gone (410) or is left alone because it failed. */
  resume(args: { name: string }): Promise<{ ok: boolean }>
  /** Sends again what is retained from `since` (Unix ms) on, each with the id that it had. */
  replay(args: { name: string; since: number }): Promise<{ ok: boolean }>
}

/** `waiting`: events that are still to be sent; `dead`: dead letters in the queue `push/NAME`. */
export type SubscriptionInfo = Record<'name' | 'topic' | 'url', string> & {
  ok: boolean
  state: 'active' | 'failing' | 'paused' | 'disabled'
  detail?: string
  waiting: number
  dead: number
  attempts?: object[]
}

export type GatewayService = {
  list(call: Call): Promise<GatewayInfo[]>
  /** The newest refusals of one gateway or of all, newest first: those that this daemon remembers. */
  refused(args: { gateway?: string }, call: Call): Promise<{ daemon: string; refusals: Refusal[] }>
}

/** `at` in Unix ms; `body` is the head of what was sent, without secrets. */
export type Refusal = Omit<Refused, 'body'> & { at: number; gateway: string; reason: string; body?: string }

export type GatewayInfo = Health & { name: string; transport: string; open: boolean }

/** One invocation that a session remembers; which parts is a matter of `capture`. `at` is Unix ms. */
export const sessionEntrySchema = z.object({
  at: z.number(),
  args: z.json().exactOptional(),
  result: z.json().exactOptional(),
  /** The conversation with the model. */
  agent: z.json().exactOptional(),
  /** Captured paths into ctx, by path. */
  values: z.record(z.string(), z.json()).exactOptional(),
  /** How many entries before this one are forgotten; on the oldest alone. */
  dropped: z.int().exactOptional(),
})

export type SessionEntry = z.infer<typeof sessionEntrySchema>

/** Names one session. `name` is the skill's, unless several skills share theirs under a name of their own. */
export type SessionId = { name: string; key: string; store: StateStoreName }

export type SessionService = {
  /** Oldest first; `[]` for a session that is not there or has expired. */
  read(id: SessionId): Promise<SessionEntry[]>
  /** Drops the oldest beyond `maxEntries` and what a session may take up; it expires `ttl` ms after its last entry. */
  append(id: SessionId, entry: SessionEntry, limits: { maxEntries: number; ttl: number }): Promise<void>
  delete(id: SessionId): Promise<{ ok: boolean; existed: boolean }>
  list(store: StateStoreName): Promise<{ name: string; key: string; entries: number; updatedAt: number }[]>
}

/** Where a value lives: `file` and `memory` in this data dir and process, `shared` on the message store. */
export type StateStoreName = 'file' | 'memory' | 'shared'

/** Where keys and values live. Expired keys are absent. */
export type StateBackend = KeyValues & {
  /** A hint that the key may have changed; the function that it returns ends it. */
  onChange(key: string, listener: () => void): () => void
  /** Removes what has expired. */
  sweep(): Promise<void>
  close(): void
}

export type CallbackService = {
  /**
   * Makes a ref `{label}-{8 hex}`, which ends after `ttl` ms; its callers wait `timeout` ms for an answer. The models of
   * `rootId` see it as a tool.
   */
  create(args: { label: string; timeout: number; ttl: number }, rootId?: string): Promise<{ ref: string }>
  /** The oldest pending invocation; null after `timeout` ms. Throws `callback_not_found`, `callback_released`. */
  wait(
    args: { ref: string; timeout: number },
    signal: AbortSignal,
  ): Promise<{ id: string; args: Json } | null>
  /** Answers one invocation with a result or an error. `ok: false`: the caller no longer waits. */
  respond(args: { ref: string; id: string; result?: Json; error?: string }): Promise<{ ok: boolean }>
  /** Ends a ref; those who wait for an answer get `callback_released`. */
  release(args: { ref: string }): Promise<{ ok: boolean }>
  /** The live refs that belong to an outermost invocation, sorted. */
  list(rootId: string): Promise<string[]>
  /** Throws `callback_not_found`, `callback_released`, `callback_timeout`; `callback_failed`: the answer is an error. */
  invoke(ref: string, args: Json, signal: AbortSignal): Promise<Json>
}

export type ApprovalService = {
  /** Asks for a decision, once for the same `key`, and returns what stands; `timeout` (ms) ends it. */
  request(args: ApprovalRequest): Promise<Approval>
  /** Decides once. Throws `approval_not_found`, `approval_decided`, `forbidden`. */
  decide(
    args: { id: string; approve: boolean; reason?: string },
    call: Pick<Call, 'caller'>,
  ): Promise<Approval>
  get(id: string): Promise<Approval | undefined>
  /** Oldest first; with `id` that one. */
  list(args: { id?: string; status?: ApprovalStatus; limit: number }): Promise<Approval[]>
  /** Resolves when it is no longer pending, or undefined after `timeout` ms. */
  wait(id: string, timeout: number, signal: AbortSignal): Promise<Approval | undefined>
}

/** What is asked, and what stands. Times are Unix ms. */
export const approvalSchema = z.object({
  id: z.string(),
  key: z.string(),
  skill: z.string(),
  args: z.json(),
  /** Shown to whoever decides: what it is about, and who asks. */
  title: z.string(),
  by: z.string().default('unknown'),
  /** Identities and roles that may decide; empty: whoever may invoke `approval-decide`. */
  approvers: z.array(z.string()),
  /** Ms until it ends undecided, and the outcome then. */
  timeout: z.number(),
  onTimeout: z.enum(['deny', 'approve']),
  message: z
    .object({ id: z.string(), gateway: z.string(), conversation: z.string(), from: z.string() })
    .exactOptional(),
  trace: z.string(),
  status: z.enum(['pending', 'approved', 'denied', 'expired']),
  requestedAt: z.number(),
  expiresAt: z.number(),
  decidedAt: z.number().exactOptional(),
  decidedBy: z.string().exactOptional(),
  reason: z.string().exactOptional(),
})

export type Approval = z.infer<typeof approvalSchema>
export type ApprovalStatus = Approval['status']
export type ApprovalRequest = Omit<
  Approval,
  'id' | 'status' | 'requestedAt' | 'expiresAt' | 'decidedAt' | 'decidedBy' | 'reason'
>
