import { join } from 'node:path'
import { type ApprovalDeps, createApprovalService } from '../features/approvals/approval-service.ts'
import { createCallbackService } from './callbacks/callback-service.ts'
import { createSessionService } from './session/sessions.ts'
import {
  createFileBackend,
  createMemoryBackend,
  createSharedBackend,
  type StateEntry,
} from './state/backends.ts'

/** Makes state, callbacks, approvals and sessions; no I/O yet. Without `resume`, what waits for an approval stays parked. */
export function createRuntimeServices(
  options: Pick<ApprovalDeps, 'store'> & Partial<ApprovalDeps> & { dataDir: string },
) {
  const { store, dataDir, now = Date.now, resume = async () => {}, noted = async () => {} } = options
  const globals = { sessions: new Map<string, StateEntry>(), state: new Map<string, StateEntry>() }
  const backendsOf = (folder: string, prefix: string, entries: Map<string, StateEntry>) => ({
    file: createFileBackend(join(dataDir, folder), now),
    memory: createMemoryBackend(now, entries),
    shared: createSharedBackend(store, prefix),
  })
  const ofState = backendsOf('state', 'state:', globals.state)
  const ofSessions = backendsOf('sessions', 'session:', globals.sessions)
  const backends = [ofState, ofSessions].flatMap(({ file, memory }) => [file, memory])
  const approvals = createApprovalService({ store, resume, noted, now })
  return {
    state: ofState,
    callbacks: createCallbackService({ store, now }),
    approvals,
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
