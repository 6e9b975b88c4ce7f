import { z } from 'zod'
import type { Caller } from './call.ts'

/** The topic of the audit log. Like reply topics, it cannot be read or written through `event-*`. */
export const AUDIT_TOPIC = 'trivium/audit'

/** One decision or change, and who made it. Contains no message text. */
export const auditEntrySchema = z.object({
  /** Unix ms. */
  at: z.number(),
  /** The person or program: `oidc:ada@example.com`, `control-token:Ada`, `ada@host`, `token:worker`, `team:U024BE7LH`. */
  by: z.string(),
  via: z.enum(['console', 'http', 'cli', 'mcp', 'gateway', 'code']),
  /** A skill such as `dead-letter-drop`, or `sign-in`, `sign-out`, `reload`, `message-submit`, `control-token-rotate`, `queue-board`. */
  action: z.string(),
  /** The objects it applied to: names and ids. */
  target: z.record(z.string(), z.json()).exactOptional(),
  /** `ok`, or the code of the error. */
  outcome: z.string(),
  /** The network address of the caller, if known. */
  from: z.string().exactOptional(),
})

export type AuditEntry = z.infer<typeof auditEntrySchema>
/** Adds to the audit log. Never rejects: write failures go to the daemon's log. */
export type RecordAudit = (entry: Omit<AuditEntry, 'at'>) => Promise<void>

/** The interface through which a caller arrived. */
export function viaOf({ kind, id = '' }: Caller): AuditEntry['via'] {
  if (kind === 'route') return 'gateway'
  return kind === 'http' && /^(?:oidc|control-token)(?::|$)/.test(id) ? 'console' : kind
}
