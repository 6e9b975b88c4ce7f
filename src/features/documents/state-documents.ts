import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import type { Store } from '../../core/store.ts'
import { repeat } from '../../lib/loop.ts'
import { createTurns } from '../../lib/turns.ts'
import type { StateDocument } from './document.ts'
import { createStateManager, type StateManager } from './manager.ts'
import { migrateDocument } from './migration.ts'
import type { DocumentSpec } from './spec.ts'
import { createStoreBackend } from './store-backend.ts'
import { readDocument } from './text.ts'

/**
 * Makes the manager of one document, which is in `<name>.json` of the data directory or in Redis.
 * In Redis, a missing document begins with the content of that file. Does nothing before the first
 * call.
 */
export function createDocumentManager<T extends JsonObject>(deps: {
  spec: DocumentSpec<T>
  dataDir: string
  /**
   * With a store in Redis, the document is there. Otherwise it is in the file, which commands can
   * open while a daemon runs.
   */
  store?: Pick<Store, 'kind' | 'kv' | 'address'>
  /** Closes a store in Redis, together with the manager. */
  closeStore?: () => Promise<void>
  log: Log
}): StateManager {
  const { spec, dataDir, store, closeStore: close, ...rest } = deps
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
      const initial = spec.initial()
      if (!existsSync(path)) return initial
      // Not validated here: the manager validates every new document.
      const found = readDocument(path, 'move it away to start with an empty one')
      return { ...initial, ...migrateDocument(spec, found, path) }
    },
  }
}

/** Interval (ms) between updates of the copy. */
const COPY_INTERVAL = 2_000

/**
 * Keeps `<name>.json` as a copy of a document in Redis, from `start` on. The file stays as it is
 * while the document cannot be read or migrated.
 */
export function createStateCopy<T extends JsonObject>(
  spec: DocumentSpec<T>,
  state: Pick<StateDocument<T>, 'load'>,
  dataDir: string,
  log: Log,
) {
  const documents = createStateManager({ dir: dataDir, documents: [spec], log })
  const inTurn = createTurns()
  let copiedRevision = 0
  const update = async () => {
    const { document, revision } = await state.load()
    if (revision === copiedRevision) return
    await documents.update(spec.name, (draft) => {
      for (const key of Object.keys(draft)) delete draft[key]
      Object.assign(draft, document)
    })
    copiedRevision = revision
  }
  const copy = () => inTurn(update)
  const loop = repeat(copy, COPY_INTERVAL, 'copy of the state', log)
  let isStarted = false
  return {
    /** The manager of the copy. */
    documents,
    /**
     * Runs work on the copy between two of its updates. Otherwise an update in progress could have
     * loaded the document before an erasure, and write the erased content back.
     */
    betweenUpdates: inTurn,
    start(): void {
      isStarted = true
      loop.start()
    },
    /** Stops after a last update. */
    async stop(): Promise<void> {
      if (isStarted) {
        await loop.stop()
        await copy().catch((err) =>
          log.warn({ err }, `${spec.name}.json is not up to date; the document itself is on Redis`),
        )
      }
      await documents.close()
    },
  }
}
