import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { reasonOf, TriviumError } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { Store } from '../core/store.ts'
import { type AssistantState, assistantDocument } from '../state/assistant-state.ts'
import { type DocumentSpec, parseDocument } from '../state/document.ts'
import { createStateManager, type StateManager } from '../state/manager.ts'
import { migrationOf } from '../state/migration.ts'
import { createSharedBackend } from '../state/shared-backend.ts'

/**
 * The documents of the assistant: `state.json` in the data dir, or on Redis, where all daemons share one memory.
 * The first daemon on a Redis brings what its data dir holds. Touches nothing before the first call.
 */
export function createStateDocuments(deps: {
  dataDir: string
  /** Absent: files, whatever the store; they are safe beside a running daemon. */
  store?: Pick<Store, 'kind' | 'kv' | 'onSignal' | 'address'>
  log: Log
  now?: () => number
}): StateManager {
  const { dataDir, store, log, now } = deps
  const rest = { log, ...(now ? { now } : {}) }
  if (store?.kind !== 'redis') {
    return createStateManager({ dir: dataDir, documents: [assistantDocument], ...rest })
  }
  return createStateManager({
    backend: createSharedBackend({ kv: store.kv, onSignal: store.onSignal, address: store.address }),
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
      return existsSync(path) ? Object.assign(fresh, readState(path)) : fresh
    },
  }
}

/** Whether it has the right shape is for the manager to say, as with every document. */
function readState(path: string) {
  try {
    return migrationOf(assistantDocument, parseDocument(readFileSync(path, 'utf8')), path)
  } catch (cause) {
    if (cause instanceof TriviumError) throw cause
    throw new TriviumError('state_corrupt', { path, name: 'state', reason: reasonOf(cause) }, { cause })
  }
}
