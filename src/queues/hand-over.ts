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
type Waiting = {
  wake(): void
  progress: Handed['progress']
  /** The time that it has begins again. */
  restart(): void
  look: boolean
  removed: boolean
  done?: { result: unknown }
}

/** Events are hints; so often (ms) the queue is asked all the same. */
const LOOK_AGAIN = 15_000
/** The pause after the server refused something (ms). */
const REFUSED_PAUSE = 2_000
/** How long (s) BullMQ keeps what ended and was not removed: failed jobs, and results that nobody took. */
const KEPT = 7 * 86_400
/** Stands in the log of a failed job that became a dead letter: when that is retried, the job runs again. */
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
  const waitings = new Map<string, Waiting>()

  const tell = (id: string, change: (waiting: Waiting) => void) => {
    const waiting = waitings.get(id)
    if (!waiting) return
    change(waiting)
    waiting.wake()
  }
  const look = ({ jobId }: { jobId: string }) =>
    tell(jobId, (waiting) => {
      waiting.look = true
    })
  events.on('completed', ({ jobId, returnvalue }) =>
    tell(jobId, (waiting) => {
      waiting.done = { result: returnvalue }
    }),
  )
  events.on('failed', look)
  // It was there before: a daemon that ended had added it, or it comes back from the dead letters.
  events.on('duplicated', look)
  events.on('removed', ({ jobId }) =>
    tell(jobId, (waiting) => {
      waiting.look = waiting.removed = true
    }),
  )
  events.on('waiting', ({ jobId }) => waitings.get(jobId)?.restart())
  events.on('progress', ({ jobId, data }) => waitings.get(jobId)?.progress(toJson(data)))
  const off = server.onBack(() => {
    for (const id of waitings.keys()) {
      tell(id, (waiting) => {
        waiting.look = true
        waiting.restart()
      })
    }
  })

  return {
    name: queue.name,
    /**
     * Resolves with what the job returned. Adds it where it is not there; waits for ever while the server is away. Throws
     * `job_failed` for good, `job_timeout`, or the reason of `signal`.
     */
    async run({ message, route, signal, progress }: Handed): Promise<unknown> {
      const { id } = message
      const { retry, timeout } = route
      let added = false
      let deadline = Number.POSITIVE_INFINITY
      let lookAt = deadline
      const restart = () => {
        if (added) deadline = now() + timeout
      }
      const waiting: Waiting = { wake() {}, progress, restart, look: false, removed: false }

      const add = async () => {
        await queue.add(route.name, message, {
          jobId: id,
          attempts: retry.attempts,
          backoff: { type: retry.backoff, delay: retry.delay },
          removeOnComplete: { age: KEPT },
          removeOnFail: { age: KEPT },
        })
        added = true
        waiting.removed = false
        lookAt = now() + LOOK_AGAIN
        restart()
      }

      const ask = async () => {
        waiting.look = false
        lookAt = now() + LOOK_AGAIN
        const state = await queue.getJobState(id)
        if (state === 'delayed') restart()
        if (state === 'unknown') {
          if (waiting.removed) throw failure(queue.name, { failedReason: 'somebody removed it' })
          // A server that lost its last writes has lost the job.
          await add()
        }
        if (state !== 'completed' && state !== 'failed') return
        const job = await queue.getJob(id)
        if (!job) return
        if (state === 'completed') waiting.done = { result: job.returnvalue }
        else if (!(await wasRecorded(id))) throw failure(queue.name, job)
        else await job.remove().then(add)
      }

      const giveUp = async () => {
        const isOut = (await queue.remove(id)) === 1
        const what = isOut ? 'it was taken out' : 'a worker still has it, and the next attempt waits for it'
        throw new TriviumError('job_timeout', { queue: queue.name, timeout: formatDuration(timeout), what })
      }

      const step = async () => {
        if (!added) await add()
        if (!waiting.done && (waiting.look || now() >= Math.min(lookAt, deadline))) await ask()
        if (!waiting.done && now() >= deadline) await giveUp()
        server.worked()
      }

      await waitFor<true>({
        async attempt() {
          try {
            await inTime(step(), signal)
          } catch (error) {
            if (error instanceof TriviumError) throw error
            server.failed(error)
            waiting.look = true
            return { retryAt: now() + REFUSED_PAUSE }
          }
          return waiting.done ? { value: true } : { retryAt: Math.min(lookAt, deadline) }
        },
        watch(wake) {
          waiting.wake = wake
          waitings.set(id, waiting)
          return () => {
            if (waitings.get(id) === waiting) waitings.delete(id)
          }
        },
        signal,
      })
      if (!waiting.done) throw signal.reason
      return waiting.done.result
    },
    /** What became of a message is stored: BullMQ need not keep a result any more. */
    async settled(id: string, outcome: 'done' | 'dead'): Promise<void> {
      const state = outcome === 'done' ? 'completed' : await queue.getJobState(id)
      if (state === 'completed') await queue.remove(id)
      if (state === 'failed') await queue.addJobLog(id, RECORDED)
    },
    /** For Bull Board. */
    queue,
    trouble: server.trouble,
    async close() {
      off()
      await Promise.all([queue.close(), events.close()])
    },
  }

  async function wasRecorded(id: string): Promise<boolean> {
    const { logs } = await queue.getJobLogs(id)
    return logs.includes(RECORDED)
  }
}

/** With the reason and the stack that BullMQ kept of the last attempt. */
function failure(queue: string, job: Partial<Pick<Job, 'failedReason' | 'attemptsMade' | 'stacktrace'>>) {
  const { failedReason: reason = '', attemptsMade: attempts = 0, stacktrace } = job
  const cause = new Error(reason)
  cause.stack = stacktrace?.at(-1) ?? reason
  return new TriviumError('job_failed', { queue, reason, attempts }, { cause })
}
