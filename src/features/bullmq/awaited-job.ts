import type { BulkJobOptions, Job, Queue } from 'bullmq'
import { TriviumError } from '../../core/errors.ts'
import type { Json } from '../../core/json.ts'
import type { Message } from '../../core/message.ts'
import type { Route } from '../../core/route.ts'
import { formatDuration } from '../../core/units.ts'
import { pause } from '../../lib/pause.ts'

/** A message for a queue, with its signal and progress listener. */
export type Handed = {
  message: Message
  route: Pick<Route, 'name' | 'retry' | 'timeout'>
  signal: AbortSignal
  progress(progress: Json): void
}

/**
 * What is known of an awaited job, by the monotonic clock: a wall clock that jumps must not time it out. `lookAt`: when to query the
 * queue; absent: the job must be added.
 */
export type AwaitedJob = Handed & {
  since: number
  lookAt?: number | undefined
  removed?: true
  done?: { result: unknown }
  wake(): void
  /** Called on an event that the job was removed. */
  gone?(): void
}

export type NewJob = { name: string; data: Message; opts: BulkJobOptions }

/** `add` adds several jobs at once. */
export type JobQueue = { name: string; queue: Queue; add(job: NewJob): Promise<unknown> }

/** Poll interval (ms), as events are only hints. */
const LOOK_AGAIN = 15_000
/** Maximum wait (ms) for the events of a removed job. */
const EVENTS_PAUSE = 5_000
/** A slower reply (ms) means that the server, and so its workers, were unreachable. */
const AWAY = 1_000
/** Retention of finished jobs: seconds, and number. Enough for a daemon that died while waiting, and for the board. */
const [KEPT, KEPT_DONE] = [7 * 86_400, 1_000]
/** Log line of a failed job that became a dead letter; when that is retried, the job runs again. */
const RECORDED = 'Trivium made a dead letter of it'

/** When an awaited job needs its next step (ms, monotonic). */
export function dueAt({ lookAt = 0, since, route }: AwaitedJob): number {
  return Math.min(lookAt, since + route.timeout)
}

/** Adds a job if necessary, or queries it; gives it up after its time limit. Throws `job_failed` and `job_timeout`. */
export async function advance(to: JobQueue, job: AwaitedJob): Promise<void> {
  if (job.lookAt === undefined) await add(to, job)
  else if (performance.now() >= dueAt(job)) await look(to, job)
  if (!job.done && performance.now() >= job.since + job.route.timeout) await giveUp(to, job)
}

async function add({ queue, add }: JobQueue, job: AwaitedJob): Promise<void> {
  const { message, route } = job
  const { name, retry } = route
  const opts = {
    jobId: message.id,
    attempts: retry.attempts,
    backoff: { type: retry.backoff, delay: retry.delay },
    removeOnComplete: { age: KEPT, count: KEPT_DONE },
    removeOnFail: { age: KEPT },
  }
  // Before the reply: the job may be removed before it arrives.
  delete job.removed
  // A trace is passed with the job, so jobs with one are added separately.
  if (queue.opts.telemetry) await queue.add(name, message, opts)
  else await add({ name, data: message, opts })
  job.since = performance.now()
  job.lookAt ??= performance.now() + LOOK_AGAIN
}

async function look(to: JobQueue, job: AwaitedJob): Promise<void> {
  const { queue } = to
  const { id } = job.message
  const asked = performance.now()
  job.lookAt = asked + LOOK_AGAIN
  // In this order: a job read before its state may lack its result.
  const [state, found] = await Promise.all([queue.getJobState(id), queue.getJob(id)])
  if (state === 'delayed' || performance.now() - asked > AWAY) job.since = performance.now()
  if (!found) {
    if (job.removed) throw failure(to.name, { failedReason: 'somebody removed it' })
    // A server that lost its last writes may have lost the job.
    return add(to, job)
  }
  if (state === 'completed') job.done = { result: found.returnvalue }
  if (state !== 'failed') return
  const { logs } = await queue.getJobLogs(id)
  if (!logs.includes(RECORDED)) {
    await found.log(RECORDED)
    throw failure(to.name, found)
  }
  await found.remove()
  await add(to, job)
}

async function giveUp(to: JobQueue, job: AwaitedJob): Promise<void> {
  const isOut = await takeOut(to.queue, job)
  if (job.done) return
  const timeout = formatDuration(job.route.timeout)
  const what = isOut ? 'it was removed' : 'a worker is still running it, and the next attempt waits for that'
  throw new TriviumError('job_timeout', { queue: to.name, timeout, what })
}

/** Removes the job. Events are ordered, so the result of a job that just completed arrives before its removal. */
async function takeOut(queue: Queue, job: AwaitedJob): Promise<boolean> {
  const { promise: isGone, resolve } = Promise.withResolvers<void>()
  job.gone = resolve
  try {
    const isOut = (await queue.remove(job.message.id)) === 1
    if (isOut) await Promise.race([isGone, pause(EVENTS_PAUSE, job.signal)])
    return isOut
  } finally {
    delete job.gone
  }
}

/** The error of a failed job, with the reason and stack of its last attempt. */
function failure(queue: string, job: Partial<Pick<Job, 'failedReason' | 'attemptsMade' | 'stacktrace'>>) {
  const { failedReason: reason = '', attemptsMade: attempts = 0, stacktrace } = job
  const cause = new Error(reason)
  cause.stack = stacktrace?.at(-1) ?? reason
  return new TriviumError('job_failed', { queue, reason, attempts }, { cause })
}
