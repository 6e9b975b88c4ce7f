import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { AuthorizeResult, AuthorizeSourceData } from '@slack/bolt'
import { reasonOf } from '../../../src/core/errors.ts'
import { type JsonObject, textAt } from '../../../src/core/json.ts'
import type { Log } from '../../../src/core/log.ts'
import { defined } from '../../../src/lib/defined.ts'
import { pause } from '../../../src/lib/pause.ts'
import { perTurn } from '../../../src/lib/per-turn.ts'
import { ownEnvironment } from '../../../src/lib/shared-environment.ts'
import type { Fetch } from '../api.ts'
import type { Ask, CallAnswer, ErrorData, FromThread, ThreadData, ToThread } from './protocol.ts'
import { withoutTokens } from './secrets.ts'

const ENTRY = new URL(`./thread/main${extname(import.meta.filename)}`, import.meta.url)
/** Timeout for starting a thread and its app. Longer than the timeouts of all steps together. */
const START_TIMEOUT_MS = 60_000
/** How long a replaced app may finish its runs. */
const RETIRE_TIMEOUT_MS = 60_000

export type AppThread = Awaited<ReturnType<typeof startAppThread>>

/** A payload for the listeners. */
type ListenerPayload = {
  payload: JsonObject
  /** Response URLs that listeners may use. */
  urls: string[]
  /** Stores the content of the acknowledgement. Undefined if nothing waits for it. */
  ack: ((response: unknown) => Promise<void>) | undefined
  /** Calls Slack on behalf of the listeners. */
  call: Fetch
  /** Aborts when the run is no longer awaited. */
  signal: AbortSignal
}

type Authorize = (source: AuthorizeSourceData<boolean>) => Promise<AuthorizeResult>

type Running = ListenerPayload & { ended: PromiseWithResolvers<Matched> }

/** Whether a listener ran; undefined if middleware of the app handled the payload. */
type Matched = boolean | undefined

/**
 * Loads a Bolt app in its own thread, so that unloading it also ends its timers, sockets and files,
 * and process-wide changes affect only its thread. Rejects if the app cannot be loaded. `exited` is
 * called if the thread ends unexpectedly.
 */
export async function startAppThread(options: {
  data: ThreadData
  log: Log
  authorize: Authorize
  exited(why: string): void
}) {
  const { data, log } = options
  const worker = new Worker(ENTRY, {
    workerData: data,
    argv: [],
    env: ownEnvironment(),
    name: `bolt ${data.file}`,
  })
  const loaded = Promise.withResolvers<void>()
  /** Batched, because waking the thread costs more than a message. */
  const send = perTurn((messages: ToThread[]) => worker.postMessage(messages))
  const runs = createRuns(send, options.authorize)
  const warnings: string[] = []
  let isStopping = false
  let crash: string | undefined

  const handle = (message: FromThread) => {
    if (message.kind === 'ask') void runs.answer(message)
    else if (message.kind === 'done') runs.end(message)
    else if (message.kind === 'log') {
      const { level, text, error } = message
      log[level](error ? { err: errorOf(error) } : {}, text)
    } else if (message.kind === 'warning') {
      warnings.push(message.text)
      log.warn({}, message.text)
    } else if (message.kind === 'ready') loaded.resolve()
    else loaded.reject(errorOf(message.error))
  }
  worker.on('message', (messages: FromThread[]) => messages.forEach(handle))
  worker.on('error', (error) => {
    const err = errorOf({ message: reasonOf(error), ...defined({ stack: textAt(error, 'stack') }) })
    crash = err.message
    log.error({ err }, 'a Bolt app crashed')
  })
  worker.on('exit', (code) => {
    const why = crash ?? `it called process.exit(${code})`
    runs.endAll({ message: `the app ended: ${why}` })
    loaded.reject(new Error(why))
    if (!isStopping) options.exited(why)
  })

  const terminate = async () => {
    isStopping = true
    await worker.terminate()
  }
  const tooLate = new Error(`it did not load within ${START_TIMEOUT_MS / 1000} s`)
  const timeout = setTimeout(() => loaded.reject(tooLate), START_TIMEOUT_MS)
  try {
    await loaded.promise
  } catch (error) {
    await terminate()
    throw warnings.length === 0
      ? error
      : new Error([reasonOf(error), ...warnings].join('; '), { cause: error })
  } finally {
    clearTimeout(timeout)
  }

  return {
    /** What works differently for this app than when it runs alone. Grows while it runs. */
    warnings: warnings as readonly string[],
    /** Runs all listeners for a payload. Rejects with their error, or if the thread ends. */
    process: runs.process,
    /** Ends the thread once its runs have ended, or after a minute. */
    async retire(): Promise<void> {
      isStopping = true
      await Promise.race([runs.idle(), pause(RETIRE_TIMEOUT_MS)])
      await terminate()
    },
    terminate,
  }
}

type Ended = Pick<Extract<FromThread, { kind: 'done' }>, 'id' | 'error' | 'matched'>

/** Runs of listeners in a thread, to which `send` passes them. */
function createRuns(send: (message: ToThread) => void, authorize: Authorize) {
  const runs = new Map<number, Running>()
  let idleWaiters: (() => void)[] = []
  let serial = 0

  const answerTo = async (ask: Ask): Promise<unknown> => {
    if (ask.what === 'authorize') return authorize(ask.source)
    const run = runs.get(ask.run)
    if (ask.what === 'ack') return run?.ack?.(ask.response)
    if (!run) throw new Error('the run that it belongs to has ended')
    return responseOf(await run.call(ask.url, ask.init))
  }

  const end = ({ id, error, matched }: Ended) => {
    const run = runs.get(id)
    runs.delete(id)
    if (error) run?.ended.reject(errorOf(error))
    else run?.ended.resolve(matched)
    if (runs.size > 0) return
    for (const wake of idleWaiters) wake()
    idleWaiters = []
  }

  return {
    /** Answers a request of the thread. Never rejects. */
    async answer({ id, ask }: Extract<FromThread, { kind: 'ask' }>): Promise<void> {
      try {
        send({ kind: 'answer', id, value: await answerTo(ask) })
      } catch (error) {
        send({ kind: 'answer', id, error: { message: reasonOf(error) } })
      }
    },
    end,
    endAll(error: ErrorData): void {
      for (const id of runs.keys()) end({ id, error })
    },
    /** Resolves when no run is left. */
    async idle(): Promise<void> {
      if (runs.size > 0) await new Promise<void>((resolve) => idleWaiters.push(resolve))
    },
    async process(delivered: ListenerPayload): Promise<Matched> {
      const { payload, urls, ack, signal } = delivered
      const id = ++serial
      const ended = Promise.withResolvers<Matched>()
      runs.set(id, { ...delivered, ended })
      const abort = () => send({ kind: 'abort', id })
      signal.addEventListener('abort', abort)
      try {
        send({ kind: 'process', id, payload, urls, needsAck: ack !== undefined })
        return await ended.promise
      } finally {
        signal.removeEventListener('abort', abort)
      }
    },
  }
}

async function responseOf(response: Response): Promise<CallAnswer> {
  const { status, headers } = response
  return { status, headers: [...headers], body: new Uint8Array(await response.arrayBuffer()) }
}

/** An error of the app without tokens, as it appears in logs and dead letters. */
function errorOf({ message, stack }: ErrorData): Error {
  const error = new Error(withoutTokens(message))
  if (stack) error.stack = withoutTokens(stack)
  return error
}
