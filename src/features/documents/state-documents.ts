import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import type { Store } from '../../core/store.ts'
import { repeat } from '../../lib/loop.ts'
import type { StateDocument } from './document.ts'
import { createStateManager, type StateManager } from './manager.ts'
import { type DocumentSpec, migrationOf, readDocument } from './spec.ts'
import { createStoreBackend } from './store-backend.ts'

/**
 * A document in `<name>.json` of the data directory, or in Redis, where the first one is a copy of
 * that file. Does nothing before the first call.
 */
export function createStateDocuments<T extends JsonObject>(deps: {
  spec: DocumentSpec<T>
  dataDir: string
  /** Absent: files, regardless of the store. They are safe to use beside a running daemon. */
  store?: Pick<Store, 'kind' | 'kv' | 'address'>
  /** Called when the manager is closed. */
  close?: () => Promise<void>
  log: Log
}): StateManager {
  const { spec, dataDir, store, close, ...rest } = deps
  if (store?.kind !== 'redis') {
    return createStateManager({ dir: dataDir, documents: [spec], ...rest })
  }
  return createStateManager({
    backend: createStoreBackend({ values: store.kv, address: store.address, close }),
    documents: [startingFrom(spec, join(dataDir, `${spec.name}.json`))],
    ...rest,
  })
}

/** Starts a missing document from its file, so that state survives a change to Redis. */
function startingFrom<T extends JsonObject>(spec: DocumentSpec<T>, path: string): DocumentSpec<T> {
  return {
    ...spec,
    initial() {
      const fresh = spec.initial()
      if (!existsSync(path)) return fresh
      // The manager validates its shape, as for every document.
      const found = readDocument(path, 'move it away to start with an empty one')
      return Object.assign(fresh, migrationOf(spec, found, path))
    },
  }
}

/** Update interval of the copy, in ms. */
const COPY_EVERY = 2_000

/**
 * Keeps `<name>.json` as a copy of a document in Redis. Returns a function that stops after a last
 * update.
 */
export function keepStateCopy<T extends JsonObject>(
  spec: DocumentSpec<T>,
  state: Pick<StateDocument<T>, 'load'>,
  dataDir: string,
  log: Log,
): () => Promise<void> {
  const files = createStateManager({ dir: dataDir, documents: [spec], log })
  let copied = 0
  const copy = async () => {
    const { document, revision } = await state.load()
    if (revision === copied) return
    await files.update(spec.name, (draft) => {
      for (const key of Object.keys(draft)) delete draft[key]
      Object.assign(draft, document)
    })
    copied = revision
  }
  const copying = repeat(copy, COPY_EVERY, 'copy of the state', log)
  copying.start()
  return async () => {
    await copying.stop()
    await copy().catch((err) =>
      log.warn({ err }, `${spec.name}.json is not up to date; the document itself is on Redis`),
    )
    await files.close()
  }
}
