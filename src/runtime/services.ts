import { join } from 'node:path'
import type { Log } from '../core/log.ts'
import type { Store } from '../core/store.ts'
import { createCallbackService } from './callbacks/callback-service.ts'
import { createSessionService } from './session/sessions.ts'
import {
  createFileBackend,
  createMemoryBackend,
  createSharedBackend,
  type StateEntry,
} from './state/backends.ts'

/** Makes the services for state, callbacks and sessions. Does no I/O before the first call. */
export function createRuntimeServices(options: {
  store: Pick<Store, 'kv' | 'onSignal'>
  dataDir: string
  log: Pick<Log, 'warn'>
  now?: () => number
}) {
  const { store, dataDir, log, now = Date.now } = options
  const globals = { sessions: new Map<string, StateEntry>(), state: new Map<string, StateEntry>() }
  const backendsOf = (folder: string, prefix: string, entries: Map<string, StateEntry>) => ({
    file: createFileBackend(join(dataDir, folder), now),
    memory: createMemoryBackend(now, entries),
    shared: createSharedBackend(store, prefix),
  })
  const stateBackends = backendsOf('state', 'state:', globals.state)
  const sessionBackends = backendsOf('sessions', 'session:', globals.sessions)
  const localBackends = [stateBackends, sessionBackends].flatMap(({ file, memory }) => [file, memory])
  return {
    state: stateBackends,
    /** The storage of state and sessions, for code that searches all of it. */
    values: { state: stateBackends, sessions: sessionBackends },
    callbacks: createCallbackService({ store, now }),
    sessions: createSessionService(sessionBackends, log),
    /** The `ctx.globals` of skills: the Maps behind `store: memory`. */
    globals,
    /**
     * Removes expired entries, which are invisible before. Call it rarely, because it reads all
     * files.
     */
    async sweep() {
      for (const backend of localBackends) await backend.sweep()
    },
    close() {
      for (const backend of localBackends) backend.close()
    },
  }
}
