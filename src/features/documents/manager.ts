import { TriviumError } from '../../core/errors.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import { createTurns } from '../../lib/turns.ts'
import { createDocument, type StateDocument, type UpdateOptions } from './document.ts'
import type { Until } from './events.ts'
import { createFileBackend } from './file-backend.ts'
import type { DocumentBackend, DocumentSpec } from './spec.ts'
import { createSqliteValues, createStoreBackend } from './store-backend.ts'

export type StateManager = ReturnType<typeof createStateManager>

type Options = { documents: readonly DocumentSpec[]; now?: () => number; log?: Log } & (
  | { dir: string }
  | { sqlite: string }
  | { backend: DocumentBackend }
)

/**
 * Makes the manager of named documents, safe between processes, over files in `dir`, one SQLite file, or
 * another back end. Does nothing before the first call. Throws a TypeError for an invalid spec; its methods
 * throw `document_not_found`, `state_corrupt`, `state_version`, `state_locked`, `state_unwritable`.
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
  const named = (name: string) => {
    const found = documents.get(name)
    if (found) return found
    const hint = ` There are: ${[...documents.keys()].join(', ')}.`
    throw new TriviumError('document_not_found', { name, hint })
  }

  return {
    names: () => [...documents.keys()],
    load: async (name: string) => await named(name).load(),
    update: async <R>(name: string, mutate: (draft: JsonObject) => R, how?: UpdateOptions) =>
      await named(name).update(mutate, how),
    replay: async (name: string, until: Until) => await named(name).replay(until),
    repair: async (name: string) => await named(name).repair(),
    /** Migrates all documents, or one, to the current version. May run at each start. Returns which it changed. */
    async migrate(only?: string) {
      const done: { name: string; from: number; to: number }[] = []
      for (const name of only === undefined ? documents.keys() : [only]) {
        const migrated = await named(name).migrate()
        if (migrated) done.push({ name, ...migrated })
      }
      return done
    },
    /** Forgets earlier versions of a document. */
    forgetHistory: (name: string) => inTurn(() => backend.forgetHistory(name)),
    /** A declared document with its type. */
    document<T extends JsonObject>(spec: DocumentSpec<T>): StateDocument<T> {
      named(spec.name)
      return createDocument(spec, deps)
    },
    /** Waits for pending writes, then releases everything. */
    close: () => inTurn(() => backend.close()),
  }
}

/** Checks a spec before a document is touched, for callers without types. */
function requireSpec({ name, version, schema, initial, migrations = {}, guard, adopt }: DocumentSpec): void {
  if (typeof name !== 'string' || !/^[a-z][a-z0-9_-]*$/.test(name)) {
    const rule = 'a name has lower-case letters, digits, _ and -, and begins with a letter'
    throw new TypeError(`a document cannot be named ${JSON.stringify(name)}: ${rule}`)
  }
  const wrong = (what: string) => new TypeError(`document ${name}: ${what}`)
  if (!Number.isInteger(version) || version < 1) throw wrong('`version` must be a positive integer')
  if (!isJsonObject(schema)) throw wrong('`schema` must be a JSON Schema object')
  if (typeof initial !== 'function')
    throw wrong('`initial` must be a function that returns the first document')
  for (const [key, hook] of Object.entries({ guard, adopt }))
    if (hook !== undefined && typeof hook !== 'function') throw wrong(`\`${key}\` must be a function`)
  for (const [from, step] of Object.entries(migrations)) {
    // Migrations for future versions are allowed.
    const isStep = Number.isInteger(Number(from)) && typeof step === 'function'
    if (!isStep)
      throw wrong(
        `\`migrations[${from}]\` must be a function that makes version ${Number(from) + 1} of version ${from}`,
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
