import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from '../../core/log.ts'
import type { Store } from '../../core/store.ts'
import { repeat } from '../../lib/loop.ts'
import { type AssistantState, assistantDocument } from '../assistant/assistant-state.ts'
import type { StateDocument } from './document.ts'
import { createStateManager, type StateManager } from './manager.ts'
import { type DocumentSpec, migrationOf, readDocument } from './spec.ts'
import { createStoreBackend } from './store-backend.ts'

/** The assistant's documents: `state.json`, or on Redis, begun with that. Touches nothing before the first call. */
export function createStateDocuments(deps: {
  dataDir: string
  /** Absent: files, whatever the store; they are safe beside a running daemon. */
  store?: Pick<Store, 'kind' | 'kv' | 'address'>
  /** Called when the manager is closed. */
  close?: () => Promise<void>
  log: Log
}): StateManager {
  const { dataDir, store, close, ...rest } = deps
  if (store?.kind !== 'redis') {
    return createStateManager({ dir: dataDir, documents: [assistantDocument], ...rest })
  }
  return createStateManager({
    backend: createStoreBackend({ values: store.kv, address: store.address, close }),
    documents: [startingFrom(join(dataDir, 'state.json'))],
    ...rest,
  })
}

/** Begins a missing document with a file, so that who changes to Redis keeps what they had. */
function startingFrom(path: string): DocumentSpec<AssistantState> {
  return {
    ...assistantDocument,
    initial() {
      const fresh = assistantDocument.initial()
      if (!existsSync(path)) return fresh
      // Whether it has the right shape is for the manager to say, as with every document.
      const found = readDocument(path, 'move it away to begin with an empty one')
      return Object.assign(fresh, migrationOf(assistantDocument, found, path))
    },
  }
}

/** How often (ms) the copy is brought up to date. */
const COPY_EVERY = 2_000

/** Keeps `state.json` a copy of the state on Redis. Returns what ends it, with a last copy. */
export function keepStateCopy(
  state: Pick<StateDocument<AssistantState>, 'load'>,
  dataDir: string,
  log: Log,
): () => Promise<void> {
  const files = createStateManager({ dir: dataDir, documents: [assistantDocument], log })
  let copied = 0
  const copy = async () => {
    const { document, revision } = await state.load()
    if (revision === copied) return
    await files.update(assistantDocument.name, (draft) => {
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
      log.warn({ err }, 'state.json is not up to date; the state itself is on Redis'),
    )
    await files.close()
  }
}
