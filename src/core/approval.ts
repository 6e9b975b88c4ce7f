import { z } from 'zod'
import { auditEntrySchema } from './audit.ts'
import type { Call } from './call.ts'

export type ApprovalService = {
  /**
   * Requests a decision, once per `key`, and returns the current approval; expires after `timeout`
   * ms.
   */
  request(args: ApprovalRequest): Promise<Approval>
  /** `repeated`: it had this decision before, so nothing changed. */
  decide(
    args: { id: string; approve: boolean; reason?: string },
    call: Pick<Call, 'caller'>,
  ): Promise<Approval & { repeated?: boolean }>
  /**
   * Oldest first. If there are more than `limit`, leaves out the requests with the earliest
   * decisions, and then the newest pending ones. `since`, `until` (Unix ms): when they were decided
   * or expired, or if pending requested. `before`: only decisions before this place ("time/id").
   */
  list(args: {
    id?: string
    status?: Approval['status'] | 'decided'
    before?: string
    /** A text in what people see of a request. */
    text?: string
    since?: number
    until?: number
    limit: number
  }): Promise<Approval[]>
  /**
   * Resolves with the approval once it is decided or expired, or with undefined after `timeout` ms.
   */
  wait(id: string, timeout: number, signal: AbortSignal): Promise<Approval | undefined>
  /** Stores how a run after the approval ended. */
  ran(id: string, run: NonNullable<Approval['run']>): Promise<void>
}

/** An approval request and its state. Times are Unix ms. */
export const approvalSchema = z.object({
  id: z.string(),
  key: z.string(),
  skill: z.string(),
  args: z.json(),
  /** The question that approvers see. */
  title: z.string(),
  /** The requester, for people. */
  by: z.string().default('unknown'),
  /** Identities and roles that may decide, in addition to operators. Empty: only operators. */
  approvers: z.array(z.string()),
  /** How long the request stays open, in ms. */
  timeout: z.number(),
  /** The outcome if nobody decides within `timeout`. */
  onTimeout: z.enum(['deny', 'approve']),
  /** `from`: the name of the sender, for people. `sender`: their identity, also if unverified. */
  message: z
    .object({
      id: z.string(),
      gateway: z.string(),
      conversation: z.string(),
      from: z.string(),
      sender: z.string().exactOptional(),
    })
    .exactOptional(),
  /** The route that dispatched the message. */
  route: z.string().exactOptional(),
  /** The roles of the requester. */
  roles: z.array(z.string()).exactOptional(),
  /**
   * Who gets a denial and its reason: the sender of the message, a caller without a message, or the
   * skill that made the call, whose model or code decides what the sender gets.
   */
  reasonGoesTo: z.enum(['sender', 'caller', 'skill']).exactOptional(),
  /** The skill that made the call. */
  calledBy: z.string().exactOptional(),
  trace: z.string(),
  status: z.enum(['pending', 'approved', 'denied', 'expired']),
  requestedAt: z.number(),
  expiresAt: z.number(),
  decidedAt: z.number().exactOptional(),
  decidedBy: z.string().exactOptional(),
  /** The approver's interface: `console`, `cli`, … */
  decidedVia: auditEntrySchema.shape.via.exactOptional(),
  reason: z.string().exactOptional(),
  /**
   * The last run after the approval: when it ended, and its result or error, cut to 2,000
   * characters.
   */
  run: z
    .object({
      at: z.number(),
      ms: z.number(),
      result: z.string().exactOptional(),
      error: z.string().exactOptional(),
      code: z.string().exactOptional(),
    })
    .exactOptional(),
})

export type Approval = z.infer<typeof approvalSchema>
export type ApprovalRequest = Omit<
  Approval,
  'id' | 'status' | 'requestedAt' | 'expiresAt' | 'decidedAt' | 'decidedBy' | 'decidedVia' | 'reason' | 'run'
>
