import { TriviumError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import {
  createDocument,
  type Repaired,
  type StateDocument,
  type Updated,
  type UpdateOptions,
} from './document.ts'
import type { Until } from './events.ts'
import { createFileBackend } from './file-backend.ts'
import type { DocumentBackend, DocumentSpec, Snapshot } from './spec.ts'
import { createSqliteValues } from './sqlite-values.ts'
import { createStoreBackend } from './store-backend.ts'

/**
 * Named documents with a schema, safe between processes; see `StateDocument` for each method. All throw `document_not_found`,
 * `state_corrupt`, `state_version`, `state_locked` and `state_unwritable`.
 */
export type StateManager = {
  names(): string[]
  load(name: string): Promise<Snapshot>
  update<R>(
    name: string,
    mutate: (draft: JsonObject) => R,
    options?: UpdateOptions,
  ): Promise<Updated<JsonObject, R>>
  replay(name: string, until: Until): Promise<Snapshot | undefined>
  repair(name: string): Promise<Repaired>
  /** Brings every document, or one, to the current version. May run at each start. Tells which it changed. */
  migrate(name?: string): Promise<{ name: string; from: number; to: number }[]>
  /** A declared document with its type. */
  document<T extends JsonObject>(spec: DocumentSpec<T>): StateDocument<T>
  /** Waits for what is being written, then lets go of everything. */
  close(): Promise<void>
}

type Options = { documents: readonly DocumentSpec[]; now?: () => number; log?: Log } & (
  | { dir: string }
  | { sqlite: string }
  | { backend: DocumentBackend }
)

/** Makes the manager over files in `dir`, over one SQLite file, or over another back end. Touches nothing before the first call. */
export function createStateManager(options: Options): StateManager {
  const { now = Date.now, log } = options
  const backend = backendOf(options)
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <R>(work: () => Promise<R>): Promise<R> => {
    const done = last.then(work)
    last = done.catch(() => undefined)
    return done
  }
  const deps = { backend, inTurn, now, log }
  const documents = new Map<string, StateDocument>()
  for (const spec of options.documents) {
    if (!/^[a-z][a-z0-9_-]*$/.test(spec.name)) {
      throw new TypeError(`a document cannot be named ${JSON.stringify(spec.name)}`)
    }
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
    load: async (name) => await named(name).load(),
    update: async (name, mutate, how) => await named(name).update(mutate, how),
    replay: async (name, until) => await named(name).replay(until),
    repair: async (name) => await named(name).repair(),
    async migrate(only) {
      const done: { name: string; from: number; to: number }[] = []
      for (const name of only === undefined ? documents.keys() : [only]) {
        const migrated = await named(name).migrate()
        if (migrated) done.push({ name, ...migrated })
      }
      return done
    },
    document(spec) {
      named(spec.name)
      return createDocument(spec, deps)
    },
    async close() {
      await last
      await backend.close()
    },
  }
}

function backendOf(options: Options): DocumentBackend {
  if ('backend' in options) return options.backend
  if ('dir' in options) return createFileBackend(options)
  const values = createSqliteValues(options.sqlite)
  return createStoreBackend({ values, address: options.sqlite, close: values.close })
}
