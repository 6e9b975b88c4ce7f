import { randomUUID } from 'node:crypto'
import { type CallToolResult, inputRequired } from '@modelcontextprotocol/server'
import type { Caller } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { MINUTE } from '../../core/units.ts'
import { defined } from '../../lib/defined.ts'
import { type AskUser, createQuestions } from './questions.ts'

export type RunningCall = ReturnType<typeof startCall>

/** The part of a call that a running tool uses. */
export type CallPort = { signal: AbortSignal; askUser: AskUser; reportProgress(message: string): void }

/** How long (ms) a call is kept after the last request of its client for it. */
export const RETENTION = 30 * MINUTE
/** The polling interval (ms) suggested to clients. */
const POLL_INTERVAL = 1_000

/** Starts a tool call. `run` must not reject. */
export function startCall(caller: Caller, run: (port: CallPort) => Promise<CallToolResult>) {
  const id = randomUUID()
  const abort = new AbortController()
  const createdAt = new Date().toISOString()
  let lastUpdatedAt = createdAt
  let isCancelled = false
  let result: CallToolResult | undefined
  let lastMessage: string | undefined
  let listener: ((message: string) => void) | undefined
  let nextChange = Promise.withResolvers<void>()
  const onChange = () => {
    lastUpdatedAt = new Date().toISOString()
    nextChange.resolve()
    nextChange = Promise.withResolvers()
  }
  const { askUser, areOpen, requests, takeResponses } = createQuestions(onChange, abort.signal)
  const isFinished = () => isCancelled || result !== undefined
  const status = () => {
    if (isCancelled) return 'cancelled'
    if (isFinished()) return 'completed'
    return areOpen() ? 'input_required' : 'working'
  }
  const task = () => ({
    createdAt,
    // By the protocol, it counts from the creation. Each poll extends it.
    ttlMs: Date.now() - Date.parse(createdAt) + RETENTION,
    pollIntervalMs: POLL_INTERVAL,
    taskId: id,
    status: status(),
    lastUpdatedAt,
    ...defined({ statusMessage: lastMessage }),
  })

  const reportProgress = (message: string) => {
    lastMessage = message
    listener?.(message)
  }
  // Starts in the next microtask, so that the caller of `startCall` can call `listen` before.
  void Promise.resolve()
    .then(() => run({ signal: abort.signal, reportProgress, askUser }))
    .then((value) => {
      result ??= value
      onChange()
    })

  return {
    id,
    caller,
    isFinished,
    result: () => result,
    /** Resolves when the call has ended or has a question, or when `signal` aborts. */
    async wait(signal: AbortSignal): Promise<void> {
      const aborted = Promise.withResolvers<void>()
      signal.addEventListener('abort', () => aborted.resolve(), { once: true })
      while (!isFinished() && !areOpen() && !signal.aborted)
        await Promise.race([nextChange.promise, aborted.promise])
    },
    /** Sets the listener for progress messages of the call, replacing an earlier one. */
    listen(next: typeof listener): void {
      listener = next
    },
    takeResponses,
    cancel(): void {
      if (isFinished()) return
      isCancelled = true
      result = { isError: true, content: [{ type: 'text', text: 'The call was cancelled.' }] }
      abort.abort(new TriviumError('cancelled', { what: 'The call', reason: 'its client cancelled it' }))
      onChange()
    },
    /** The open questions, in the form of a result; undefined if there are none. */
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
