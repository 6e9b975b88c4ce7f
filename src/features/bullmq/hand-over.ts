import type { BulkJobOptions, Job, Queue } from 'bullmq'
import type { QueueServer } from '../../../transports/bullmq/host.ts'
import { TriviumError } from '../../core/errors.ts'
import { type Json, parseJson, toJson } from '../../core/json.ts'
import type { Message } from '../../core/message.ts'
import { loadPart } from '../../core/parts.ts'
import type { Route } from '../../core/route.ts'
import { formatDuration } from '../../core/units.ts'
import { createBatcher } from '../../lib/batch.ts'
import { hasLongNumber } from '../../lib/exact-json.ts'
import { inTime, pause } from '../../lib/pause.ts'
import { waitFor } from '../../lib/wait-for.ts'

/** A message for a queue, with its signal and progress listener. */
export type Handed = {
  message: Message
  route: Pick<Route, 'name' | 'retry' | 'timeout'>
  signal: AbortSignal
  progress(progress: Json): void
}

/** State of an awaited job. `lookAt`: when to query the queue; absent: the job must be added. */
type Known = {
  since: number
  lookAt?: number | undefined
  removed?: true
  done?: { result: unknown }
  progress: Handed['progress']
  wake(): void
  /** Called on an event that the job was removed. */
  gone?(): void
}

/** Poll interval (ms), as events are only hints. */
const LOOK_AGAIN = 15_000
/** Maximum clock difference (ms) between servers; events since then are read again, which is harmless. */
const CLOCK_SKEW = 60_000
/** Pause (ms) after a refusal by the server. */
const REFUSED_PAUSE = 2_000
/** Maximum wait (ms) for the events of a removed job. */
const EVENTS_PAUSE = 5_000
/** A slower reply (ms) means that the server, and so its workers, were unreachable. */
const AWAY = 1_000
/** Retention of finished jobs: seconds, and number. Enough for a daemon that died while waiting, and for the board. */
const [KEPT, KEPT_DONE] = [7 * 86_400, 1_000]
/** Log line of a failed job that became a dead letter; when that is retried, the job runs again. */
const RECORDED = 'Trivium made a dead letter of it'

export type HandOver = Awaited<ReturnType<typeof createHandOver>>

/** Adds messages to a BullMQ queue, each as a job with the message's id, and waits for their results. */
export async function createHandOver(queueName: string, { options, failed, worked, trouble }: QueueServer) {
  const { Queue, QueueEvents } = await loadPart('queues', () => import('bullmq'))
  const queue = new Queue(queueName, options)
  const events = new QueueEvents(queueName, { ...options, lastEventId: `${Date.now() - CLOCK_SKEW}-0` })
  queue.on('error', failed)
  events.on('error', failed)
  const waiting = new Map<string, Known>()
  const adder = createBatcher<{ name: string; data: Message; opts: BulkJobOptions }, unknown>({
    max: 256,
    run: (jobs) => queue.addBulk(jobs),
  })

  const tell = (id: string, news: Partial<Known>) => {
    const known = waiting.get(id)
    if (known) Object.assign(known, news).wake()
  }
  events.on('completed', ({ jobId, returnvalue }) => tell(jobId, { done: { result: returnvalue } }))
  events.on('failed', ({ jobId }) => tell(jobId, { lookAt: 0 }))
  // Already in the queue: added by a previous daemon, or retried from the dead letters.
  events.on('duplicated', ({ jobId }) => tell(jobId, { lookAt: 0 }))
  events.on('removed', ({ jobId }) => {
    tell(jobId, { lookAt: 0, removed: true })
    waiting.get(jobId)?.gone?.()
  })
  // The job waits again; nothing to do.
  events.on('waiting', ({ jobId }) => void Object.assign(waiting.get(jobId) ?? {}, { since: Date.now() }))
  events.on('progress', ({ jobId, data }) => waiting.get(jobId)?.progress(toJson(data)))

  return {
    queue,
    trouble,
    /**
     * Resolves with what the job returned. Adds it where it is not there; waits for ever while the server is away. Throws
     * `job_failed` for good, `job_timeout`, or the reason of `signal`.
     */
    async run({ message, route, signal, progress }: Handed): Promise<unknown> {
      const { id } = message
      const { name, retry, timeout } = route
      const known: Known = { since: Date.now(), progress, wake() {} }
      const due = () => Math.min(known.lookAt ?? 0, known.since + timeout)

      const add = async () => {
        const opts = {
          jobId: id,
          attempts: retry.attempts,
          backoff: { type: retry.backoff, delay: retry.delay },
          removeOnComplete: { age: KEPT, count: KEPT_DONE },
          removeOnFail: { age: KEPT },
        }
        // Before the reply: the job may be removed before it arrives.
        delete known.removed
        // A trace is passed with the job, so jobs with one are added separately.
        if (queue.opts.telemetry) await queue.add(name, message, opts)
        else await adder.add({ name, data: message, opts })
        known.since = Date.now()
        known.lookAt ??= Date.now() + LOOK_AGAIN
      }

      const look = async () => {
        const asked = Date.now()
        known.lookAt = asked + LOOK_AGAIN
        // In this order: a job read before its state may lack its result.
        const [state, job] = await Promise.all([queue.getJobState(id), queue.getJob(id)])
        if (state === 'delayed' || Date.now() - asked > AWAY) known.since = Date.now()
        if (!job) {
          if (known.removed) throw failure(queueName, { failedReason: 'somebody removed it' })
          // A server that lost its last writes may have lost the job.
          return add()
        }
        if (state === 'completed') known.done = { result: job.returnvalue }
        if (state !== 'failed') return
        const { logs } = await queue.getJobLogs(id)
        if (!logs.includes(RECORDED)) {
          await job.log(RECORDED)
          throw failure(queueName, job)
        }
        await job.remove()
        await add()
      }

      /** Removes the job. Events are ordered, so the result of a job that just completed arrives before its removal. */
      const takeOut = async () => {
        const { promise: isGone, resolve } = Promise.withResolvers<void>()
        known.gone = resolve
        try {
          const isOut = (await queue.remove(id)) === 1
          if (isOut) await Promise.race([isGone, pause(EVENTS_PAUSE, signal)])
          return isOut
        } finally {
          delete known.gone
        }
      }

      const giveUp = async () => {
        const isOut = await takeOut()
        if (known.done) return
        const what = isOut ? 'it was taken out' : 'a worker still has it, and the next attempt waits for it'
        throw new TriviumError('job_timeout', { queue: queueName, timeout: formatDuration(timeout), what })
      }

      const step = async () => {
        if (known.lookAt === undefined) await add()
        else if (Date.now() >= due()) await look()
        if (!known.done && Date.now() >= known.since + timeout) await giveUp()
        worked()
      }

      const done = await waitFor<{ result: unknown }>({
        async attempt() {
          try {
            if (!known.done) await inTime(step(), signal)
          } catch (error) {
            if (error instanceof TriviumError) throw error
            failed(error)
            // Adding an existing job only emits an event.
            known.lookAt = undefined
            return { retryAt: Date.now() + REFUSED_PAUSE }
          }
          return known.done ? { value: known.done } : { retryAt: due() }
        },
        watch(wake) {
          waiting.set(id, Object.assign(known, { wake }))
          return () => waiting.get(id) === known && waiting.delete(id)
        },
        signal,
      })
      if (!done) throw signal.reason
      return exactResult(queue, options, id, done.result)
    },
    close: () => Promise.all([queue.close(), events.close()]),
  }
}

/** BullMQ has already parsed the result; if that may have rounded a number, the raw value is read again. */
async function exactResult(
  queue: Queue,
  { connection }: QueueServer['options'],
  id: string,
  result: unknown,
) {
  if (!hasLongNumber(JSON.stringify(result) ?? '')) return result
  const raw = await connection.hget(queue.toKey(id), 'returnvalue').catch(() => null)
  return raw === null ? result : (parseJson(raw) ?? result)
}

/** The error of a failed job, with the reason and stack of its last attempt. */
function failure(queue: string, job: Partial<Pick<Job, 'failedReason' | 'attemptsMade' | 'stacktrace'>>) {
  const { failedReason: reason = '', attemptsMade: attempts = 0, stacktrace } = job
  const cause = new Error(reason)
  cause.stack = stacktrace?.at(-1) ?? reason
  return new TriviumError('job_failed', { queue, reason, attempts }, { cause })
}
