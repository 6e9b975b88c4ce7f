import { type FSWatcher, mkdirSync, watch } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { fileFailure, reasonOf, TriviumError } from '../../core/errors.ts'
import { isMissing, removeWhole, writeWhole } from '../../lib/disk.ts'
import { createNameLocks } from '../../lib/name-locks.ts'
import { fileNameOf } from './file-name.ts'

/** One JSON document a key, each in a file of its own, safe between processes. */
export type JsonFolder<Doc extends { key: string }> = {
  /** Undefined: there is none. Throws `state_corrupt`, `state_version`. */
  read(key: string): Promise<Doc | undefined>
  /**
   * Reads, lets `change` decide, and writes, while nobody else writes that key. `write: null` removes the file; without
   * `write` nothing changes.
   */
  update<T>(key: string, change: (current: Doc | undefined) => { write?: Doc | null; result: T }): Promise<T>
  /** All documents; those that cannot be read are left out. */
  all(): Promise<Doc[]>
  /** Calls `listener` when a document was changed, by whatever process. A hint: it may come twice. */
  onChange(listener: () => void): () => void
  close(): void
}

export type JsonFolderOptions<Doc> = {
  path: string
  /** The newest version of the documents' schema. */
  version: number
  schema: z.ZodType<Doc>
}

/** Opens the folder; makes it when it first writes. */
export function createJsonFolder<Doc extends { key: string }>(
  options: JsonFolderOptions<Doc>,
): JsonFolder<Doc> {
  const { path } = options
  const lock = createNameLocks(path, fileFailure(path))
  const changes = createChangeFeed(path)
  const pathOf = (key: string) => join(path, fileNameOf(key))

  const load = async (file: string): Promise<Doc | undefined> => {
    try {
      return parseDocument(await readFile(file, 'utf8'), file, options)
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  }

  return {
    read: (key) => load(pathOf(key)),
    update(key, change) {
      makeFolder(path)
      return lock.hold(key, async () => {
        const file = pathOf(key)
        const { write, result } = change(await load(file))
        try {
          if (write === null) await removeWhole(file)
          else if (write) await writeWhole(file, `${JSON.stringify(write, null, 2)}\n`)
        } catch (error) {
          throw fileFailure(file)('unwritable', error)
        }
        if (write !== undefined) changes.emit()
        return result
      })
    },
    async all() {
      const names = await readdir(path).catch((error: unknown) => {
        if (isMissing(error)) return []
        throw error
      })
      const files = names.filter((name) => name.endsWith('.json'))
      const docs = await Promise.all(files.map((name) => load(join(path, name)).catch(ignoreUnreadable)))
      return docs.filter((doc) => doc !== undefined)
    },
    onChange: changes.on,
    close() {
      changes.close()
      lock.close()
    },
  }
}

function parseDocument<Doc>(text: string, path: string, options: JsonFolderOptions<Doc>): Doc {
  const corrupt = (reason: string, cause: unknown) =>
    new TriviumError('state_corrupt', { path, reason, name: path }, { cause })
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw corrupt(reasonOf(error), error)
  }
  const version = versionSchema.safeParse(value)
  if (version.success && version.data.schema_version > options.version) {
    const values = { path, found: version.data.schema_version, known: options.version }
    throw new TriviumError('state_version', { ...values, what: 'Install a newer Trivium.' })
  }
  const parsed = options.schema.safeParse(value)
  if (!parsed.success) throw corrupt(z.prettifyError(parsed.error).replaceAll('\n', ' '), parsed.error)
  return parsed.data
}

const versionSchema = z.looseObject({ schema_version: z.number() })

/** One broken document must not hide the others; who reads it by key gets the error. */
function ignoreUnreadable(error: unknown): undefined {
  if (error instanceof TriviumError && /^state_(corrupt|version)$/.test(error.code)) return undefined
  throw error
}

/** Tells of changes in this process at once, and of others' through the file system, while anyone listens. */
function createChangeFeed(path: string) {
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
      const own = () => listener()
      listeners.add(own)
      if (!watcher) {
        makeFolder(path)
        watcher = watch(path, { persistent: false }, emit)
        watcher.on('error', close)
      }
      return () => {
        listeners.delete(own)
        if (listeners.size === 0) close()
      }
    },
  }
}

function makeFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 })
}
