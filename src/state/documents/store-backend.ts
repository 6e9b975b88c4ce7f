import { TriviumError } from '../../core/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import type { KeyValues } from '../../core/store.ts'
import { pause } from '../../lib/pause.ts'
import { corruptBy, type DocumentBackend, type OnBroken, raise, type Stored } from './backend.ts'
import type { Change } from './spec.ts'

/** What such a back end needs of a store. */
export type Values = Pick<KeyValues, 'get' | 'set' | 'delete' | 'list'>

/** How many of a document's events stay, at least, and after how many one carries the whole document. */
export type EventLimits = { kept: number; every: number }

const LIMITS: EventLimits = { kept: 20_000, every: 1000 }
const ATTEMPTS = 200

/** What is under the document's key: the document with the events of the commit that wrote it, in one atomic value. */
type Head = { revision: number; document: JsonObject; changes: Change[]; before: number }

/**
 * Documents as keys and values: on the message store, shared by all its daemons, or in a SQLite file. A commit is one
 * compare-and-set; before the next one its events move to a key of their own, so no event is ever without its
 * mutation or the reverse. `address` names the store for people.
 */
export function createStoreBackend(options: {
  values: Values
  address?: string | undefined
  limits?: EventLimits
  /** What mends a document, for its errors. */
  repair?: ((name: string) => string) | undefined
  close?: () => void
}): DocumentBackend {
  const { values, limits = LIMITS } = options
  const corrupt = corruptBy(options.repair)
  const headKey = (name: string) => `document:${name}`
  const eventsOf = (name: string) => `document-events:${name}:`
  const eventKey = (name: string, seq: number) => `${eventsOf(name)}${String(seq).padStart(12, '0')}`
  const eventKeys = (name: string) => values.list(eventsOf(name), Number.MAX_SAFE_INTEGER)

  /** `version` 0: there is none. */
  const read = async (name: string): Promise<{ version: number; stored: Stored; head?: Head }> => {
    const found = await values.get(headKey(name))
    if (!found) return { version: 0, stored: { revision: 0, missing: true } }
    const { version, value: head } = found
    if (!isHead(head)) {
      const revision = (await eventsUnder((await eventKeys(name)).at(-1) ?? '', name)).at(-1)?.seq ?? 0
      return { version, stored: { revision, broken: 'it holds no document' } }
    }
    return { version, head, stored: { revision: head.revision, document: head.document } }
  }

  const eventsUnder = async (key: string, name: string, onBroken: OnBroken = raise): Promise<Change[]> => {
    const events = (await values.get(key))?.value ?? []
    if (Array.isArray(events) && events.every(isChange)) return events
    onBroken(corrupt(name)(key, 'it holds no events'))
    return []
  }

  /** What is left may begin with any event; a replay begins with the first whole document in it. */
  const trim = async (name: string, last: number) => {
    const oldest = eventKey(name, last - limits.kept)
    const spare = (await eventKeys(name)).filter((key) => key <= oldest)
    // The events under the newest of them may reach further.
    for (const key of spare.slice(0, -1)) await values.delete(key)
  }

  return {
    corrupt,
    locate: (name) => `${options.address ?? 'the store'}, key ${headKey(name)}`,
    read: async (name) => (await read(name)).stored,
    async transact(name, work) {
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        const { version, stored, head } = await read(name)
        const commit = work(stored)
        if (!commit) return
        // Harmless to repeat: the same events under the same key.
        if (head && head.changes.length > 0) await values.set(eventKey(name, head.before + 1), head.changes)
        const before = stored.revision
        const { change, document } = commit
        const revision = change.seq
        // So that a replay can begin there.
        const isWhole = revision % limits.every === 0
        const changes = [isWhole ? { ...change, document } : change]
        const next: Head = { revision, document, changes, before }
        const written = await values.set(headKey(name), next, { ifVersion: version })
        if (written !== undefined) {
          if (isWhole) await trim(name, revision)
          return
        }
        await pause(Math.random() * Math.min(50, 2 + attempt))
      }
      throw new TriviumError('state_conflict', { what: headKey(name) })
    },
    async *changes(name, onBroken) {
      const { head } = await read(name)
      const before = head?.before ?? Number.MAX_SAFE_INTEGER
      for (const key of await eventKeys(name)) {
        for (const change of await eventsUnder(key, name, onBroken)) {
          if (change.seq <= before) yield change
        }
      }
      yield* head?.changes ?? []
    },
    async keep(name, label) {
      const found = await values.get(headKey(name))
      const key = `document-kept:${name}.${label}`
      if (found) await values.set(key, found.value)
      return found && key
    },
    async putEventsAside(name, label) {
      const kept = `document-kept:${name}.events.${label}`
      for (const key of await eventKeys(name)) {
        const found = await values.get(key)
        if (found) await values.set(`${kept}:${key}`, found.value)
        await values.delete(key)
      }
      return kept
    },
    close: async () => options.close?.(),
  }
}

function isHead(value: Json): value is Json & Head {
  return isJsonObject(value) && isJsonObject(value.document) && Array.isArray(value.changes)
}

function isChange(value: Json): value is Json & Change {
  return isJsonObject(value) && Number.isInteger(value.seq) && typeof value.time === 'string'
}
