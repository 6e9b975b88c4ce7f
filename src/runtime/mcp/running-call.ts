import { randomUUID } from 'node:crypto'
import { type CallToolResult, inputRequired } from '@modelcontextprotocol/server'
import type { Caller } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { defined } from '../../lib/defined.ts'
import { type Asks, createQuestions } from './questions.ts'

export type RunningCall = ReturnType<typeof startCall>

/** What runs as a call has of it. */
export type CallPort = { signal: AbortSignal; asks: Asks; says(message: string): void }

/** Ms that a call is kept which nobody asks for. */
export const KEPT = 30 * 60_000
/** Ms between two looks of a client. */
const POLL_EVERY = 1_000

/** Starts a call of a tool. `run` must not reject. */
export function startCall(caller: Caller, run: (port: CallPort) => Promise<CallToolResult>) {
  const id = randomUUID()
  const abort = new AbortController()
  const createdAt = new Date().toISOString()
  let lastUpdatedAt = createdAt
  let isCancelled = false
  let result: CallToolResult | undefined
  let said: string | undefined
  let heard: ((message: string) => void) | undefined
  let changed = Promise.withResolvers<void>()
  const change = () => {
    lastUpdatedAt = new Date().toISOString()
    changed.resolve()
    changed = Promise.withResolvers()
  }
  const { asks, areOpen, requests, tell } = createQuestions(change, abort.signal)
  const isOver = () => isCancelled || result !== undefined
  const status = () => {
    if (isOver()) return isCancelled ? 'cancelled' : 'completed'
    return areOpen() ? 'input_required' : 'working'
  }
  const task = () => ({
    createdAt,
    // From its beginning; each look makes it longer.
    ttlMs: Date.now() - Date.parse(createdAt) + KEPT,
    pollIntervalMs: POLL_EVERY,
    taskId: id,
    status: status(),
    lastUpdatedAt,
    ...defined({ statusMessage: said }),
  })

  const says = (message: string) => {
    said = message
    heard?.(message)
  }
  // Once somebody may listen to what it says.
  void Promise.resolve()
    .then(() => run({ signal: abort.signal, says, asks }))
    .then((value) => {
      result ??= value
      change()
    })

  return {
    id,
    caller,
    isOver,
    result: () => result,
    /** Resolves when it is over or asks something, or `signal` aborts. */
    async wait(signal: AbortSignal): Promise<void> {
      const gone = Promise.withResolvers<void>()
      signal.addEventListener('abort', () => gone.resolve(), { once: true })
      while (!isOver() && !areOpen() && !signal.aborted) await Promise.race([changed.promise, gone.promise])
    },
    /** Calls `listener`, in place of any other, with what it says of itself. */
    listen(listener: typeof heard): void {
      heard = listener
    },
    tell,
    cancel(): void {
      if (isOver()) return
      isCancelled = true
      result = { isError: true, content: [{ type: 'text', text: 'The call was cancelled.' }] }
      abort.abort(new TriviumError('cancelled', { what: 'The call', reason: 'its client went away' }))
      change()
    },
    /** What the client's person has to answer first. */
    question: () => (areOpen() ? inputRequired({ requestState: id, inputRequests: requests() }) : undefined),
    task,
    /** What `tasks/get` says. */
    detail: () => ({
      ...task(),
      ...(status() === 'input_required' && { inputRequests: requests() }),
      ...(status() === 'completed' && { result }),
    }),
  }
}
