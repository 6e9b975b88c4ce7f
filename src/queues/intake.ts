import { DelayedError, type Job, UnrecoverableError, Worker } from 'bullmq'
import { toTriviumError } from '../core/errors.ts'
import type { Json } from '../core/json.ts'
import type { JobTaker, TakenJob } from '../core/transport.ts'
import { inTime } from '../lib/pause.ts'
import type { QueueServer } from './server.ts'

export type HandleJob = (job: TakenJob) => Promise<Json>

/** The pause (ms) before a job that could not be taken now is tried again. */
const AGAIN = 1_000
const CLOSE_TIMEOUT = 1_000
/** After so long (ms) without a sign of life the jobs of a daemon are taken by another. */
const LOCK = 10_000

/** A worker on a queue that other programs add to. See `TransportDeps.jobs`. */
export function takeJobs(options: {
  queue: string
  prefix: string
  concurrency: number
  server: QueueServer
  handle: HandleJob
}): JobTaker {
  const { queue, prefix, concurrency, server, handle } = options
  const stopping = new AbortController()
  const { signal } = stopping

  const work = async (job: Job, token?: string) => {
    const { name, data } = job
    try {
      return await handle({ id: idOf(job), name, data, signal })
    } catch (error) {
      const { retryable, message } = toTriviumError(error)
      if (!retryable) throw new UnrecoverableError(message)
      await job.moveToDelayed(Date.now() + (signal.aborted ? 0 : AGAIN), token)
      throw new DelayedError(message)
    }
  }
  const worker = new Worker(queue, work, {
    connection: server.client,
    prefix,
    concurrency,
    lockDuration: LOCK,
    stalledInterval: LOCK / 2,
    // What a daemon held that died may be taken as often as it takes: it is recognised.
    maxStalledCount: Number.MAX_SAFE_INTEGER,
  })
  worker.on('error', server.failed)

  return {
    trouble: server.trouble,
    async stop() {
      await worker.pause(true)
      stopping.abort()
      await inTime(worker.close(), AbortSignal.timeout(CLOSE_TIMEOUT))
    },
  }
}

/** BullMQ's own ids are numbers, which begin anew in a queue that was wiped; no others may be. */
function idOf({ id = '', timestamp }: Job): string {
  return /^\d+$/.test(id) ? `${id}@${timestamp}` : id
}
