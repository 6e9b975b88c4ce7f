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
import type { Journal, Topics } from '../../core/store.ts'
import { DAY } from '../../core/units.ts'
import { OUTCOME_WORDS, outcomeInWords, wordsOfAction } from '../../lib/audit-words.ts'
import { defined } from '../../lib/defined.ts'
import { type About, aboutText, createAboutReader } from './about.ts'
import type { audit } from './operations.ts'
import { createRefusalLimit } from './refusal-limit.ts'

export type AuditLog = ReturnType<typeof createAuditLog>

/** Number of entries that are read from the store at a time. */
const PAGE_SIZE = 500
/** Maximum number of entries that one call reads. */
const MAX_READ = 20_000
/** Maximum age (ms) and number of entries, unless `retention: { topics }` has others. */
const DEFAULT_RETENTION = { maxAge: 365 * DAY, maxCount: 100_000 }

/** Maximum number of messages that a search for a person reads. */
const MAX_MESSAGES = 1_000

/**
 * An entry as it is listed: with its id, the kind of its author, what its outcome means, and the
 * word for it.
 */
type Listed = AuditEntry & { id: string; kind: Actor; status: AuditResult; word: string }
type Placed = { position: number; entry: Listed }

/** The audit log: a topic of the store, written by all daemons and trimmed only by retention. */
export function createAuditLog(deps: {
  topics: Topics
  journal: Pick<Journal, 'get'>
  now(): number
  log: Log
}) {
  const { topics, log } = deps
  const limited = createRefusalLimit()
  const aboutOf = createAboutReader(deps.journal)
  const withAbout = (entries: readonly Listed[]) =>
    Promise.all(entries.map(async (entry) => ({ ...entry, ...defined({ about: await aboutOf(entry) }) })))

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
        if (id !== undefined) return { entries: await withAbout(await readOne(topics, id)) }
        const matches = createMatcher(filter, aboutOf)
        const entries: Listed[] = []
        // The newest position that is not read yet.
        let next = before ?? (await topics.end(AUDIT_TOPIC))
        let read = 0
        for await (const found of newestFirst(next)) {
          if (entries.length >= limit || read >= MAX_READ) return { entries: await withAbout(entries), next }
          read++
          next = found.position - 1
          if (await matches(found.entry)) entries.push(found.entry)
          if (filter.since !== undefined && found.entry.at < filter.since) break
        }
        return { entries: await withAbout(entries) }
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
  const status = resultOf(entry)
  return { ...entry, id, kind: actorOf(entry), status, word: outcomeInWords({ ...entry, status }) }
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

type AboutReader = (entry: Listed) => Promise<About | undefined>

/**
 * Makes a test of entries. A text that is not in an entry itself may be in the name of the person
 * whom it is about.
 */
function createMatcher(filter: Filter, aboutOf: AboutReader): (entry: Listed) => Promise<boolean> {
  const { by, action, without, what, kind, outcome, since, until } = filter
  const actions = action === undefined ? undefined : compilePattern(action)
  const others = without === undefined ? undefined : without.split(',').map(compilePattern)
  const partOfName = by?.toLowerCase()
  const isOfKind = (entry: Listed) =>
    (partOfName === undefined || entry.by.toLowerCase().includes(partOfName)) &&
    (actions?.test(entry.action) ?? true) &&
    others?.some((other) => other.test(entry.action)) !== true &&
    (kind === undefined || entry.kind === kind) &&
    (outcome === undefined || hasOutcome(entry, outcome)) &&
    (since === undefined || entry.at >= since) &&
    (until === undefined || entry.at < until)
  if (what === undefined) return async (entry) => isOfKind(entry)
  const text = what.toLowerCase()
  const isAbout = aboutText(what)
  let left = MAX_MESSAGES
  return async (entry) => {
    if (!isOfKind(entry)) return false
    if (textsOf(entry).some((value) => value.includes(text))) return true
    if (left <= 0) return false
    const about = await aboutOf(entry)
    if (about) left--
    return about !== undefined && isAbout(about)
  }
}

/**
 * Whether an entry is found by an outcome: the word that lists have for it, what it means, or the
 * code. `denied` finds denied requests: a call that was refused is `not allowed`.
 */
function hasOutcome({ word, status, outcome }: Listed, given: string): boolean {
  const wanted = given.replaceAll('-', ' ')
  if (word === wanted || outcome === given) return true
  return status === wanted && status !== 'denied' && OUTCOME_WORDS.includes(wanted)
}

function textsOf(entry: Listed): string[] {
  const { target = {}, reason = '', error = '', result = {} } = entry
  const { job = '', messages = [] } = result
  const values = [...wordsOfAction(entry), ...Object.values(target), reason, error, job, messages]
  return values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)).toLowerCase())
}

/** Adds the retention of the audit log to that of the other topics. */
export function withAuditLog(retention: Retention): Retention {
  const own = { ...DEFAULT_RETENTION, ...defined({ ...retention.topics?.[AUDIT_TOPIC] }) }
  return { ...retention, topics: { ...retention.topics, [AUDIT_TOPIC]: own } }
}
