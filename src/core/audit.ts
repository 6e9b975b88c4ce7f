import { z } from 'zod'
import { closed, limit, optional, time } from './arguments.ts'
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
  /** A skill such as `dead-letter-drop`, or `sign-in`, `sign-out`, `reload`, `message-submit`, `queue-board`. */
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

/** `audit-list`. */
export const audit = {
  list: closed({
    by: optional('Only by this person or program; part of the name is enough'),
    action: optional('Only this action, or a glob such as dead-letter-*'),
    outcome: optional('Only with this outcome: ok, or the code of an error'),
    since: time.exactOptional().describe('Only since a time, or an age such as 2h'),
    until: time.exactOptional().describe('Only before a time'),
    before: z.int().min(0).exactOptional().describe('Only older entries: `next` of the previous page'),
    limit: limit.default(50).describe('Maximum number of entries'),
  }).describe('Lists decisions and changes with their author, newest first; `next` continues the list.'),
}

/** The interface through which a caller arrived. */
export function viaOf({ kind, id = '' }: Caller): AuditEntry['via'] {
  if (kind === 'route') return 'gateway'
  return kind === 'http' && /^(?:oidc|control-token)(?::|$)/.test(id) ? 'console' : kind
}
