import { AsyncLocalStorage } from 'node:async_hooks'
import { toJson } from '../../../../src/core/json.ts'
import { defined } from '../../../../src/lib/defined.ts'
import type { CallAnswer, ThreadData, ToThread } from '../protocol.ts'
import { waitingForLimits } from '../rate-limit-wait.ts'
import type { App } from './hosted.ts'
import type { Link } from './link.ts'
import { watchListeners } from './matches.ts'

type Fetch = typeof globalThis.fetch

/**
 * A run of the listeners. Timers may call Slack after its end: such calls belong to no run if it
 * succeeded, and fail if it was aborted. `matched`: whether a listener ran; undefined if middleware
 * handled the payload.
 */
type Run = {
  id: number
  urls: readonly string[]
  state: 'running' | 'ended' | 'aborted'
  matched?: boolean
}

const fetchDirectly = waitingForLimits(globalThis.fetch)

/** Statuses of responses that must not have a body. */
const WITHOUT_BODY = [204, 205, 304]

/** Runs the listeners of the thread's Apps, and makes their Slack calls. */
export function createListening({ apiUrl, retryNum }: ThreadData, link: Link) {
  const runs = new AsyncLocalStorage<Run>()
  const running = new Map<number, Run>()
  let apps: readonly App[] = []
  const mark = (matched: boolean) => () => {
    const run = runs.getStore()
    if (run && !run.matched) run.matched = matched
  }
  const marks = { reached: mark(false), matched: mark(true) }

  /** Makes a call through the daemon, which skips those that an earlier run already made. */
  const callThroughDaemon = async (run: Run, request: Request, body: string | Uint8Array) => {
    const { url, method, headers } = request
    const init = { method, headers: [...headers], body }
    const answer = await link.ask({ what: 'call', run: run.id, url, init })
    // Written by `responseOf` of the daemon.
    const { body: bytes, ...head } = answer as CallAnswer
    return new Response(WITHOUT_BODY.includes(head.status) ? null : new Uint8Array(bytes), head)
  }

  const fetch: Fetch = async (input, init) => {
    const run = runs.getStore()
    if (run?.state === 'aborted') throw new Error('its listener ran for too long, or runs elsewhere now')
    const url = input instanceof Request ? input.url : String(input)
    const isRecorded = run?.state === 'running' && (url.startsWith(apiUrl) || run.urls.includes(url))
    if (!run || !isRecorded) return fetchDirectly(input, init)
    const request = new Request(input, init)
    const isBinary = /^multipart\//.test(request.headers.get('content-type') ?? '')
    const body = isBinary ? new Uint8Array(await request.arrayBuffer()) : await request.text()
    return callThroughDaemon(run, request, body)
  }

  /** Passes a payload to all Apps. The first acknowledgement counts. Rejects with all errors. */
  const listen = async ({ id, payload, needsAck }: Extract<ToThread, { kind: 'process' }>) => {
    for (const app of apps) watchListeners(app, marks)
    const ack = needsAck ? firstAck(link, id) : async () => {}
    const results = await Promise.allSettled(
      apps.map((app, index) =>
        app.processEvent({
          // A copy for each further App, because listeners may change the payload.
          body: index > 0 ? structuredClone(payload) : payload,
          ack,
          ...defined({ retryNum }),
        }),
      ),
    )
    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
    if (failures.length > 0) throw failures.length === 1 ? failures[0] : new AggregateError(failures)
  }

  return {
    fetch,
    /** Sets the Apps that get payloads. */
    use(loaded: readonly App[]) {
      apps = loaded
    },
    /** Runs the listeners for a payload, and reports the outcome. Never rejects. */
    async process(message: Extract<ToThread, { kind: 'process' }>): Promise<void> {
      const run: Run = { ...message, state: 'running' }
      running.set(run.id, run)
      try {
        await runs.run(run, () => listen(message))
        if (run.state === 'running') run.state = 'ended'
        link.reportEnd({ id: run.id, ...defined({ matched: run.matched }) })
      } catch (error) {
        link.reportEnd({ id: run.id, error: link.toErrorData(error) })
        run.state = 'aborted'
      } finally {
        running.delete(run.id)
      }
    },
    abort(id: number) {
      const run = running.get(id)
      if (run) run.state = 'aborted'
    },
  }
}

/** The `ack` of a run. Only the first acknowledgement is passed on. */
function firstAck(link: Link, run: number) {
  let isAcked = false
  return async (response?: unknown) => {
    if (isAcked) return
    isAcked = true
    await link.ask({ what: 'ack', run, response: response === undefined ? undefined : toJson(response) })
  }
}
