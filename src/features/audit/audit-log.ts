import {
  type Actor,
  AUDIT_TOPIC,
  type AuditEntry,
  type AuditResult,
  actorOf,
  auditEntrySchema,
  resultOf,
} from '../../core/audit.ts'
import { authorName } from '../../core/author.ts'
import type { Event } from '../../core/event.ts'
import type { Log } from '../../core/log.ts'
import type { ServiceOf } from '../../core/operation.ts'
import { compilePattern } from '../../core/pattern.ts'
import type { Retention } from '../../core/retention.ts'
import type { Topics } from '../../core/store.ts'
import { DAY } from '../../core/units.ts'
import { defined } from '../../lib/defined.ts'
import type { audit } from './operations.ts'
import { createRefusalLimit } from './refusal-limit.ts'

export type AuditLog = ReturnType<typeof createAuditLog>

/** Number of entries that are read from the store at a time. */
const PAGE_SIZE = 500
/** Maximum number of entries that one call reads. */
const MAX_READ = 20_000
/** Maximum age (ms) and number of entries, unless `retention: { topics }` has others. */
const DEFAULT_RETENTION = { maxAge: 365 * DAY, maxCount: 100_000 }

/** An entry as it is listed: with its id, the kind of its author, and what its outcome means. */
type Listed = AuditEntry & { id: string; kind: Actor; status: AuditResult }
type Placed = { position: number; entry: Listed }

/** The audit log: a topic of the store, written by all daemons and trimmed only by retention. */
export function createAuditLog(deps: { topics: Topics; now(): number; log: Log }) {
  const { topics, log } = deps
  const limited = createRefusalLimit()

  /** The entries up to and including a position, newest first. */
  async function* newestFirst(last: number): AsyncGenerator<Placed> {
    for (let end = last; end > 0; end -= PAGE_SIZE) {
      const start = Math.max(0, end - PAGE_SIZE)
      const { entries, areExpired } = await readEntries(topics, start, end)
      // All older entries have expired, too.
      if (areExpired) return
      yield* entries.reverse()
    }
  }

  return {
    /** Records an entry; of many refused calls by one author, only the first. */
    async record(entry: Omit<AuditEntry, 'at'>): Promise<void> {
      const full = limited({ at: deps.now(), ...entry, by: authorName(entry.by) })
      if (!full) return
      const event = { type: entry.action, source: entry.by, data: full }
      await topics.publish(AUDIT_TOPIC, [event]).catch((err) => {
        log.error({ err, audit: full }, 'an entry of the audit log could not be stored')
      })
    },
    service: {
      async list({ before, limit, id, ...filter }) {
        if (id !== undefined) return { entries: await readOne(topics, id) }
        const matches = createMatcher(filter)
        const entries: Listed[] = []
        // The newest position that is not read yet.
        let next = before ?? (await topics.end(AUDIT_TOPIC))
        let read = 0
        for await (const found of newestFirst(next)) {
          if (entries.length >= limit || read >= MAX_READ) return { entries, next }
          read++
          next = found.position - 1
          if (matches(found.entry)) entries.push(found.entry)
          if (filter.since !== undefined && found.entry.at < filter.since) break
        }
        return { entries }
      },
    } satisfies ServiceOf<typeof audit>,
  }
}

/**
 * Entries after position `start`, up to and including `end`, oldest first, without those that only
 * a newer version can read. `areExpired`: the store has no entries there.
 */
async function readEntries(topics: Topics, start: number, end: number) {
  const entries: Placed[] = []
  let areExpired = true
  // The store may return the entries in parts.
  for (let after = start; after < end; ) {
    const { items, more } = await topics.tail(AUDIT_TOPIC, after, end - after)
    for (const { position, event } of items) {
      if (position > end) continue
      areExpired = false
      const entry = listedEntry(event)
      if (entry) entries.push({ position, entry })
    }
    if (!more) break
    after = items.at(-1)?.position ?? end
  }
  return { entries, areExpired }
}

/** The entry with an id, or none. */
async function readOne(topics: Topics, id: string): Promise<Listed[]> {
  const { position = 0 } = topics.placeOf(AUDIT_TOPIC, id) ?? {}
  const { items } = await topics.tail(AUDIT_TOPIC, Math.max(0, position - 1), 1)
  const entry = items[0]?.event.id === id ? listedEntry(items[0].event) : undefined
  return entry ? [entry] : []
}

function listedEntry({ id, data }: Event): Listed | undefined {
  const { data: stored } = auditEntrySchema.safeParse(data)
  if (!stored) return undefined
  // Entries of older versions have other names of the control token.
  const entry = { ...stored, by: authorName(stored.by) }
  return { ...entry, id, kind: actorOf(entry), status: resultOf(entry) }
}

type Filter = {
  by?: string
  action?: string
  without?: string
  what?: string
  kind?: Actor
  outcome?: string
  since?: number
  until?: number
}

function createMatcher(filter: Filter): (entry: Listed) => boolean {
  const { by, action, without, what, kind, outcome, since, until } = filter
  const actions = action === undefined ? undefined : compilePattern(action)
  const others = without === undefined ? undefined : compilePattern(without)
  const partOfName = by?.toLowerCase()
  const partOfTarget = what?.toLowerCase()
  return (entry) =>
    (partOfName === undefined || entry.by.toLowerCase().includes(partOfName)) &&
    (partOfTarget === undefined || valuesOf(entry).some((value) => value.includes(partOfTarget))) &&
    (actions?.test(entry.action) ?? true) &&
    others?.test(entry.action) !== true &&
    (kind === undefined || entry.kind === kind) &&
    (outcome === undefined || outcomesOf(entry).includes(outcome)) &&
    (since === undefined || entry.at >= since) &&
    (until === undefined || entry.at < until)
}

/** What an entry is found by: the code, what it means, and the decision about an approval. */
function outcomesOf({ action, outcome, status, target }: Listed): unknown[] {
  const isDecision = action === 'approval-decide' && status === 'done'
  return [outcome, status, ...(isDecision ? [target?.status] : [])]
}

function valuesOf({ target = {}, reason = '', error = '', result = {} }: AuditEntry): string[] {
  const { job = '', messages = [] } = result
  return [...Object.values(target), reason, error, job, messages].map((value) =>
    (typeof value === 'string' ? value : JSON.stringify(value)).toLowerCase(),
  )
}

/** Adds the retention of the audit log to that of the other topics. */
export function withAuditLog(retention: Retention): Retention {
  const own = { ...DEFAULT_RETENTION, ...defined({ ...retention.topics?.[AUDIT_TOPIC] }) }
  return { ...retention, topics: { ...retention.topics, [AUDIT_TOPIC]: own } }
}
