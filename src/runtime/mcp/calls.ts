import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import {
  type CallToolResult,
  inputRequired,
  inputResponse,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { Call, Caller, Question } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { defined } from '../../lib/defined.ts'

export type Calls = ReturnType<typeof createCalls>
export type RunningCall = ReturnType<typeof startCall>

/** What runs as a call has of it. */
export type CallPort = { signal: AbortSignal; asks: NonNullable<Call['asks']>; says(message: string): void }

/** Ms that a call is kept which nobody asks for. */
const KEPT = 30 * 60_000
/** Ms between two looks of a client. */
const POLL_EVERY = 1_000
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

/** `run` must not reject. */
export function startCall(caller: Caller, run: (port: CallPort) => Promise<CallToolResult>) {
  const id = randomUUID()
  const abort = new AbortController()
  const questions = new Map<string, Question & { answer(given: string | undefined): void }>()
  const createdAt = new Date().toISOString()
  let count = 0
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
  const isOver = () => isCancelled || result !== undefined
  const status = () => {
    if (isOver()) return isCancelled ? 'cancelled' : 'completed'
    return questions.size > 0 ? 'input_required' : 'working'
  }
  const answered = (key: string, given: string | undefined) => {
    const asked = questions.get(key)
    if (!questions.delete(key)) return
    change()
    asked?.answer(given)
  }
  const inputRequests = () =>
    Object.fromEntries([...questions].map(([key, asked]) => [key, inputRequired.elicit(formOf(asked))]))
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

  const port: CallPort = {
    signal: abort.signal,
    says(message) {
      said = message
      heard?.(message)
    },
    asks: (question, signal) => {
      const key = `question-${++count}`
      const { promise, resolve } = Promise.withResolvers<string | undefined>()
      questions.set(key, { ...question, answer: resolve })
      const ended = AbortSignal.any([signal, abort.signal])
      ended.addEventListener('abort', () => answered(key, undefined))
      if (ended.aborted) answered(key, undefined)
      else change()
      return promise
    },
  }
  // Once somebody may listen to what it says.
  void Promise.resolve()
    .then(() => run(port))
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
      while (!isOver() && questions.size === 0 && !signal.aborted)
        await Promise.race([changed.promise, gone.promise])
    },
    /** Calls `listener`, in place of any other, with what it says of itself. */
    listen(listener: typeof heard): void {
      heard = listener
    },
    /** Hands on what the client's person said to what is asked. */
    tell(responses: Parameters<typeof inputResponse>[0]): void {
      for (const key of Object.keys(responses ?? {})) {
        const [asked, response] = [questions.get(key), inputResponse(responses, key)]
        answered(key, asked && response.kind === 'elicit' ? answerIn(response, asked) : undefined)
      }
    },
    cancel(): void {
      if (isOver()) return
      isCancelled = true
      result = { isError: true, content: [{ type: 'text', text: 'The call was cancelled.' }] }
      abort.abort(new TriviumError('cancelled', { what: 'The call', reason: 'its client went away' }))
      change()
    },
    /** What the client's person has to answer first. */
    question: () =>
      questions.size > 0 ? inputRequired({ requestState: id, inputRequests: inputRequests() }) : undefined,
    task,
    /** What `tasks/get` says. */
    detail: () => ({
      ...task(),
      ...(status() === 'input_required' && { inputRequests: inputRequests() }),
      ...(status() === 'completed' && { result }),
    }),
  }
}

function formOf({ question, options }: Question) {
  const answer = { type: 'string' as const, title: 'Answer', ...(options && { enum: [...options] }) }
  const requestedSchema = { type: 'object' as const, properties: { answer }, required: ['answer'] }
  return { message: question, requestedSchema }
}

/** What the person said; undefined where they gave no answer, or one that there is not. */
function answerIn({ action, content }: Answer, { options }: Question): string | undefined {
  const answer = action === 'accept' ? content?.answer : undefined
  const isOne = typeof answer === 'string' && (options?.includes(answer) ?? true)
  return isOne ? answer : undefined
}

type Answer = { action: string; content?: Record<string, unknown> | undefined }

/** What the SDK is given where the call's own end counts: it wants a number. */
const NEVER = 2 ** 31 - 1

/** Asks by the older protocol: within the request, which goes on meanwhile. A client that fails to ask gives no answer. */
export function asksWithin(mcpReq: ServerContext['mcpReq'], call: AbortSignal): CallPort['asks'] {
  return async (question, signal) => {
    const options = { signal: AbortSignal.any([signal, call]), timeout: NEVER }
    const said = mcpReq.send({ method: 'elicitation/create', params: formOf(question) }, options)
    return said.then(
      (response) => answerIn(response, question),
      () => undefined,
    )
  }
}
