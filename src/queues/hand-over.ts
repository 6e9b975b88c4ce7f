import type { Job, Queue, QueueEvents } from 'bullmq'
import { TriviumError } from '../core/errors.ts'
import { type Json, toJson } from '../core/json.ts'
import type { Message } from '../core/message.ts'
import type { Route } from '../core/route.ts'
import { formatDuration } from '../core/units.ts'
import { inTime } from '../lib/pause.ts'
import { waitFor } from '../lib/wait-for.ts'
import type { QueueServer } from './server.ts'

/** A message for a queue, and who waits for what becomes of it. */
export type Handed = {
  message: Message
  route: Pick<Route, 'name' | 'retry' | 'timeout'>
  signal: AbortSignal
  progress(progress: Json): void
}

/** What is known of a job that is waited for. `look`: that is not enough, the queue must be asked. */
type Known = { since: number; look: boolean; removed: boolean; done?: { result: unknown } }

/** Events are hints; so often (ms) the queue is asked all the same. */
const LOOK_AGAIN = 15_000
/** The pause after the server refused something (ms). */
const REFUSED_PAUSE = 2_000
/** An answer that took longer (ms) came from a server that had been away, and so had the workers. */
const AWAY = 1_000
/** Seconds. Of the jobs that are done as many as a daemon that died could have waited for, and a glance at the board is worth. */
const [KEPT, KEPT_DONE] = [7 * 86_400, 1_000]
/** Stands in the log of a failed job that becomes a dead letter: when that is retried, the job runs again. */
const RECORDED = 'Trivium made a dead letter of it'

export type HandOver = ReturnType<typeof createHandOver>

/** Hands messages to one BullMQ queue, each as a job with the id of the message, and waits for their results. */
export function createHandOver(deps: {
  queue: Queue
  events: QueueEvents
  server: QueueServer
  now(): number
}) {
  const { queue, events, server, now } = deps
  const waiting = new Map<string, { known: Known; wake(): void; progress: Handed['progress'] }>()

  const tell = (id: string, news: Partial<Known>) => {
    const one = waiting.get(id)
    if (!one) return
    Object.assign(one.known, news)
    one.wake()
  }
  events.on('completed', ({ jobId, returnvalue }) => tell(jobId, { done: { result: returnvalue } }))
  events.on('failed', ({ jobId }) => tell(jobId, { look: true }))
  // It was there before: a daemon that ended had added it, or it comes back from the dead letters.
  events.on('duplicated', ({ jobId }) => tell(jobId, { look: true }))
  events.on('removed', ({ jobId }) => tell(jobId, { look: true, removed: true }))
  events.on('waiting', ({ jobId }) => tell(jobId, { since: now() }))
  events.on('progress', ({ jobId, data }) => waiting.get(jobId)?.progress(toJson(data)))

  return {
    queue,
    trouble: server.trouble,
    /**
     * Resolves with what the job returned. Adds it where it is not there; waits for ever while the server is away. Throws
     * `job_failed` for good, `job_timeout`, or the reason of `signal`.
     */
    async run({ message, route, signal, progress }: Handed): Promise<unknown> {
      const { id } = message
      const { retry, timeout } = route
      const known: Known = { since: now(), look: false, removed: false }
      let lookAt: number | undefined
      const due = () => Math.min(lookAt ?? 0, known.since + timeout)

      const add = async () => {
        await queue.add(route.name, message, {
          jobId: id,
          attempts: retry.attempts,
          backoff: { type: retry.backoff, delay: retry.delay },
          removeOnComplete: { age: KEPT, count: KEPT_DONE },
          removeOnFail: { age: KEPT },
        })
        known.removed = false
        known.since = now()
        lookAt = now() + LOOK_AGAIN
      }

      const ask = async () => {
        known.look = false
        const asked = now()
        const state = await queue.getJobState(id)
        lookAt = now() + LOOK_AGAIN
        if (state === 'delayed' || now() - asked > AWAY) known.since = now()
        if (state === 'unknown') {
          if (known.removed) throw failure(queue.name, { failedReason: 'somebody removed it' })
          // A server that lost its last writes has lost the job.
          return add()
        }
        if (state !== 'completed' && state !== 'failed') return
        const job = await queue.getJob(id)
        if (!job) return
        if (state === 'completed') {
          known.done = { result: job.returnvalue }
          return
        }
        const { logs } = await queue.getJobLogs(id)
        if (!logs.includes(RECORDED)) {
          await job.log(RECORDED)
          throw failure(queue.name, job)
        }
        await job.remove()
        await add()
      }

      const giveUp = async () => {
        const isOut = (await queue.remove(id)) === 1
        const what = isOut ? 'it was taken out' : 'a worker still has it, and the next attempt waits for it'
        throw new TriviumError('job_timeout', { queue: queue.name, timeout: formatDuration(timeout), what })
      }

      const step = async () => {
        if (lookAt === undefined) await add()
        if (!known.done && (known.look || now() >= due())) await ask()
        if (!known.done && now() >= known.since + timeout) await giveUp()
        server.worked()
      }

      const done = await waitFor<{ result: unknown }>({
        async attempt() {
          try {
            await inTime(step(), signal)
          } catch (error) {
            if (error instanceof TriviumError) throw error
            server.failed(error)
            known.look = true
            return { retryAt: now() + REFUSED_PAUSE }
          }
          return known.done ? { value: known.done } : { retryAt: due() }
        },
        watch(wake) {
          waiting.set(id, { known, wake, progress })
          return () => {
            if (waiting.get(id)?.known === known) waiting.delete(id)
          }
        },
        signal,
      })
      if (!done) throw signal.reason
      return done.result
    },
    close: () => Promise.all([queue.close(), events.close()]),
  }
}

/** With the reason and the stack that BullMQ kept of the last attempt. */
function failure(queue: string, job: Partial<Pick<Job, 'failedReason' | 'attemptsMade' | 'stacktrace'>>) {
  const { failedReason: reason = '', attemptsMade: attempts = 0, stacktrace } = job
  const cause = new Error(reason)
  cause.stack = stacktrace?.at(-1) ?? reason
  return new TriviumError('job_failed', { queue, reason, attempts }, { cause })
}
