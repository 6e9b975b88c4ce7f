import { AsyncLocalStorage } from 'node:async_hooks'
import { toJson } from '../../../../src/core/json.ts'
import { defined } from '../../../../src/lib/defined.ts'
import { patient } from '../patient.ts'
import type { CallAnswer, ThreadData, ToThread } from '../protocol.ts'
import type { App } from './hosted.ts'
import type { Link } from './link.ts'

type Fetch = typeof globalThis.fetch

/** A run of the listeners. After a successful end, later calls (of timers) belong to no run; after an abort they fail. */
type Run = { id: number; urls: readonly string[]; state: 'running' | 'ended' | 'aborted' }

const patiently = patient(globalThis.fetch)

/** Runs the listeners of the thread's Apps, and makes their Slack calls. */
export function createListening({ apiUrl, retryNum }: ThreadData, link: Link) {
  const runs = new AsyncLocalStorage<Run>()
  const running = new Map<number, Run>()
  let apps: readonly App[] = []

  /** Calls of a run are made by the daemon, which skips those that an earlier run already made. */
  const callIn = async (run: Run, request: Request, body: string | Uint8Array): Promise<Response> => {
    const { url, method, headers } = request
    const ask = link.ask({ what: 'call', run: run.id, url, init: { method, headers: [...headers], body } })
    const { body: bytes, ...head } = (await ask) as CallAnswer
    // Statuses without a body.
    return new Response([204, 205, 304].includes(head.status) ? null : new Uint8Array(bytes), head)
  }

  const fetch: Fetch = async (input, init) => {
    const run = runs.getStore()
    if (run?.state === 'aborted') throw new Error('its listener has run for too long, or is run elsewhere')
    const url = input instanceof Request ? input.url : String(input)
    const isRecorded = run?.state === 'running' && (url.startsWith(apiUrl) || run.urls.includes(url))
    if (!run || !isRecorded) return patiently(input, init)
    const request = new Request(input, init)
    const isBinary = /^multipart\//.test(request.headers.get('content-type') ?? '')
    const body = isBinary ? new Uint8Array(await request.arrayBuffer()) : await request.text()
    return callIn(run, request, body)
  }

  /** Passes it to all Apps of the file; the first acknowledgement counts. */
  const listen = async ({ id, payload, acks }: Extract<ToThread, { kind: 'process' }>) => {
    let isAcked = !acks
    const ack = async (response?: unknown) => {
      if (isAcked) return
      isAcked = true
      await link.ask({
        what: 'ack',
        run: id,
        response: response === undefined ? undefined : toJson(response),
      })
    }
    const ended = await Promise.allSettled(
      apps.map((app, index) =>
        app.processEvent({
          body: index ? structuredClone(payload) : payload,
          ack,
          ...defined({ retryNum }),
        }),
      ),
    )
    const failures = ended.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
    if (failures.length > 0) throw failures.length === 1 ? failures[0] : new AggregateError(failures)
  }

  return {
    fetch,
    use(made: readonly App[]) {
      apps = made
    },
    /** Never rejects. */
    async process(what: Extract<ToThread, { kind: 'process' }>): Promise<void> {
      const run: Run = { ...what, state: 'running' }
      running.set(run.id, run)
      try {
        await runs.run(run, () => listen(what))
        if (run.state === 'running') run.state = 'ended'
        link.ended(run.id)
      } catch (error) {
        link.ended(run.id, link.told(error))
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
