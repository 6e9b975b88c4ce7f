import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { TriviumError, unwritable } from '../../core/errors.ts'
import { isJsonObject, type Json, type JsonObject, toJson } from '../../core/json.ts'
import type { KeyValues } from '../../core/store.ts'
import { updateKv } from '../../core/update-kv.ts'
import { disk } from '../../lib/disk.ts'
import type { Change, DocumentBackend, Stored } from './spec.ts'

/** The part of a store that this back end uses. */
type Values = Pick<KeyValues, 'get' | 'set' | 'delete' | 'list'>

/** `kept`: minimum number of events to keep. `every`: interval of events with the complete document. */
export type EventLimits = { kept: number; every: number }

const LIMITS: EventLimits = { kept: 20_000, every: 1000 }

/** The value of a document's key: the document, and the events of its last commit, written atomically. */
type Head = { revision: number; document: JsonObject; changes: Change[]; before: number }

/**
 * Stores documents as keys and values. A commit is one compare-and-set that contains its events.
 * The next commit first moves these to a key of their own, so that no event is ever without its
 * change or the other way round. `address` names the store in messages.
 */
export function createStoreBackend(options: {
  values: Values
  address?: string | undefined
  limits?: EventLimits
  close?: (() => unknown) | undefined
}): DocumentBackend {
  const { values, limits = LIMITS } = options
  const locate = (name: string) => `${options.address ?? 'the store'}, key ${headKey(name)}`
  const headKey = (name: string) => `document:${name}`
  const eventsOf = (name: string) => `document-events:${name}:`
  const eventKey = (name: string, seq: number) => `${eventsOf(name)}${String(seq).padStart(12, '0')}`
  const eventKeys = (name: string) => values.list(eventsOf(name), Number.MAX_SAFE_INTEGER)

  const headIn = (name: string, value: Json | undefined): Head | undefined => {
    if (value === undefined || isHead(value)) return value
    const todo = 'delete the key to start with a new document'
    throw new TriviumError('state_corrupt', { path: locate(name), reason: 'it is not a document', todo })
  }
  const storedAs = (head: Head | undefined): Stored =>
    head ? { revision: head.revision, document: head.document } : { revision: 0, missing: true }

  /** The remaining events may start anywhere, as a replay starts at the first complete document. */
  const trim = async (name: string, last: number) => {
    const oldest = eventKey(name, last - limits.kept)
    const spare = (await eventKeys(name)).filter((key) => key <= oldest)
    // The last of these keys may also contain newer events.
    for (const key of spare.slice(0, -1)) await values.delete(key)
  }

  return {
    locate,
    read: async (name) => storedAs(headIn(name, (await values.get(headKey(name)))?.value)),
    async transact(name, work) {
      let trimmed = 0
      await updateKv(values, headKey(name), async (value) => {
        trimmed = 0
        const head = headIn(name, value)
        const stored = storedAs(head)
        const commit = work(stored)
        if (!commit) return undefined
        // Idempotent: the same events under the same key.
        if (head) await values.set(eventKey(name, head.before + 1), head.changes)
        const { change, document } = commit
        const revision = change.seq
        // So that a replay can start here.
        const isWhole = revision % limits.every === 0
        if (isWhole) trimmed = revision
        const changes = [isWhole ? { ...change, document } : change]
        return { value: { revision, document, changes, before: stored.revision } }
      })
      if (trimmed > 0) await trim(name, trimmed)
    },
    async *changes(name) {
      const head = headIn(name, (await values.get(headKey(name)))?.value)
      for (const key of await eventKeys(name)) {
        const found = (await values.get(key))?.value
        const events = Array.isArray(found) ? found.filter(isChange) : []
        yield* events.filter(({ seq }) => seq <= (head?.before ?? seq))
      }
      yield* head?.changes ?? []
    },
    async keep(name, label) {
      const found = await values.get(headKey(name))
      const key = `document-kept:${name}.${label}`
      if (found) await values.set(key, found.value)
      return found && key
    },
    async forgetHistory(name) {
      await updateKv(values, headKey(name), (value) => withoutPatch(headIn(name, value)))
      const kept = await values.list(`document-kept:${name}.`, Number.MAX_SAFE_INTEGER)
      for (const key of [...(await eventKeys(name)), ...kept]) await values.delete(key)
    },
    close: async () => void (await options.close?.()),
  }
}

/** The document with only its last event, which includes the complete document. */
function withoutPatch(head: Head | undefined) {
  const last = head?.changes.at(-1)
  if (!head || !last) return undefined
  const { patch: _, ...change } = last
  return { value: toJson({ ...head, changes: [{ ...change, document: head.document }] }) }
}

function isHead(value: Json | undefined): value is Json & Head {
  return isJsonObject(value) && isJsonObject(value.document) && Array.isArray(value.changes)
}

function isChange(value: Json): value is Json & Change {
  return isJsonObject(value) && Number.isInteger(value.seq) && typeof value.time === 'string'
}

/** How long (ms) to wait for other processes. */
const PATIENCE = 10_000

/** Keys and values in an SQLite file, safe between processes. Writes are durable when they resolve. */
export function createSqliteValues(path: string): Values & { close(): void } {
  let opened: DatabaseSync | undefined
  const using = <T>(work: (db: DatabaseSync) => T): T => {
    try {
      opened ??= open(path)
      return work(opened)
    } catch (error) {
      throw unwritable(path, error)
    }
  }

  return {
    get: async (key) =>
      using((db) => {
        const row = db.prepare('SELECT value, version FROM entry WHERE key = ?').get(key)
        if (!row) return undefined
        const value: Json = JSON.parse(String(row.value))
        return { value, version: Number(row.version) }
      }),
    set: async (key, value, { ifVersion } = {}) =>
      using((db) => {
        const row = db.prepare(SET).get({ key, value: JSON.stringify(value), expected: ifVersion ?? null })
        return row && Number(row.version)
      }),
    delete: async (key) => using((db) => db.prepare('DELETE FROM entry WHERE key = ?').run(key).changes > 0),
    list: async (prefix, limit) =>
      using((db) => {
        const rows = db.prepare('SELECT key FROM entry WHERE key >= ? AND key < ? ORDER BY key LIMIT ?')
        return rows.all(prefix, `${prefix}\u{10FFFF}`, limit).map(({ key }) => String(key))
      }),
    close() {
      opened?.close()
      opened = undefined
    },
  }
}

/** A single statement, so that no other process can write between the check and the update. */
const SET = `INSERT INTO entry (key, value, version)
  SELECT :key, :value, 1 WHERE coalesce(:expected, 0) = 0 OR EXISTS (SELECT 1 FROM entry WHERE key = :key)
  ON CONFLICT (key) DO UPDATE SET value = excluded.value, version = version + 1
    WHERE :expected IS NULL OR version = :expected
  RETURNING version`

function open(path: string): DatabaseSync {
  disk.makeDir(dirname(path))
  // SQLite would apply the umask; its other files get the mode of this one.
  disk.close(disk.open(path, 'a'))
  const db = new DatabaseSync(path, { timeout: PATIENCE })
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE IF NOT EXISTS entry (key TEXT PRIMARY KEY, value TEXT NOT NULL, version INTEGER NOT NULL) STRICT;`)
  return db
}
