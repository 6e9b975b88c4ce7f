import { TriviumError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
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
 * Makes the manager of named documents, safe between processes, over files in `dir`, one SQLite file, or another back end. Touches
 * nothing before a call. Throws `document_not_found`, `state_corrupt`, `state_version`, `state_locked`, `state_unwritable`.
 */
export function createStateManager(options: Options) {
  const { now = Date.now, log } = options
  const backend = backendOf(options)
  const inTurn = createTurns()
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
    load: async (name: string) => await named(name).load(),
    update: async <R>(name: string, mutate: (draft: JsonObject) => R, how?: UpdateOptions) =>
      await named(name).update(mutate, how),
    replay: async (name: string, until: Until) => await named(name).replay(until),
    repair: async (name: string) => await named(name).repair(),
    /** Brings every document, or one, to the current version. May run at each start. Tells which it changed. */
    async migrate(only?: string) {
      const done: { name: string; from: number; to: number }[] = []
      for (const name of only === undefined ? documents.keys() : [only]) {
        const migrated = await named(name).migrate()
        if (migrated) done.push({ name, ...migrated })
      }
      return done
    },
    /** A declared document with its type. */
    document<T extends JsonObject>(spec: DocumentSpec<T>): StateDocument<T> {
      named(spec.name)
      return createDocument(spec, deps)
    },
    /** Waits for what is being written, then lets go of everything. */
    close: () => inTurn(() => backend.close()),
  }
}

function backendOf(options: Options): DocumentBackend {
  if ('backend' in options) return options.backend
  if ('dir' in options) return createFileBackend(options)
  const values = createSqliteValues(options.sqlite)
  return createStoreBackend({ values, address: options.sqlite, close: values.close })
}
