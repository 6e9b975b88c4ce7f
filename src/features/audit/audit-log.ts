import { AUDIT_TOPIC, type AuditEntry, auditEntrySchema } from '../../core/audit.ts'
import type { Log } from '../../core/log.ts'
import type { ServiceOf } from '../../core/operation.ts'
import { compilePattern } from '../../core/pattern.ts'
import type { Retention, Topics } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import type { audit } from './operations.ts'

export type AuditLog = ReturnType<typeof createAuditLog>

const PAGE = 500
/** Maximum entries scanned per call. */
const MOST_SEEN = 20_000
/** Default age (ms) and number of kept entries; see `retention: { topics }`. */
const KEPT = { maxAge: 365 * 86_400_000, maxCount: 100_000 }

/** The audit log: a topic of the store, written by all daemons and trimmed only by retention. */
export function createAuditLog(deps: { topics: Topics; now(): number; log: Log }) {
  const { topics, log } = deps

  /** The entries up to a position, newest first. */
  async function* newestFirst(before: number): AsyncGenerator<{ position: number; entry: AuditEntry }> {
    for (let end = before; end > 0; end -= PAGE) {
      const start = Math.max(0, end - PAGE)
      const page = await read(topics, start, end)
      // Older entries have expired.
      if (page.length === 0) return
      yield* page.reverse()
    }
  }

  return {
    async record(entry: Omit<AuditEntry, 'at'>): Promise<void> {
      const full: AuditEntry = { at: deps.now(), ...entry }
      const event = { type: entry.action, source: entry.by, data: full }
      await topics.publish(AUDIT_TOPIC, [event]).catch((err) => {
        log.error({ err, audit: full }, 'an entry of the audit log could not be stored')
      })
    },
    service: {
      async list({ before, limit, ...filter }) {
        const accepts = acceptorOf(filter)
        const entries: AuditEntry[] = []
        let position = before ?? (await topics.end(AUDIT_TOPIC))
        let seen = 0
        for await (const found of newestFirst(position)) {
          if (entries.length >= limit || seen++ >= MOST_SEEN) return { entries, next: position }
          position = found.position - 1
          if (accepts(found.entry)) entries.push(found.entry)
          if (filter.since !== undefined && found.entry.at < filter.since) break
        }
        return { entries }
      },
    } satisfies ServiceOf<typeof audit>,
  }
}

/** Events in (`start`, `end`], oldest first. The store may return fewer at a time. */
async function read(topics: Topics, start: number, end: number) {
  const found: { position: number; entry: AuditEntry }[] = []
  for (let after = start; after < end; ) {
    const { items, more } = await topics.tail(AUDIT_TOPIC, after, end - after)
    for (const { position, event } of items) {
      const entry = auditEntrySchema.safeParse(event.data).data
      if (entry && position <= end) found.push({ position, entry })
    }
    if (!more) break
    after = items.at(-1)?.position ?? end
  }
  return found
}

type Filter = { by?: string; action?: string; outcome?: string; since?: number; until?: number }

function acceptorOf({ by, action, outcome, since, until }: Filter): (entry: AuditEntry) => boolean {
  const actions = action === undefined ? undefined : compilePattern(action)
  const part = by?.toLowerCase()
  return (entry) =>
    (part === undefined || entry.by.toLowerCase().includes(part)) &&
    (actions?.test(entry.action) ?? true) &&
    (outcome === undefined || entry.outcome === outcome) &&
    (since === undefined || entry.at >= since) &&
    (until === undefined || entry.at < until)
}

/** Adds the retention of the audit log. */
export function withAuditLog(retention: Retention): Retention {
  const own = { ...KEPT, ...defined({ ...retention.topics?.[AUDIT_TOPIC] }) }
  return { ...retention, topics: { ...retention.topics, [AUDIT_TOPIC]: own } }
}
