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

/** `ctx.services`: what the shipped skills work on. A skill calls its method with arguments that its schema has validated. */
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
  audit: ServiceOf<typeof offered.audit>
  longJobs: ServiceOf<typeof offered.longJobs>
  artifacts: ArtifactService
}

/** Calls with effects outside, each made once: what `ctx.once` works on. */
export type CallService = ServiceOf<typeof offered.calls> & {
  /** See `SkillContext.once`; `key` is the whole key here. */
  once(key: string, run: () => Promise<Json> | Json): Promise<Json>
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

/** `waiting`: events that are still to be sent; `dead`: dead letters in the queue `push/NAME`. */
export type SubscriptionInfo = Record<'name' | 'topic' | 'url', string> & {
  ok: boolean
  state: 'active' | 'failing' | 'paused' | 'disabled'
  detail?: string
  waiting: number
  dead: number
  attempts?: object[]
}

/** `at` in Unix ms; `body` is the head of what was sent, without secrets. */
export type Refusal = Omit<Refused, 'body'> & { at: number; gateway: string; reason: string; body?: string }

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
  /** What was said in entries that are no longer there; on the oldest alone. */
  summary: z.string().exactOptional(),
})

export type SessionEntry = z.infer<typeof sessionEntrySchema>

/** Names one session. `name` is the skill's, unless several skills share theirs under a name of their own. */
export type SessionId = { name: string; key: string; store: StateStoreName }

export type SessionService = ServiceOf<typeof offered.sessions> & {
  /** Oldest first; `[]` for a session that is not there or has expired. */
  read(id: SessionId): Promise<SessionEntry[]>
  /** Drops the oldest beyond `maxEntries`, `maxTokens` and what a session may take up; it expires `ttl` ms after its last entry. */
  append(
    id: SessionId,
    entry: SessionEntry,
    limits: { maxEntries: number; maxTokens?: number; ttl: number },
  ): Promise<void>
  /** Puts a summary in the place of the entries up to that time, all but the newest at most, and returns what there is then. */
  compact(id: SessionId, until: number, summary: string, ttl: number): Promise<SessionEntry[]>
}

export type StateStoreName = z.infer<typeof offered.storeName>

/** Where keys and values live. Expired keys are absent. */
export type StateBackend = KeyValues & {
  /** A hint that the key may have changed; the function that it returns ends it. */
  onChange(key: string, listener: () => void): () => void
}

export type CallbackService = ServiceOf<typeof offered.callbacks> & {
  /** The live refs that belong to an outermost invocation, sorted. */
  list(rootId: string): Promise<string[]>
  /** Throws `callback_not_found`, `callback_released`, `callback_timeout`; `callback_failed`: the answer is an error. */
  invoke(ref: string, args: Json, signal: AbortSignal): Promise<Json>
}

export type ApprovalService = {
  /** Asks for a decision, once for the same `key`, and returns what stands; `timeout` (ms) ends it. */
  request(args: ApprovalRequest): Promise<Approval>
  decide(args: z.infer<typeof offered.approvals.decide>, call: Pick<Call, 'caller'>): Promise<Approval>
  /** Oldest first. */
  list(args: z.infer<typeof offered.approvals.list>): Promise<Approval[]>
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
  /** How they came in: `console`, `cli`, … */
  decidedVia: auditEntrySchema.shape.via.exactOptional(),
  reason: z.string().exactOptional(),
})

export type Approval = z.infer<typeof approvalSchema>
export type ApprovalRequest = Omit<
  Approval,
  'id' | 'status' | 'requestedAt' | 'expiresAt' | 'decidedAt' | 'decidedBy' | 'decidedVia' | 'reason'
>
