import { isDeepStrictEqual } from 'node:util'
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import type { Caller } from '../../core/call.ts'
import { RETENTION, type RunningCall } from './running-call.ts'

export type Calls = ReturnType<typeof createCalls>

/** Maximum number of calls that are kept per caller. */
const MAX_CALLS = 100

/**
 * Tool calls that outlive their request: tasks (extension io.modelcontextprotocol/tasks, SEP-2663),
 * and calls that wait for an answer of the client's user. Each is visible to its caller only. All
 * end with this process.
 */
export function createCalls() {
  const kept = new Map<string, { call: RunningCall; timer?: NodeJS.Timeout }>()
  const end = (id: string) => {
    const found = kept.get(id)
    kept.delete(id)
    clearTimeout(found?.timer)
    found?.call.cancel()
  }
  /**
   * If the caller has too many calls, removes a finished one. If none has finished, cancels the new
   * call and throws.
   */
  const makeRoom = (call: RunningCall) => {
    const ofCaller = [...kept.values()].filter(({ call: { caller } }) => caller.id === call.caller.id)
    if (ofCaller.length < MAX_CALLS) return
    const finished = ofCaller.find((one) => one.call.isFinished())
    if (finished) return end(finished.call.id)
    call.cancel()
    throw new ProtocolError(
      ProtocolErrorCode.InternalError,
      `${MAX_CALLS} calls of this client are already running`,
    )
  }

  const keep = (call: RunningCall) => {
    const { id } = call
    if (!kept.has(id)) makeRoom(call)
    clearTimeout(kept.get(id)?.timer)
    kept.set(id, { call, timer: setTimeout(() => end(id), RETENTION).unref() })
  }

  return {
    /** Lets a call outlive its request. Throws if its caller has too many. */
    keep,
    /** Finds a kept call of this caller, and extends its retention. Throws if there is none. */
    of(id: string, caller: Caller): RunningCall {
      const found = kept.get(id)?.call
      if (found && isDeepStrictEqual(found.caller, caller)) {
        keep(found)
        return found
      }
      const why = 'it ended, belongs to another client, or was lost when the daemon restarted'
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no such call: ${why}`)
    },
    end,
    close(): void {
      for (const id of [...kept.keys()]) end(id)
    },
  }
}
