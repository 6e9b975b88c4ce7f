import { TriviumError } from '../../core/errors.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import { createTurns } from '../../lib/turns.ts'
import { createDocument, type StateDocument, type UpdateOptions } from './document.ts'
import type { Until } from './events.ts'
import { createFileBackend } from './file-backend.ts'
import type { DocumentBackend, DocumentSpec } from './spec.ts'
import { createSqliteValues } from './sqlite-values.ts'
import { createStoreBackend } from './store-backend.ts'

export type StateManager = ReturnType<typeof createStateManager>

type Options = { documents: readonly DocumentSpec[]; now?: () => number; log?: Log } & (
  | { dir: string }
  | { sqlite: string }
  | { backend: DocumentBackend }
)

/**
 * Makes the manager of named documents in files of `dir`, in the SQLite file `sqlite`, or in
 * another back end. Several processes may use the same documents. Does nothing before the first
 * call. Throws a TypeError for an invalid spec. Its methods throw `document_not_found`,
 * `state_corrupt`, `state_version`, `state_locked`, `state_unwritable`.
 */
export function createStateManager(options: Options) {
  const { now = Date.now, log } = options
  const backend = backendOf(options)
  const inTurn = createTurns()
  const deps = { backend, inTurn, now, log }
  const documents = new Map<string, StateDocument>()
  for (const spec of options.documents) {
    requireSpec(spec)
    if (documents.has(spec.name)) throw new TypeError(`two documents are named ${spec.name}`)
    documents.set(spec.name, createDocument(spec, deps))
  }
  const find = (name: string) => {
    const found = documents.get(name)
    if (found) return found
    const hint = ` There are: ${[...documents.keys()].join(', ')}.`
    throw new TriviumError('document_not_found', { name, hint })
  }

  return {
    names: () => [...documents.keys()],
    load: async (name: string) => await find(name).load(),
    update: async <R>(name: string, mutate: (draft: JsonObject) => R, updateOptions?: UpdateOptions) =>
      await find(name).update(mutate, updateOptions),
    replay: async (name: string, until: Until) => await find(name).replay(until),
    repair: async (name: string) => await find(name).repair(),
    /**
     * Migrates all documents, or one, to the current version. Resolves with those that changed.
     * Safe to call at each start: documents of the current version stay unchanged.
     */
    async migrate(only?: string) {
      const changed: { name: string; from: number; to: number }[] = []
      for (const name of only === undefined ? documents.keys() : [only]) {
        const migrated = await find(name).migrate()
        if (migrated) changed.push({ name, ...migrated })
      }
      return changed
    },
    /**
     * The events of a document, oldest first. Throws `state_corrupt` if one is broken or missing.
     */
    changes(name: string) {
      find(name)
      return backend.changes(name)
    },
    /** Earlier versions that `changes` does not have, as JSON texts. */
    setAside(name: string): Iterable<string> {
      find(name)
      return backend.setAside?.(name) ?? []
    },
    /** Removes earlier versions of a document, and the events that lead to them. */
    async forgetHistory(name: string): Promise<void> {
      // Adopts an edited document first, because the events restart with the current one.
      await find(name).load()
      await inTurn(() => backend.forgetHistory(name))
    },
    /** A declared document with its type. */
    document<T extends JsonObject>(spec: DocumentSpec<T>): StateDocument<T> {
      find(spec.name)
      return createDocument(spec, deps)
    },
    /** Waits for pending writes, then releases everything. */
    close: () => inTurn(() => backend.close()),
  }
}

/** Throws a TypeError for an invalid spec, for callers without types. */
function requireSpec({ name, version, schema, initial, migrations = {}, guard, adopt }: DocumentSpec): void {
  if (typeof name !== 'string' || !/^[a-z][a-z0-9_-]*$/.test(name)) {
    const rule = 'a name has lower-case letters, digits, _ and -, and begins with a letter'
    throw new TypeError(`a document cannot be named ${JSON.stringify(name)}: ${rule}`)
  }
  const specError = (what: string) => new TypeError(`document ${name}: ${what}`)
  if (!Number.isInteger(version) || version < 1) throw specError('`version` must be a positive integer')
  if (!isJsonObject(schema)) throw specError('`schema` must be a JSON Schema object')
  if (typeof initial !== 'function')
    throw specError('`initial` must be a function that returns the first document')
  for (const [key, hook] of Object.entries({ guard, adopt }))
    if (hook !== undefined && typeof hook !== 'function') throw specError(`\`${key}\` must be a function`)
  for (const [from, step] of Object.entries(migrations)) {
    // Migrations for future versions are allowed.
    const isMigration = Number.isInteger(Number(from)) && typeof step === 'function'
    if (!isMigration)
      throw specError(
        `\`migrations[${from}]\` must be a function that converts version ${from} to version ${Number(from) + 1}`,
      )
  }
}

function backendOf(options: Options): DocumentBackend {
  if ('backend' in options) return options.backend
  if ('dir' in options && typeof options.dir === 'string')
    return createFileBackend({ ...options, dir: options.dir })
  if (!('sqlite' in options) || typeof options.sqlite !== 'string')
    throw new TypeError('createStateManager takes `dir`, a folder, or `sqlite`, a file')
  const values = createSqliteValues(options.sqlite)
  return createStoreBackend({ values, address: options.sqlite, close: values.close })
}
