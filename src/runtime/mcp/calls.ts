import { isDeepStrictEqual } from 'node:util'
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import type { Caller } from '../../core/call.ts'
import { KEPT, type RunningCall } from './running-call.ts'

export type Calls = ReturnType<typeof createCalls>

/** Kept calls of one caller. */
const MOST = 100

/**
 * Calls of tools that outlive their request: as tasks (the extension io.modelcontextprotocol/tasks, SEP-2663), and while the client's
 * person is asked something. They are their caller's alone, and end with this process.
 */
export function createCalls() {
  const kept = new Map<string, { call: RunningCall; timer?: NodeJS.Timeout }>()
  const end = (id: string) => {
    const found = kept.get(id)
    kept.delete(id)
    clearTimeout(found?.timer)
    found?.call.cancel()
  }
  /** Forgets one that is over; else the new one has no place, and ends. */
  const makeRoom = (call: RunningCall) => {
    const mine = [...kept].filter(([, { call: one }]) => one.caller.id === call.caller.id)
    if (mine.length < MOST) return
    const over = mine.find(([, { call: one }]) => one.isOver())
    if (over) return end(over[0])
    call.cancel()
    throw new ProtocolError(ProtocolErrorCode.InternalError, `${MOST} calls of this client run already`)
  }

  const keep = (call: RunningCall) => {
    const { id } = call
    if (!kept.has(id)) makeRoom(call)
    clearTimeout(kept.get(id)?.timer)
    kept.set(id, { call, timer: setTimeout(() => end(id), KEPT).unref() })
  }

  return {
    /** Lets a call outlive its request. Throws where its caller has too many. */
    keep,
    /** A kept call of this caller. Throws where there is none. */
    of(id: string, caller: Caller): RunningCall {
      const found = kept.get(id)?.call
      if (found && isDeepStrictEqual(found.caller, caller)) {
        keep(found)
        return found
      }
      const why = "it is over, it was another client's, or the daemon was started anew"
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no such call: ${why}`)
    },
    end,
    close(): void {
      for (const id of [...kept.keys()]) end(id)
    },
  }
}
