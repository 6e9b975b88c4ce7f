import { setTimeout as delay } from 'node:timers/promises'
import { TriviumError } from '../core/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../core/json.ts'
import type { KeyValues } from '../core/store.ts'
import type { Commit, DocumentBackend, Stored } from './backend.ts'
import type { Change } from './document.ts'
import { LOG_LIMITS, type LogLimits, withWhole } from './log-limits.ts'
import { trimSharedLog } from './shared-trim.ts'

const ATTEMPTS = 200

/** `last`: the number of the last event of a document that is gone. */
type Found = { version: number; head: Head } | { version: 0; head?: never; last: number }

/** What is under the document's key: the document with the events of the commit that wrote it, in one atomic value. */
type Head = { revision: number; document: JsonObject; changes: Change[]; before: number }

/**
 * Documents on the message store, shared by all its daemons. The document and the events of its last commit are
 * one value, written by compare-and-set; before the next commit those events move to a key of their own, so no
 * event is ever without its mutation or the reverse. `onSignal` is the store's.
 */
export function createSharedBackend(options: {
  kv: KeyValues
  onSignal(name: `kv:${string}`, listener: () => void): () => void
  address?: string
  limits?: LogLimits
}): DocumentBackend {
  const { kv, limits = LOG_LIMITS } = options
  const headKey = (name: string) => `document:${name}`
  const eventsPrefix = (name: string) => `document-events:${name}:`
  const eventsKey = (name: string, seq: number) => `${eventsPrefix(name)}${String(seq).padStart(12, '0')}`
  const cache = new Map<string, { version: number; head: Head }>()

  const read = async (name: string): Promise<Found> => {
    const found = await kv.get(headKey(name))
    if (!found) return { version: 0, last: await lastEvent(kv, name) }
    const known = cache.get(name)
    if (known?.version === found.version) return known
    const head = asHead(found.value)
    if (!head) throw corrupt(headKey(name), name)
    cache.set(name, { version: found.version, head })
    return { version: found.version, head }
  }

  /** Harmless to repeat: the same events under the same key. */
  const spill = async (name: string, head: Head) => {
    if (head.changes.length > 0) await kv.set(eventsKey(name, head.before + 1), head.changes)
  }

  /** Beside the writes, which need not wait for it; what fails is done with the next thousand events. */
  let trimming: Promise<void> = Promise.resolve()
  const trim = (name: string, last: number) => {
    const work = () => trimSharedLog(kv, { prefix: eventsPrefix(name), last, limits })
    trimming = trimming.then(work).catch(() => {})
  }

  return {
    kind: 'shared',
    locate: (name) => `${options.address ?? 'the store'}, key ${headKey(name)}`,
    read: async (name) => stored(await read(name)),
    async transact(name, work) {
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        const found = await read(name)
        const current = stored(found)
        const commit = work(current)
        if (!commit) return
        if (found.head) await spill(name, found.head)
        const { changes, isWhole } = withWhole(commit.changes, commit.document, limits)
        const next = headOf({ ...commit, changes }, current.revision)
        const written = await kv.set(headKey(name), next, { ifVersion: found.version })
        if (written !== undefined) {
          cache.set(name, { version: written, head: next })
          if (isWhole) trim(name, next.revision)
          return
        }
        await delay(Math.random() * Math.min(50, 2 + attempt))
      }
      throw new TriviumError('state_conflict', { what: headKey(name) })
    },
    async *changes(name, after) {
      const { head } = await read(name)
      for (const key of await kv.list(eventsPrefix(name), Number.MAX_SAFE_INTEGER)) {
        const found = await kv.get(key)
        // It was trimmed since.
        if (!found) continue
        if (!Array.isArray(found.value)) throw corrupt(key, name)
        for (const value of found.value) {
          if (!isChange(value)) throw corrupt(key, name)
          if (value.seq > after && value.seq <= (head?.before ?? Number.MAX_SAFE_INTEGER)) yield value
        }
      }
      for (const change of head?.changes ?? []) if (change.seq > after) yield change
    },
    async backup(name, label) {
      const { head } = await read(name)
      const key = `document-kept:${name}.${label}`
      if (head) await kv.set(key, head)
      return key
    },
    async setAside(name, what, label) {
      const key = `document-kept:${name}.${what}.${label}`
      if (what === 'document') {
        const found = await kv.get(headKey(name))
        if (!found) return undefined
        const head = asHead(found.value)
        if (head) await spill(name, head)
        await kv.set(key, found.value)
        await kv.delete(headKey(name))
        return key
      }
      for (const old of await kv.list(eventsPrefix(name), Number.MAX_SAFE_INTEGER)) {
        const found = await kv.get(old)
        if (found) await kv.set(`${key}:${old}`, found.value)
        await kv.delete(old)
      }
      return key
    },
    watch: (name, listener) => options.onSignal(`kv:${headKey(name)}`, listener),
    async close() {
      await trimming
      cache.clear()
    },
  }
}

async function lastEvent(kv: KeyValues, name: string): Promise<number> {
  const key = (await kv.list(`document-events:${name}:`, Number.MAX_SAFE_INTEGER)).at(-1)
  const events = key === undefined ? undefined : (await kv.get(key))?.value
  const last = Array.isArray(events) ? events.at(-1) : undefined
  return last !== undefined && isChange(last) ? last.seq : 0
}

function stored(found: Found): Stored {
  return found.head
    ? { revision: found.head.revision, document: found.head.document }
    : { revision: found.last, missing: true }
}

function headOf(commit: Commit, before: number): Head {
  const changes = [...commit.changes]
  return { revision: changes.at(-1)?.seq ?? before, document: commit.document, changes, before }
}

function asHead(value: Json): Head | undefined {
  if (!isJsonObject(value) || !isJsonObject(value.document ?? null)) return undefined
  const { revision, document, before } = value
  const changes = Array.isArray(value.changes) ? value.changes.filter(isChange) : []
  if (typeof revision !== 'number' || typeof before !== 'number' || !isJsonObject(document)) return undefined
  return { revision, document, changes, before }
}

function isChange(value: Json): value is Json & Change {
  return isJsonObject(value) && Number.isInteger(value.seq) && typeof value.time === 'string'
}

function corrupt(path: string, name: string): TriviumError {
  return new TriviumError('state_corrupt', { path, name, reason: 'it is no document of this program' })
}
