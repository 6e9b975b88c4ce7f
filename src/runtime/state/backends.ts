import { hash } from 'node:crypto'
import { mkdirSync, watch } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { fileFailure, reasonOf, TriviumError, unwritable } from '../../core/errors.ts'
import { isJsonObject, type Json, pathGet } from '../../core/json.ts'
import type { StateBackend } from '../../core/services.ts'
import type { Store } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import { disk, orNothing, syncDir, writeWhole } from '../../lib/disk.ts'
import { createFileLock } from '../../lib/file-lock.ts'
import { parseSettings } from '../onion.ts'

const VERSION = 1
const LONGEST_NAME = 180

/** A file under `<data dir>/state/` or `<data dir>/sessions/`. Times are Unix ms. */
const stateDocument = z.object({
  schema_version: z.literal(VERSION),
  key: z.string(),
  value: z.json(),
  version: z.number().int().positive(),
  updated_at: z.number(),
  expires_at: z.number().exactOptional(),
})

type StateDocument = z.infer<typeof stateDocument>

/** One JSON file a key in `folder`, which is made with the first write; survives restarts, and is safe between processes. */
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
        if (next === null) disk.remove(path)
        if (!next) return syncDir(folder)
        const document: StateDocument = { schema_version: VERSION, key, ...next, updated_at: now() }
        await writeWhole(path, `${JSON.stringify(document, null, 2)}\n`)
      }
      await lock.during(write).catch((error) => {
        throw unwritable(path, error)
      })
    },
    /** One that cannot be read, for whatever reason, must not hide the others, and gives its error to who asks for its key. */
    async all() {
      const names = (await readdir(folder).catch(orNothing)) ?? []
      const found = names.filter((name) => name.endsWith('.json'))
      const docs = await Promise.all(found.map((name) => load(join(folder, name)).catch(() => undefined)))
      return docs.flatMap((doc) => (doc ? [[doc.key, doc]] : []))
    },
    /** The file system tells of the changes of all processes, this one's too. */
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
      const what = 'Install a newer Trivium.'
      throw new TriviumError('state_version', { path, found, known: VERSION, what })
    }
    return parseSettings(stateDocument, value)
  } catch (error) {
    if (error instanceof TriviumError) throw error
    const told = { path, reason: reasonOf(error), todo: 'delete it, and the key is free' }
    throw new TriviumError('state_corrupt', told, { cause: error })
  }
}

/** Trivium 0.1 kept a session without `value` around it. */
function withValue(document: unknown): unknown {
  if (!isJsonObject(document) || !('entries' in document)) return document
  const { name, session, entries, ...rest } = document
  return { ...rest, version: 1, value: { name, session, entries } }
}

/** A readable name, another for each key even where case is ignored: special characters are percent-encoded; a long one ends in a hash. */
export function fileNameOf(key: string): string {
  let name = ''
  for (const byte of Buffer.from(key)) {
    const char = String.fromCharCode(byte)
    const plain = /[a-z0-9_-]/.test(char) || (char === '.' && name !== '')
    name += plain ? char : `%${byte.toString(16).padStart(2, '0')}`
  }
  if (name.length <= LONGEST_NAME) return `${name}.json`
  return `${name.slice(0, LONGEST_NAME - 65)}~${hash('sha256', key)}.json`
}

/** What is kept of a key, in a file as in memory. `expires_at` is Unix ms. */
export type StateEntry = { value: Json; version: number; expires_at?: number }

/** Where entries lie, those that have expired too. */
type Entries = Pick<StateBackend, 'onChange'> & {
  close(): void
  get(key: string): Promise<StateEntry | undefined>
  /** Changes an entry while nobody else does: `null` removes it, undefined leaves it. */
  change(
    key: string,
    decide: (current: StateEntry | undefined) => StateEntry | null | undefined,
  ): Promise<void>
  all(): Promise<[key: string, entry: StateEntry][]>
}

/** Versions and expiry over entries that know neither. */
function createBackend(entries: Entries, now: () => number) {
  const live = (entry: StateEntry | undefined) =>
    entry && (entry.expires_at ?? Number.POSITIVE_INFINITY) > now() ? entry : undefined

  return {
    async get(key) {
      const entry = live(await entries.get(key))
      return entry && { value: entry.value, version: entry.version }
    },
    async set(key, value, { ttl, ifVersion, keepTtl } = {}) {
      let version: number | undefined
      await entries.change(key, (current) => {
        const before = live(current)?.version ?? 0
        const left = keepTtl ? live(current)?.expires_at : undefined
        if (ifVersion !== undefined && ifVersion !== before) return undefined
        version = before + 1
        const expires_at = ttl === undefined ? left : now() + ttl
        return { value, version, ...defined({ expires_at }) }
      })
      return version
    },
    async delete(key) {
      let existed = false
      await entries.change(key, (current) => {
        existed = live(current) !== undefined
        return null
      })
      return existed
    },
    async list(prefix, limit) {
      const found = (await entries.all()).filter(([key, entry]) => key.startsWith(prefix) && live(entry))
      return found
        .map(([key]) => key)
        .sort()
        .slice(0, limit)
    },
    /** Removes what has expired. */
    async sweep() {
      const expired = (await entries.all()).filter(([, entry]) => !live(entry))
      // Somebody may have written it meanwhile: look again where nobody else can.
      for (const [key] of expired) await entries.change(key, (current) => (live(current) ? undefined : null))
    },
    onChange: entries.onChange,
    close: entries.close,
  } satisfies StateBackend & Record<'sweep' | 'close', unknown>
}

/** Keys and values in the Map `ctx.globals.state`, copied in and out as through a file. */
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

/** Keys and values on the message store, under a prefix; the same for every daemon that shares it. It forgets by itself. */
export function createSharedBackend(
  { kv, onSignal }: Pick<Store, 'kv' | 'onSignal'>,
  root: string,
): StateBackend {
  return {
    get: (key) => kv.get(root + key),
    set: (key, value, options) => kv.set(root + key, value, options),
    delete: (key) => kv.delete(root + key),
    list: async (prefix, limit) => (await kv.list(root + prefix, limit)).map((key) => key.slice(root.length)),
    onChange: (key, listener) => onSignal(`kv:${root}${key}`, listener),
  }
}
