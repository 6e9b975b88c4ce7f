import type { Readable } from 'node:stream'
import { z } from 'zod'
import { auditEntrySchema } from './audit.ts'
import type { Call } from './call.ts'
import type { Json } from './json.ts'
import type { Attachment, Message } from './message.ts'
import type * as offered from './operations.ts'
import type { ServiceOf } from './operations.ts'
import type { KeyValues } from './store.ts'
import type { Refused } from './transport.ts'

/** `ctx.services`: the implementation behind the shipped skills, which pass on their validated arguments. */
export type Services = {
  events: ServiceOf<typeof offered.events>
  gateways: ServiceOf<typeof offered.gateways & typeof offered.installs & typeof offered.refusals>
  sends: ServiceOf<typeof offered.sends>
  pauses: ServiceOf<typeof offered.pauses>
  messages: ServiceOf<typeof offered.messages>
  conversations: ServiceOf<typeof offered.conversations>
  deadLetters: ServiceOf<typeof offered.deadLetters>
  subscriptions: ServiceOf<typeof offered.subscriptions>
  state: Record<StateStoreName, StateBackend>
  callbacks: CallbackService
  approvals: ApprovalService
  sessions: SessionService
  assistant: ServiceOf<typeof offered.assistant>
  delegations: ServiceOf<typeof offered.delegations>
  schedules: ServiceOf<typeof offered.schedules>
  workbench: ServiceOf<typeof offered.workbench & typeof offered.tasks>
  calls: CallService
  usage: ServiceOf<typeof offered.usage>
  audit: ServiceOf<typeof offered.audit>
  people: ServiceOf<typeof offered.people>
  longJobs: ServiceOf<typeof offered.longJobs>
  artifacts: ArtifactService
}

/** Exactly-once calls with external effects: the service behind `ctx.once`. */
export type CallService = ServiceOf<typeof offered.calls> & {
  /** See `SkillContext.once`; here `key` is the full key. `messageId`: the message the call is for. */
  once(key: string, run: () => Promise<Json> | Json, messageId?: string): Promise<Json>
}

/** The caller who requests a file, and the conversation. */
export type FileAsking = Pick<Call, 'caller' | 'message'>

/** Files: the service behind `ctx.artifacts` and the control API. */
export type ArtifactService = {
  /** Saves up to 25 MB, for attachments of replies. Throws `artifact_too_large`, `forbidden`, `store_unavailable`. */
  save(args: { name: string; type: string; data: FileData }, asking: FileAsking): Promise<Attachment>
  /** `messageId`: the message it came with, if not the call's. Throws `artifact_not_found`, also if the caller has no access. */
  open(
    args: { artifact: string | Pick<Attachment, 'sha256'>; messageId?: string },
    asking: FileAsking,
  ): Promise<Readable>
  /** Throws like `open` unless the caller may send all of them; `named` is the answered message. */
  requireAll(attachments: readonly Attachment[], asking: FileAsking, named?: Message): Promise<void>
}

export type FileData = string | Uint8Array | Readable

/**
 * `waiting`: events not sent yet. Of these, `queued` have been selected for sending, and `unread`
 * have not been compared with `match` yet. `dead`: dead letters in the queue `push/NAME`.
 */
export type SubscriptionInfo = Record<'name' | 'topic' | 'url', string> & {
  /** Where it is defined: in routes.yaml, or in the store through `subscription-create`. */
  source: 'routes.yaml' | 'api'
  ok: boolean
  state: 'active' | 'failing' | 'paused' | 'disabled'
  detail?: string
  /** Set while paused: by whom, and since when (Unix ms). */
  paused?: { by: string; since?: number }
  waiting: number
  queued: number
  unread: number
  dead: number
  attempts?: object[]
}

/** `at` in Unix ms; `body` is the start of the request body, without secrets. */
export type Refusal = Omit<Refused, 'body'> & { at: number; gateway: string; reason: string; body?: string }

/** One remembered invocation of a session; `capture` selects its parts. `at` is Unix ms. */
export const sessionEntrySchema = z.object({
  at: z.number(),
  args: z.json().exactOptional(),
  result: z.json().exactOptional(),
  /** The conversation with the model. */
  agent: z.json().exactOptional(),
  /** Captured paths into ctx, by path. */
  values: z.record(z.string(), z.json()).exactOptional(),
  /** Number of forgotten entries before this one; only on the oldest. */
  dropped: z.int().exactOptional(),
  /** Summary of removed entries; only on the oldest. */
  summary: z.string().exactOptional(),
})

export type SessionEntry = z.infer<typeof sessionEntrySchema>

/** Identifies a session. `name` is the skill's name, or the shared name of several skills. */
export type SessionId = { name: string; key: string; store: StateStoreName }

export type SessionService = ServiceOf<typeof offered.sessions> & {
  /** Oldest first; `[]` for a missing or expired session. */
  read(id: SessionId): Promise<SessionEntry[]>
  /** Drops the oldest entries beyond `maxEntries`, `maxTokens` and the size limit. The session expires `ttl` ms after its last entry. */
  append(
    id: SessionId,
    entry: SessionEntry,
    limits: { maxEntries: number; maxTokens?: number; ttl: number },
  ): Promise<void>
  /** Replaces the entries up to `until`, except the newest, with a summary. Returns the remaining entries. */
  compact(id: SessionId, until: number, summary: string, ttl: number): Promise<SessionEntry[]>
}

export type StateStoreName = z.infer<typeof offered.storeName>

/** Storage of keys and values. Expired keys are absent. */
export type StateBackend = KeyValues & {
  /** Hints that the key may have changed. Returns a function that unsubscribes. */
  onChange(key: string, listener: () => void): () => void
}

export type CallbackService = ServiceOf<typeof offered.callbacks> & {
  /** The live refs of an outermost invocation, sorted. */
  list(rootId: string): Promise<string[]>
  /** Throws `callback_not_found`, `callback_released`, `callback_timeout`, or `callback_failed` if the answer is an error. */
  invoke(ref: string, args: Json, signal: AbortSignal): Promise<Json>
}

export type ApprovalService = {
  /** Requests a decision, once per `key`, and returns the current approval; expires after `timeout` ms. */
  request(args: ApprovalRequest): Promise<Approval>
  decide(args: z.infer<typeof offered.approvals.decide>, call: Pick<Call, 'caller'>): Promise<Approval>
  /** Oldest first. */
  list(args: z.infer<typeof offered.approvals.list>): Promise<Approval[]>
  /** Resolves once it is decided or expired, or with undefined after `timeout` ms. */
  wait(id: string, timeout: number, signal: AbortSignal): Promise<Approval | undefined>
}

/** An approval request and its state. Times are Unix ms. */
export const approvalSchema = z.object({
  id: z.string(),
  key: z.string(),
  skill: z.string(),
  args: z.json(),
  /** Title for the approver: subject and requester. */
  title: z.string(),
  by: z.string().default('unknown'),
  /** Identities and roles that may decide. Empty: anyone who may invoke `approval-decide`. */
  approvers: z.array(z.string()),
  /** Ms until it expires, and the outcome then. */
  timeout: z.number(),
  onTimeout: z.enum(['deny', 'approve']),
  message: z
    .object({ id: z.string(), gateway: z.string(), conversation: z.string(), from: z.string() })
    .exactOptional(),
  /** The route that dispatched the message, and the roles of who asks. */
  route: z.string().exactOptional(),
  roles: z.array(z.string()).exactOptional(),
  trace: z.string(),
  status: z.enum(['pending', 'approved', 'denied', 'expired']),
  requestedAt: z.number(),
  expiresAt: z.number(),
  decidedAt: z.number().exactOptional(),
  decidedBy: z.string().exactOptional(),
  /** The approver's interface: `console`, `cli`, … */
  decidedVia: auditEntrySchema.shape.via.exactOptional(),
  reason: z.string().exactOptional(),
})

export type Approval = z.infer<typeof approvalSchema>
export type ApprovalRequest = Omit<
  Approval,
  'id' | 'status' | 'requestedAt' | 'expiresAt' | 'decidedAt' | 'decidedBy' | 'decidedVia' | 'reason'
>
