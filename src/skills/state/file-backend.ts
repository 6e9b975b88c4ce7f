import { createHash } from 'node:crypto'
import { type FSWatcher, mkdirSync, watch } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { fileFailure, reasonOf, TriviumError } from '../../core/errors.ts'
import { isJsonObject } from '../../core/json.ts'
import { isMissing, removeWhole, writeWhole } from '../../lib/disk.ts'
import { createNameLocks } from '../../lib/name-locks.ts'
import type { StateBackend } from './state-service.ts'

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
export function createFileBackend(folder: string, now: () => number): StateBackend {
  const locks = createNameLocks(folder, fileFailure(folder))
  const changes = createChangeFeed(folder)
  const pathOf = (key: string) => join(folder, fileNameOf(key))
  const live = (doc: StateDocument | undefined) =>
    doc && (doc.expires_at ?? Number.POSITIVE_INFINITY) > now() ? doc : undefined

  /** Changes a key's file while nobody else does: `null` removes it, undefined leaves it. */
  const change = (
    key: string,
    decide: (current: StateDocument | undefined) => StateDocument | null | undefined,
  ) => {
    makeFolder(folder)
    return locks.hold(key, async () => {
      const path = pathOf(key)
      const current = await load(path)
      const next = decide(current)
      try {
        if (next === null && current) await removeWhole(path)
        else if (next) await writeWhole(path, `${JSON.stringify(next, null, 2)}\n`)
      } catch (error) {
        throw fileFailure(path)('unwritable', error)
      }
      if (next !== undefined) changes.emit()
      return { current, next }
    })
  }

  /** All documents; one that cannot be read must not hide the others, and gives its error to who asks for its key. */
  const all = async () => {
    const names = await readdir(folder).catch(orNothing)
    const files = (names ?? []).filter((name) => name.endsWith('.json'))
    const docs = await Promise.all(files.map((name) => load(join(folder, name)).catch(ignoreUnreadable)))
    return docs.filter((doc) => doc !== undefined)
  }

  return {
    async get(key) {
      const doc = live(await load(pathOf(key)))
      return doc && { value: doc.value, version: doc.version }
    },
    async set(key, value, { ttl, ifVersion }) {
      const { next } = await change(key, (current) => {
        const version = live(current)?.version ?? 0
        if (ifVersion !== undefined && ifVersion !== version) return undefined
        const expires = ttl === undefined ? {} : { expires_at: now() + ttl }
        return {
          schema_version: VERSION,
          key,
          value,
          version: version + 1,
          updated_at: now(),
          ...expires,
        }
      })
      return next?.version
    },
    delete: async (key) => live((await change(key, () => null)).current) !== undefined,
    async list(prefix, limit) {
      const docs = (await all()).filter((doc) => live(doc) && doc.key.startsWith(prefix))
      return docs
        .map(({ key }) => key)
        .sort()
        .slice(0, limit)
    },
    onChange: (_key, listener) => changes.on(listener),
    async sweep() {
      const expired = (await all()).filter((doc) => !live(doc))
      // Somebody may have written it meanwhile: look again under the lock.
      for (const { key } of expired) await change(key, (current) => (live(current) ? undefined : null))
    },
    close() {
      changes.close()
      locks.close()
    },
  }
}

async function load(path: string): Promise<StateDocument | undefined> {
  const text = await readFile(path, 'utf8').catch(orNothing)
  if (text === undefined) return undefined
  const corrupt = (reason: string, cause: unknown) =>
    new TriviumError('state_corrupt', { path, reason, name: path }, { cause })
  let value: unknown
  try {
    value = withValue(JSON.parse(text))
  } catch (error) {
    throw corrupt(reasonOf(error), error)
  }
  const found = isJsonObject(value) ? value.schema_version : undefined
  if (typeof found === 'number' && found > VERSION) {
    throw new TriviumError('state_version', { path, found, known: VERSION, what: 'Install a newer Trivium.' })
  }
  const parsed = stateDocument.safeParse(value)
  if (parsed.success) return parsed.data
  throw corrupt(z.prettifyError(parsed.error).replaceAll('\n', ' '), parsed.error)
}

/** Trivium 0.1 kept a session without `value` around it. */
function withValue(document: unknown): unknown {
  if (!isJsonObject(document) || !('entries' in document)) return document
  const { name, session, entries, ...rest } = document
  return { ...rest, version: 1, value: { name, session, entries } }
}

function orNothing(error: unknown): undefined {
  if (!isMissing(error)) throw error
}

function ignoreUnreadable(error: unknown): undefined {
  if (!(error instanceof TriviumError && /^state_(corrupt|version)$/.test(error.code))) throw error
}

/** Tells of changes in this process at once, and of others' through the file system, while anyone listens. */
function createChangeFeed(folder: string) {
  const listeners = new Set<() => void>()
  let watcher: FSWatcher | undefined
  const emit = () => {
    for (const listener of [...listeners]) listener()
  }
  const close = () => {
    watcher?.close()
    watcher = undefined
  }
  return {
    emit,
    close,
    on(listener: () => void) {
      listeners.add(listener)
      if (!watcher) {
        makeFolder(folder)
        watcher = watch(folder, { persistent: false }, emit)
        watcher.on('error', close)
      }
      return () => {
        listeners.delete(listener)
        if (listeners.size === 0) close()
      }
    },
  }
}

function makeFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 })
}

/**
 * A file name for any key: readable, different for different keys also where the file system ignores case,
 * never hidden, never outside of its folder. Small letters, digits, `-`, `_` and inner dots stay; everything else is
 * percent-encoded; a long name ends in a hash.
 */
export function fileNameOf(key: string): string {
  let name = ''
  for (const byte of Buffer.from(key)) {
    const char = String.fromCharCode(byte)
    const plain = /[a-z0-9_-]/.test(char) || (char === '.' && name !== '')
    name += plain ? char : `%${byte.toString(16).padStart(2, '0')}`
  }
  // UTF-8 has no lone surrogates: what differs only there would become the same.
  if (!key.isWellFormed())
    return `${name.slice(0, LONGEST_NAME - 65)}~${hashOf(Buffer.from(key, 'utf16le'))}.json`
  if (name.length <= LONGEST_NAME) return `${name}.json`
  return `${name.slice(0, LONGEST_NAME - 65)}~${hashOf(Buffer.from(key))}.json`
}

function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
