import { randomUUID } from 'node:crypto'
import { type CallToolResult, inputRequired } from '@modelcontextprotocol/server'
import type { Caller } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { defined } from '../../lib/defined.ts'
import { type Asks, createQuestions } from './questions.ts'

export type RunningCall = ReturnType<typeof startCall>

/** What a running tool gets from its call. */
export type CallPort = { signal: AbortSignal; asks: Asks; says(message: string): void }

/** How long (ms) a call is kept after its client last asked for it. */
export const KEPT = 30 * 60_000
/** The polling interval (ms) suggested to clients. */
const POLL_EVERY = 1_000

/** Starts a tool call. `run` must not reject. */
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
    // Counts from the creation, so each poll makes it longer.
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
  // Deferred, so that the caller can listen to its messages first.
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
    /** Resolves when the call has ended or has a question, or when `signal` aborts. */
    async wait(signal: AbortSignal): Promise<void> {
      const gone = Promise.withResolvers<void>()
      signal.addEventListener('abort', () => gone.resolve(), { once: true })
      while (!isOver() && !areOpen() && !signal.aborted) await Promise.race([changed.promise, gone.promise])
    },
    /** Sets the listener for messages of the call, replacing an earlier one. */
    listen(listener: typeof heard): void {
      heard = listener
    },
    tell,
    cancel(): void {
      if (isOver()) return
      isCancelled = true
      result = { isError: true, content: [{ type: 'text', text: 'The call was cancelled.' }] }
      abort.abort(new TriviumError('cancelled', { what: 'The call', reason: 'its client cancelled it' }))
      change()
    },
    /** The open questions, as the result of an unfinished call. */
    question: () => (areOpen() ? inputRequired({ requestState: id, inputRequests: requests() }) : undefined),
    task,
    /** The response to `tasks/get`. */
    detail: () => ({
      ...task(),
      ...(status() === 'input_required' && { inputRequests: requests() }),
      ...(status() === 'completed' && { result }),
    }),
  }
}
