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

/** Makes the services for state, callbacks and sessions. Does no I/O yet. */
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
    /** The storage of state and sessions, for code that searches all of it. */
    values: { state: ofState, sessions: ofSessions },
    callbacks: createCallbackService({ store, now }),
    sessions: createSessionService(ofSessions),
    /** The `ctx.globals` of skills: the Maps behind `store: memory`. */
    globals,
    /** Removes expired entries. Reads all files, so call it rarely; expired entries are invisible anyway. */
    async sweep() {
      for (const backend of backends) await backend.sweep()
    },
    close() {
      for (const backend of backends) backend.close()
    },
  }
}
