import { hash } from 'node:crypto'
import { mkdirSync, watch } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { fileFailure, reasonOf, TriviumError, unwritable } from '../../core/errors.ts'
import { isJsonObject, type Json, pathGet } from '../../core/json.ts'
import type { StateBackend } from '../../core/state.ts'
import type { Store } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import { disk, orNothing, syncDir, writeAtomically } from '../../lib/disk.ts'
import { createFileLock } from '../../lib/file-lock.ts'
import { parseSettings } from '../parse-settings.ts'

/** The version of the file format. */
const VERSION = 1
/** Longer file names are cut: file systems allow 255 bytes, and temporary files have a suffix. */
const MAX_NAME = 180
/** Length of a `~` and a SHA-256 in hex. */
const HASH_SUFFIX_LENGTH = 65

/** The content of a file in `<data dir>/state/` or `<data dir>/sessions/`. Times are Unix ms. */
const stateDocument = z.object({
  schema_version: z.literal(VERSION),
  key: z.string(),
  value: z.json(),
  version: z.number().int().positive(),
  updated_at: z.number(),
  expires_at: z.number().exactOptional(),
})

type StateDocument = z.infer<typeof stateDocument>

/**
 * Stores each key in a JSON file in `folder`. The first write or listener creates the folder. Safe
 * between processes.
 */
export function createFileBackend(folder: string, now: () => number) {
  const lock = createFileLock(join(folder, '.lock'), fileFailure(folder))
  const pathOf = (key: string) => join(folder, fileNameOf(key))
  const makeFolder = () => mkdirSync(folder, { recursive: true, mode: 0o700 })

  const files: Entries = {
    get: (key) => load(pathOf(key)),
    async change(key, decide) {
      makeFolder()
      const path = pathOf(key)
      const write = async () => {
        const next = decide(await load(path))
        if (next === undefined) return
        if (next === null) {
          disk.remove(path)
          return syncDir(folder)
        }
        const document: StateDocument = { schema_version: VERSION, key, ...next, updated_at: now() }
        await writeAtomically(path, `${JSON.stringify(document, null, 2)}\n`)
      }
      await lock.during(write).catch((error) => {
        throw unwritable(path, error)
      })
    },
    /** Leaves out unreadable files. Only reading the key of such a file throws the error. */
    async all() {
      const names = (await readdir(folder).catch(orNothing)) ?? []
      const found = names.filter((name) => name.endsWith('.json'))
      const docs = await Promise.all(found.map((name) => load(join(folder, name)).catch(() => undefined)))
      return docs.flatMap((doc) => (doc ? [[doc.key, doc]] : []))
    },
    /** The file system reports the changes of all processes, including this one. */
    onChange(_key, listener) {
      makeFolder()
      const watcher = watch(folder, { persistent: false }, listener)
      watcher.on('error', () => watcher.close())
      return () => watcher.close()
    },
    close: lock.close,
  }
  return createBackend(files, now)
}

async function load(path: string): Promise<StateDocument | undefined> {
  const text = await readFile(path, 'utf8').catch(orNothing)
  if (text === undefined) return undefined
  try {
    const value = withValue(JSON.parse(text))
    const found = pathGet(value, 'schema_version')
    if (typeof found === 'number' && found > VERSION) {
      const todo = 'Install a newer Trivium.'
      throw new TriviumError('state_version', { path, found, known: VERSION, todo })
    }
    return parseSettings(stateDocument, value)
  } catch (error) {
    if (error instanceof TriviumError) throw error
    const values = { path, reason: reasonOf(error), todo: 'delete it to free the key' }
    throw new TriviumError('state_corrupt', values, { cause: error })
  }
}

/** Version 0.1 stored sessions without the surrounding `value`. */
function withValue(document: unknown): unknown {
  if (!isJsonObject(document) || !('entries' in document)) return document
  const { name, session, entries, ...rest } = document
  return { ...rest, version: 1, value: { name, session, entries } }
}

/**
 * A readable and unique file name for a key, even on case-insensitive file systems: special
 * characters are percent-encoded, and long names end with a hash.
 */
export function fileNameOf(key: string): string {
  let name = ''
  for (const byte of Buffer.from(key)) {
    const char = String.fromCharCode(byte)
    const isPlain = /[a-z0-9_-]/.test(char) || (char === '.' && name !== '')
    name += isPlain ? char : `%${byte.toString(16).padStart(2, '0')}`
  }
  if (name.length <= MAX_NAME) return `${name}.json`
  return `${name.slice(0, MAX_NAME - HASH_SUFFIX_LENGTH)}~${hash('sha256', key)}.json`
}

/** A stored entry, in a file or in memory. `expires_at`: Unix ms. */
export type StateEntry = { value: Json; version: number; expires_at?: number }

/** Storage of entries, including expired ones. */
type Entries = Pick<StateBackend, 'onChange'> & {
  close(): void
  get(key: string): Promise<StateEntry | undefined>
  /**
   * Changes an entry atomically. `decide` returns the new entry, null to remove it, or undefined.
   */
  change(
    key: string,
    decide: (current: StateEntry | undefined) => StateEntry | null | undefined,
  ): Promise<void>
  all(): Promise<[key: string, entry: StateEntry][]>
}

/** Adds versions and expiry to raw entries. */
function createBackend(entries: Entries, now: () => number) {
  const unexpired = (entry: StateEntry | undefined) =>
    entry && (entry.expires_at ?? Number.POSITIVE_INFINITY) > now() ? entry : undefined

  return {
    async get(key) {
      const entry = unexpired(await entries.get(key))
      return entry && { value: entry.value, version: entry.version }
    },
    async set(key, value, { ttl, ifVersion, keepTtl } = {}) {
      let version: number | undefined
      await entries.change(key, (stored) => {
        const current = unexpired(stored)
        const currentVersion = current?.version ?? 0
        if (ifVersion !== undefined && ifVersion !== currentVersion) return undefined
        version = currentVersion + 1
        const kept = keepTtl ? current?.expires_at : undefined
        const expires_at = ttl === undefined ? kept : now() + ttl
        return { value, version, ...defined({ expires_at }) }
      })
      return version
    },
    async delete(key) {
      let existed = false
      await entries.change(key, (current) => {
        existed = unexpired(current) !== undefined
        return null
      })
      return existed
    },
    async list(prefix, limit, after = '') {
      const found = (await entries.all())
        .filter(([key, entry]) => key.startsWith(prefix) && key > after && unexpired(entry))
        .map(([key]) => key)
        .sort()
      return { items: found.slice(0, limit), more: found.length > limit }
    },
    /** Removes expired entries. */
    async sweep() {
      const expired = (await entries.all()).filter(([, entry]) => !unexpired(entry))
      // Checks again under the lock of `change`: the key may have been written meanwhile.
      for (const [key] of expired)
        await entries.change(key, (current) => (unexpired(current) ? undefined : null))
    },
    onChange: entries.onChange,
    close: entries.close,
  } satisfies StateBackend & Record<'sweep' | 'close', unknown>
}

/**
 * Stores entries in a Map of `ctx.globals` (`state` or `sessions`). Copies values on reads and
 * writes, as with files.
 */
export function createMemoryBackend(now: () => number, entries: Map<string, StateEntry>) {
  const listeners = new Set<() => void>()
  const memory: Entries = {
    get: async (key) => structuredClone(entries.get(key)),
    async change(key, decide) {
      const next = decide(entries.get(key))
      if (next === undefined) return
      if (next === null) entries.delete(key)
      else entries.set(key, structuredClone(next))
      for (const listener of [...listeners]) listener()
    },
    all: async () => [...entries],
    onChange(_key, listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close: () => listeners.clear(),
  }
  return createBackend(memory, now)
}

/**
 * Stores keys in the message store, under a prefix, for all daemons that share it. The store
 * removes expired keys.
 */
export function createSharedBackend(
  { kv, onSignal }: Pick<Store, 'kv' | 'onSignal'>,
  root: string,
): StateBackend {
  return {
    get: (key) => kv.get(root + key),
    set: (key, value, options) => kv.set(root + key, value, options),
    delete: (key) => kv.delete(root + key),
    async list(prefix, limit, after) {
      const page = await kv.list(root + prefix, limit, after === undefined ? after : root + after)
      return { ...page, items: page.items.map((key) => key.slice(root.length)) }
    },
    onChange: (key, listener) => onSignal(`kv:${root}${key}`, listener),
  }
}
