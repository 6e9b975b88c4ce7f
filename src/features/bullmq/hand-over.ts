import type { BulkJobOptions, Job, Queue } from 'bullmq'
import type { QueueServer } from '../../../transports/bullmq/host.ts'
import { TriviumError } from '../../core/errors.ts'
import { type Json, parseJson, toJson } from '../../core/json.ts'
import type { Message } from '../../core/message.ts'
import type { Route } from '../../core/route.ts'
import { formatDuration } from '../../core/units.ts'
import { createBatcher } from '../../lib/batch.ts'
import { hasLongNumber } from '../../lib/exact-json.ts'
import { inTime, pause } from '../../lib/pause.ts'
import { waitFor } from '../../lib/wait-for.ts'

/** A message for a queue, and who waits for what becomes of it. */
export type Handed = {
  message: Message
  route: Pick<Route, 'name' | 'retry' | 'timeout'>
  signal: AbortSignal
  progress(progress: Json): void
}

/** What is known of a job that is waited for. `lookAt`: when the queue is asked; without it the job is to be added. */
type Known = {
  since: number
  lookAt?: number | undefined
  removed?: true
  done?: { result: unknown }
  progress: Handed['progress']
  wake(): void
  /** Called when an event says that the job was removed. */
  gone?(): void
}

/** Events are hints; so often (ms) the queue is asked all the same. */
const LOOK_AGAIN = 15_000
/** Clocks of servers may be so far apart (ms): what happened since is heard again, and does no harm. */
const CLOCK_SKEW = 60_000
/** The pause after the server refused something (ms). */
const REFUSED_PAUSE = 2_000
/** The longest wait (ms) for the events of a job that was taken out. */
const EVENTS_PAUSE = 5_000
/** An answer that took longer (ms) came from a server that had been away, and so had the workers. */
const AWAY = 1_000
/** Seconds. Of the jobs that are done as many as a daemon that died could have waited for, and a glance at the board is worth. */
const [KEPT, KEPT_DONE] = [7 * 86_400, 1_000]
/** Stands in the log of a failed job that becomes a dead letter: when that is retried, the job runs again. */
const RECORDED = 'Trivium made a dead letter of it'

export type HandOver = Awaited<ReturnType<typeof createHandOver>>

/** Hands messages to one BullMQ queue, each as a job with the id of the message, and waits for their results. */
export async function createHandOver(queueName: string, { options, failed, worked, trouble }: QueueServer) {
  const { Queue, QueueEvents } = await import('bullmq')
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
  // It was there before: a daemon that ended had added it, or it comes back from the dead letters.
  events.on('duplicated', ({ jobId }) => tell(jobId, { lookAt: 0 }))
  events.on('removed', ({ jobId }) => {
    tell(jobId, { lookAt: 0, removed: true })
    waiting.get(jobId)?.gone?.()
  })
  // It only waits the longer: nothing is to be done.
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
        // Not behind it: somebody may remove it before its answer is here.
        delete known.removed
        // A trace is told of with the job, and belongs to one alone.
        if (queue.opts.telemetry) await queue.add(name, message, opts)
        else await adder.add({ name, data: message, opts })
        known.since = Date.now()
        known.lookAt ??= Date.now() + LOOK_AGAIN
      }

      const look = async () => {
        const asked = Date.now()
        known.lookAt = asked + LOOK_AGAIN
        // In this order: a job that is read before its state may lack its result.
        const [state, job] = await Promise.all([queue.getJobState(id), queue.getJob(id)])
        if (state === 'delayed' || Date.now() - asked > AWAY) known.since = Date.now()
        if (!job) {
          if (known.removed) throw failure(queueName, { failedReason: 'somebody removed it' })
          // A server that lost its last writes has lost the job.
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

      /** Events come in order: before the one of the removal comes the result of a job that had completed just then. */
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
            // That does nothing but tell of it where it is there.
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

/** BullMQ has parsed the result already; where that may have rounded a number, what the worker wrote is read again. */
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

/** With the reason and the stack that BullMQ kept of the last attempt. */
function failure(queue: string, job: Partial<Pick<Job, 'failedReason' | 'attemptsMade' | 'stacktrace'>>) {
  const { failedReason: reason = '', attemptsMade: attempts = 0, stacktrace } = job
  const cause = new Error(reason)
  cause.stack = stacktrace?.at(-1) ?? reason
  return new TriviumError('job_failed', { queue, reason, attempts }, { cause })
}
