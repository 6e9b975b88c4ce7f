import type { BulkJobOptions, Job, Queue } from 'bullmq'
import { TriviumError } from '../../core/errors.ts'
import type { Json } from '../../core/json.ts'
import type { Message } from '../../core/message.ts'
import type { Route } from '../../core/route.ts'
import { formatDuration } from '../../core/units.ts'
import { pause } from '../../lib/pause.ts'

/** The run of a message as a job. */
export type JobRequest = {
  message: Message
  route: Pick<Route, 'name' | 'retry' | 'timeout'>
  /** Ends the wait. The job stays in the queue. */
  signal: AbortSignal
  /** Called with each progress that the worker reports. */
  progress(progress: Json): void
}

/**
 * The state of a job whose result is awaited. Times are ms of the monotonic clock: a wall clock
 * that jumps must not time a job out.
 */
export type AwaitedJob = JobRequest & {
  /** Start of the route's time limit: when the job last became ready for a worker. */
  limitFrom: number
  /** When to query the queue. Undefined: the job must be added. */
  checkAt?: number | undefined
  /** Whether an event reported that the job was removed. */
  removed?: true
  done?: { result: unknown }
  /** Runs the next step now. */
  wake(): void
  /** Called on an event that the job was removed. */
  onRemoved?(): void
}

export type NewJob = { name: string; data: Message; opts: BulkJobOptions }

/** A queue. `add` combines concurrent calls into one command. */
export type JobQueue = { name: string; queue: Queue; add(job: NewJob): Promise<unknown> }

/** Interval (ms) between queries of a job. Events are faster, but can be lost. */
const CHECK_INTERVAL = 15_000
/** Maximum wait (ms) for the events of a removed job. */
const EVENTS_TIMEOUT = 5_000
/** If a reply takes longer (ms), the server counts as unreachable, also for the workers. */
const SLOW_REPLY = 1_000
/**
 * Retention of finished jobs (seconds): long enough for the restart of a daemon that died while
 * waiting, and for readers of Bull Board.
 */
const RETENTION_SECONDS = 7 * 86_400
/** Maximum number of completed jobs that are kept. */
const MAX_COMPLETED = 1_000
/**
 * Added to the log of a failed job when its message becomes a dead letter. A failed job that
 * already has it was retried from the dead letters, and runs again.
 */
const DEAD_LETTER_MARK = 'Trivium made a dead letter of it'

/** When an awaited job needs its next step (ms, monotonic). */
export function dueAt({ checkAt = 0, limitFrom, route }: AwaitedJob): number {
  return Math.min(checkAt, limitFrom + route.timeout)
}

/**
 * The next step of an awaited job: adds it, or queries it if that is due, and removes it after its
 * time limit. Throws `job_failed` and `job_timeout`.
 */
export async function advance(to: JobQueue, job: AwaitedJob): Promise<void> {
  if (job.checkAt === undefined) await addJob(to, job)
  else if (performance.now() >= dueAt(job)) await check(to, job)
  if (!job.done && performance.now() >= job.limitFrom + job.route.timeout) await giveUp(to, job)
}

async function addJob({ queue, add }: JobQueue, job: AwaitedJob): Promise<void> {
  const { message, route } = job
  const { name, retry } = route
  const opts = {
    jobId: message.id,
    attempts: retry.attempts,
    backoff: { type: retry.backoff, delay: retry.delay },
    removeOnComplete: { age: RETENTION_SECONDS, count: MAX_COMPLETED },
    removeOnFail: { age: RETENTION_SECONDS },
  }
  // Before the job is added: the event of a new removal may arrive before the reply.
  delete job.removed
  // Telemetry passes the current trace with the job, which a shared command cannot.
  if (queue.opts.telemetry) await queue.add(name, message, opts)
  else await add({ name, data: message, opts })
  job.limitFrom = performance.now()
  // An event that arrived before the reply may have asked for an earlier query.
  job.checkAt ??= performance.now() + CHECK_INTERVAL
}

async function check(to: JobQueue, job: AwaitedJob): Promise<void> {
  const { queue } = to
  const { id } = job.message
  const askedAt = performance.now()
  job.checkAt = askedAt + CHECK_INTERVAL
  // The state is read first: a job that is read before its state may lack the result.
  const [state, found] = await Promise.all([queue.getJobState(id), queue.getJob(id)])
  if (state === 'delayed' || performance.now() - askedAt > SLOW_REPLY) job.limitFrom = performance.now()
  if (!found) {
    if (job.removed) throw failure(to.name, { failedReason: 'somebody removed it' })
    // A server that lost its last writes may have lost the job.
    return addJob(to, job)
  }
  if (state === 'completed') job.done = { result: found.returnvalue }
  if (state !== 'failed') return
  const { logs } = await queue.getJobLogs(id)
  if (!logs.includes(DEAD_LETTER_MARK)) {
    await found.log(DEAD_LETTER_MARK)
    throw failure(to.name, found)
  }
  await found.remove()
  await addJob(to, job)
}

async function giveUp(to: JobQueue, job: AwaitedJob): Promise<void> {
  const wasRemoved = await removeJob(to.queue, job)
  // The result arrived meanwhile.
  if (job.done) return
  const timeout = formatDuration(job.route.timeout)
  const what = wasRemoved
    ? 'it was removed'
    : 'a worker is still running it, and the next attempt waits for that'
  throw new TriviumError('job_timeout', { queue: to.name, timeout, what })
}

/**
 * Removes a job from the queue, and waits for the event of its removal. Events are ordered, so the
 * result of a job that has just completed arrives before. False if the job is running.
 */
async function removeJob(queue: Queue, job: AwaitedJob): Promise<boolean> {
  const { promise: removalEvent, resolve } = Promise.withResolvers<void>()
  job.onRemoved = resolve
  try {
    const wasRemoved = (await queue.remove(job.message.id)) === 1
    if (wasRemoved) await Promise.race([removalEvent, pause(EVENTS_TIMEOUT, job.signal)])
    return wasRemoved
  } finally {
    delete job.onRemoved
  }
}

/** The error of a failed job, with the reason and stack of its last attempt. */
function failure(queue: string, job: Partial<Pick<Job, 'failedReason' | 'attemptsMade' | 'stacktrace'>>) {
  const { failedReason: reason = '', attemptsMade: attempts = 0, stacktrace } = job
  const cause = new Error(reason)
  cause.stack = stacktrace?.at(-1) ?? reason
  return new TriviumError('job_failed', { queue, reason, attempts }, { cause })
}
