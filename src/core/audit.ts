import { z } from 'zod'
import type { Caller } from './call.ts'

/**
 * The topic of the audit log. Like reply topics, it cannot be read or written through `event-*`.
 */
export const AUDIT_TOPIC = 'trivium/audit'

/** The author of what Trivium does itself. */
export const SYSTEM = 'system'

/** One decision or change, and who made it. Contains no message text. */
export const auditEntrySchema = z.object({
  /** Unix ms. */
  at: z.number(),
  /**
   * The person, program or `system`: `oidc:ada@example.com`, `control-token:Ada`, `ada@host`,
   * `token:worker`, `team:U024BE7LH`.
   */
  by: z.string(),
  via: z.enum(['console', 'http', 'cli', 'mcp', 'gateway', 'code', 'system']),
  /**
   * A skill such as `dead-letter-drop`, or `sign-in`, `sign-out`, `reload`, `configuration-change`,
   * `skill-change`, `daemon-start`, `daemon-stop`, `message-submit`, `control-token-rotate`, `queue-board`,
   * `person-erased`.
   */
  action: z.string(),
  /** The objects it applied to: names and ids. */
  target: z.record(z.string(), z.json()).exactOptional(),
  /** `ok`, or the code of the error. */
  outcome: z.string(),
  /** Why it was done, as its author said. */
  reason: z.string().exactOptional(),
  /** The message of the error. */
  error: z.string().exactOptional(),
  /** The result of the action: counts, and the id of the job. */
  result: z.record(z.string(), z.json()).exactOptional(),
  /** Changed settings, without secrets. `null`: not set. */
  changes: z.record(z.string(), z.object({ before: z.json(), after: z.json() })).exactOptional(),
  /** The network address of the caller, if known. */
  from: z.string().exactOptional(),
})

export type AuditEntry = z.infer<typeof auditEntrySchema>

/** Adds an entry to the audit log. Never rejects: write failures go to the daemon's log. */
export type RecordAudit = (entry: Omit<AuditEntry, 'at'>) => Promise<void>

/**
 * The kinds of authors. `control-token:Ada` is a person, who gave a name. `control-token` without a
 * name is a token, like `token:worker`.
 */
export const ACTORS = ['person', 'token', 'system'] as const
export type Actor = (typeof ACTORS)[number]

/** The kind of the author of an entry. */
export function actorOf({ by }: Pick<AuditEntry, 'by'>): Actor {
  if (by === SYSTEM) return 'system'
  return by === 'control-token' || by.startsWith('token:') ? 'token' : 'person'
}

/** What an outcome means. */
export type AuditResult = 'done' | 'denied' | 'cancelled' | 'failed'

const DENIED = /^(?:forbidden|unauthorized|sign_in_refused|approval_denied|401|403)$/

/** What the outcome of an entry means. */
export function resultOf({ outcome }: Pick<AuditEntry, 'outcome'>): AuditResult {
  if (outcome === 'ok') return 'done'
  if (outcome === 'cancelled') return 'cancelled'
  return DENIED.test(outcome) ? 'denied' : 'failed'
}

/** The interface through which a caller arrived. */
export function viaOf({ kind, id = '' }: Caller): AuditEntry['via'] {
  if (kind === 'route') return 'gateway'
  if (kind === 'code' && id === SYSTEM) return 'system'
  return kind === 'http' && /^(?:oidc|control-token)(?::|$)/.test(id) ? 'console' : kind
}
