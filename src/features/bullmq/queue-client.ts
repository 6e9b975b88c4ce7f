import type { Queue, QueueEvents } from 'bullmq'
import type { QueueServer } from '../../../transports/bullmq/host.ts'
import { TriviumError } from '../../core/errors.ts'
import { parseJson, toJson } from '../../core/json.ts'
import { loadPart } from '../../core/parts.ts'
import { createBatcher } from '../../lib/batch.ts'
import { mayHaveLostNumber } from '../../lib/exact-json.ts'
import { inTime } from '../../lib/pause.ts'
import { waitFor } from '../../lib/wait-for.ts'
import { type AwaitedJob, advance, dueAt, type JobRequest, type NewJob } from './awaited-job.ts'

/**
 * Maximum clock difference (ms) to the server. Events from this time before the start are read too,
 * which is harmless.
 */
const CLOCK_SKEW = 60_000
/** Pause (ms) after a failed command. */
const RETRY_PAUSE = 2_000
/** Maximum number of jobs added by one command. */
const MAX_BATCH = 256

export type QueueClient = Awaited<ReturnType<typeof createQueueClient>>

/**
 * Runs messages as jobs of a BullMQ queue, and waits for their results. A job has the message's id.
 */
export async function createQueueClient(name: string, { options, failed, worked, trouble }: QueueServer) {
  const { Queue, QueueEvents } = await loadPart('queues', () => import('bullmq'))
  const queue = new Queue(name, options)
  const events = new QueueEvents(name, { ...options, lastEventId: `${Date.now() - CLOCK_SKEW}-0` })
  queue.on('error', failed)
  events.on('error', failed)
  const waiting = new Map<string, AwaitedJob>()
  followEvents(events, waiting)
  const adder = createBatcher<NewJob, unknown>({ max: MAX_BATCH, run: (jobs) => queue.addBulk(jobs) })
  const to = { name, queue, add: adder.add }

  return {
    queue,
    trouble,
    /**
     * Resolves with the result of the job. Adds the job if it is missing. Waits without limit while
     * the server is unreachable. Throws `job_failed`, `job_timeout`, or the reason of `signal`.
     */
    async run(request: JobRequest): Promise<unknown> {
      const { signal } = request
      const { id } = request.message
      const job: AwaitedJob = { ...request, limitFrom: performance.now(), wake() {} }
      const done = await waitFor<{ result: unknown }>({
        async attempt() {
          try {
            if (!job.done) await inTime(advance(to, job).then(worked), signal)
          } catch (error) {
            if (error instanceof TriviumError) throw error
            failed(error)
            // Adds the job again: if it exists, BullMQ only emits an event.
            job.checkAt = undefined
            return { retryIn: RETRY_PAUSE }
          }
          return job.done ? { value: job.done } : { retryIn: dueAt(job) - performance.now() }
        },
        watch(wake) {
          waiting.set(id, Object.assign(job, { wake }))
          // Another run of the message may have taken its place.
          return () => waiting.get(id) === job && waiting.delete(id)
        },
        signal,
      })
      if (!done) throw signal.reason
      return exactResult(queue, options, id, done.result)
    },
    close: () => Promise.all([queue.close(), events.close()]),
  }
}

/** Applies the events of the queue to the awaited jobs, and wakes their waiters. */
function followEvents(events: QueueEvents, waiting: ReadonlyMap<string, AwaitedJob>): void {
  const update = (id: string, changes: Partial<AwaitedJob>) => {
    const job = waiting.get(id)
    if (job) Object.assign(job, changes).wake()
  }
  events.on('completed', ({ jobId, returnvalue }) => update(jobId, { done: { result: returnvalue } }))
  events.on('failed', ({ jobId }) => update(jobId, { checkAt: 0 }))
  // Already in the queue: added by a previous daemon, or retried from the dead letters.
  events.on('duplicated', ({ jobId }) => update(jobId, { checkAt: 0 }))
  events.on('removed', ({ jobId }) => {
    update(jobId, { checkAt: 0, removed: true })
    waiting.get(jobId)?.onRemoved?.()
  })
  // The job waits for a worker again, after a pause between attempts or a stalled worker.
  events.on('waiting', ({ jobId }) => {
    const job = waiting.get(jobId)
    if (job) job.limitFrom = performance.now()
  })
  events.on('progress', ({ jobId, data }) => waiting.get(jobId)?.progress(toJson(data)))
}

/**
 * BullMQ has already parsed the result. If that may have rounded a number, reads the raw value
 * again.
 */
async function exactResult(
  queue: Queue,
  { connection }: QueueServer['options'],
  id: string,
  result: unknown,
) {
  if (!mayHaveLostNumber(result)) return result
  const raw = await connection.hget(queue.toKey(id), 'returnvalue').catch(() => null)
  return raw === null ? result : (parseJson(raw) ?? result)
}
