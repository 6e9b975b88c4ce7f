import { join } from 'node:path'
import type { Store } from '../core/store.ts'
import { createCallbackService } from './callbacks/callback-service.ts'
import { createSessionService } from './session/sessions.ts'
import {
  createFileBackend,
  createMemoryBackend,
  createSharedBackend,
  type StateEntry,
} from './state/backends.ts'

/** Makes state, callbacks and sessions; no I/O yet. */
export function createRuntimeServices(options: {
  store: Pick<Store, 'kv' | 'onSignal'>
  dataDir: string
  now?: () => number
}) {
  const { store, dataDir, now = Date.now } = options
  const globals = { sessions: new Map<string, StateEntry>(), state: new Map<string, StateEntry>() }
  const backendsOf = (folder: string, prefix: string, entries: Map<string, StateEntry>) => ({
    file: createFileBackend(join(dataDir, folder), now),
    memory: createMemoryBackend(now, entries),
    shared: createSharedBackend(store, prefix),
  })
  const ofState = backendsOf('state', 'state:', globals.state)
  const ofSessions = backendsOf('sessions', 'session:', globals.sessions)
  const backends = [ofState, ofSessions].flatMap(({ file, memory }) => [file, memory])
  return {
    state: ofState,
    /** Where state and sessions lie, for whoever looks through all of them. */
    values: { state: ofState, sessions: ofSessions },
    callbacks: createCallbackService({ store, now }),
    sessions: createSessionService(ofSessions),
    /** For the manager's `globals`: the Maps in which `store: memory` keeps sessions and state, by their keys. */
    globals,
    /** Removes what has expired. It looks through all files, and nobody sees what has expired anyway: call it every hour. */
    async sweep() {
      for (const backend of backends) await backend.sweep()
    },
    close() {
      for (const backend of backends) backend.close()
    },
  }
}
