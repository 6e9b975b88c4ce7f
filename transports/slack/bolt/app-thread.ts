import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { AuthorizeResult, AuthorizeSourceData } from '@slack/bolt'
import { reasonOf } from '../../../src/core/errors.ts'
import { type JsonObject, textAt } from '../../../src/core/json.ts'
import type { Log } from '../../../src/core/log.ts'
import { defined } from '../../../src/lib/defined.ts'
import { pause } from '../../../src/lib/pause.ts'
import { perTurn } from '../../../src/lib/per-turn.ts'
import type { Fetch } from '../api.ts'
import type { Ask, CallAnswer, FromThread, ThreadData, Told, ToThread } from './protocol.ts'
import { withoutTokens } from './secrets.ts'

const ENTRY = new URL(`./thread/main${extname(import.meta.filename)}`, import.meta.url)
/** Timeout (ms) for starting a thread and loading its app; longer than the timeouts of the steps. */
const START = 60_000
/** How long (ms) a replaced app may finish running work. */
const LAST_RUNS = 60_000

export type AppThread = Awaited<ReturnType<typeof startAppThread>>

/** A payload for the listeners. */
type Delivered = {
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

type Running = Delivered & { ended: PromiseWithResolvers<void> }

/**
 * Loads a Bolt app in its own thread, so that unloading it also ends its timers, sockets and files, and process-wide changes affect
 * only its thread. Rejects if the app cannot be loaded. `exited` is called if the thread ends unexpectedly.
 */
export async function startAppThread(options: {
  data: ThreadData
  log: Log
  authorize: Authorize
  exited(why: string): void
}) {
  const { data, log } = options
  const worker = new Worker(ENTRY, { workerData: data, argv: [], name: `bolt ${data.file}` })
  const loaded = Promise.withResolvers<void>()
  /** Batched, because waking the thread costs more than a message. */
  const say = perTurn((messages: ToThread[]) => worker.postMessage(messages))
  const runs = createRuns(say, options.authorize)
  let isLeaving = false
  let crash: string | undefined

  const hear = (message: FromThread) => {
    if (message.kind === 'ask') void runs.answer(message)
    else if (message.kind === 'done') runs.end(message.id, message.error && errorOf(message.error))
    else if (message.kind === 'log') {
      const { level, text, error } = message
      log[level](error ? { err: errorOf(error) } : {}, text)
    } else if (message.kind === 'ready') loaded.resolve()
    else loaded.reject(errorOf(message.error))
  }
  worker.on('message', (messages: FromThread[]) => messages.forEach(hear))
  worker.on('error', (error) => {
    const told = errorOf({ message: reasonOf(error), ...defined({ stack: textAt(error, 'stack') }) })
    crash = told.message
    log.error({ err: told }, 'a Bolt app crashed')
  })
  worker.on('exit', (code) => {
    const why = crash ?? `it called process.exit(${code})`
    runs.endAll(new Error(`the app ended: ${why}`))
    loaded.reject(new Error(why))
    if (!isLeaving) options.exited(why)
  })

  const terminate = async () => {
    isLeaving = true
    await worker.terminate()
  }
  const late = setTimeout(() => loaded.reject(new Error(`it did not load within ${START / 1000} s`)), START)
  try {
    await loaded.promise
  } catch (error) {
    await terminate()
    throw error
  } finally {
    clearTimeout(late)
  }

  return {
    /** Runs all listeners for a payload. Rejects with their error, or if the thread ends. */
    process: runs.process,
    /** Ends the thread once it has finished running work, or after a minute. */
    async retire(): Promise<void> {
      isLeaving = true
      await Promise.race([runs.idle(), pause(LAST_RUNS)])
      await terminate()
    },
    terminate,
  }
}

/** Runs of listeners in a thread, which receives them through `say`. */
function createRuns(say: (message: ToThread) => void, authorize: Authorize) {
  const runs = new Map<number, Running>()
  let idlers: (() => void)[] = []
  let serial = 0

  const answerTo = async (ask: Ask): Promise<unknown> => {
    if (ask.what === 'authorize') return authorize(ask.source)
    const run = runs.get(ask.run)
    if (ask.what === 'ack') return run?.ack?.(ask.response)
    if (!run) throw new Error('the run that it belongs to has ended')
    return responseOf(await run.call(ask.url, ask.init))
  }

  const end = (id: number, error?: Error) => {
    const run = runs.get(id)
    runs.delete(id)
    if (error) run?.ended.reject(error)
    else run?.ended.resolve()
    if (runs.size > 0) return
    for (const wake of idlers) wake()
    idlers = []
  }

  return {
    /** Answers a request of the thread. Never rejects. */
    async answer({ id, ask }: Extract<FromThread, { kind: 'ask' }>): Promise<void> {
      try {
        say({ kind: 'answer', id, value: await answerTo(ask) })
      } catch (error) {
        say({ kind: 'answer', id, error: { message: reasonOf(error) } })
      }
    },
    end,
    endAll(error: Error): void {
      for (const id of runs.keys()) end(id, error)
    },
    async idle(): Promise<void> {
      if (runs.size > 0) await new Promise<void>((resolve) => idlers.push(resolve))
    },
    async process(delivered: Delivered): Promise<void> {
      const { payload, urls, ack, signal } = delivered
      const id = ++serial
      const ended = Promise.withResolvers<void>()
      runs.set(id, { ...delivered, ended })
      const abort = () => say({ kind: 'abort', id })
      signal.addEventListener('abort', abort)
      try {
        say({ kind: 'process', id, payload, urls, acks: ack !== undefined })
        await ended.promise
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
function errorOf({ message, stack }: Told): Error {
  const error = new Error(withoutTokens(message))
  if (stack) error.stack = withoutTokens(stack)
  return error
}
