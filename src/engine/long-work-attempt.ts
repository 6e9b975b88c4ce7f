import { TriviumError, toTriviumError } from '../core/errors.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { LongJob } from '../core/long-job.ts'
import type { Store } from '../core/store.ts'
import { backoff } from '../lib/backoff.ts'
import { defined } from '../lib/defined.ts'
import type { Records, StoredJob } from './long-work-records.ts'

export type JobProgress = Partial<Pick<LongJob, 'done' | 'total' | 'at'>> & { data?: Json }
/**
 * `save` throws `job_cancelled` if an operator cancelled the job, and the reason of `signal` after
 * its abort.
 */
export type JobTools = { save(progress: JobProgress): Promise<void>; signal: AbortSignal }

/**
 * A kind of work. `run` gets the `data` that was saved last. After a crash it is called again, on
 * any daemon, so `run` must be able to repeat everything since the last save. It saves often, stops
 * soon after `signal` aborts, and returns the result. `soFar`: the result of a job that is cancelled or
 * fails, from what it saved last.
 *
 * `withdraw`: takes back what a cancelled job queued and what is not being processed. It is called
 * after the last step, and again after a crash, and returns what the result has in addition. `kept`:
 * what withdrawals need of the data, which is otherwise deleted at the end. `report` stores a part of
 * the result while the rest takes longer.
 */
export type WorkKind = {
  kind: string
  run(
    job: Pick<StoredJob, 'id' | 'by' | 'target' | 'data' | 'done' | 'total'>,
    tools: JobTools,
  ): Promise<Json>
  soFar?(job: Pick<StoredJob, 'data' | 'done' | 'total'>): Json | undefined
  kept?(data: Json): Json
  withdraw?(
    job: StoredJob,
    signal: AbortSignal,
    report: (part: JsonObject) => Promise<void>,
  ): Promise<JsonObject>
  /** Whether `withdraw` applies to a job; default: to all. */
  mayWithdraw?(job: LongJob): boolean
}

/** Ms after which a daemon that has not renewed its lease counts as dead. */
const LEASE = 10_000
const RENEW_INTERVAL = 3_000
const RETRY = { first: 2_000, longest: 60_000 }
/** Maximum number of unexpected errors in a row without progress. */
const MAX_UNEXPECTED = 8

export type AttemptDeps = {
  store: Pick<Store, 'leases'>
  owner: string
  records: Records
  stopping: AbortSignal
  log: Log
  now(): number
}

/**
 * Works on a job while this daemon holds its lease. Never rejects. Returns false if another daemon has
 * the lease, or after a failure: then the job waits for the next poll.
 */
export async function attempt(id: string, kind: WorkKind, deps: AttemptDeps): Promise<boolean> {
  const lease = await holdLease(id, deps)
  if (!lease) return false
  const signal = AbortSignal.any([deps.stopping, lease.lost])
  try {
    await work(id, kind, signal, deps)
    return true
  } catch (error) {
    // The queued work of a cancelled job can be withdrawn at once.
    if (error instanceof TriviumError && error.code === 'job_cancelled') return true
    if (!signal.aborted) await failed(error, id, kind, deps)
    return false
  } finally {
    await lease.release()
  }
}

async function work(id: string, kind: WorkKind, signal: AbortSignal, deps: AttemptDeps): Promise<void> {
  const job = await deps.records.find(id)
  if (signal.aborted) return
  if (job.withdrawing) return withdraw(job, kind, signal, deps)
  if (job.state !== 'running') return
  const save = async (progress: JobProgress) => {
    await saveProgress(deps.records, id, progress, kind)
    // Stop after a save, so that no work is repeated.
    signal.throwIfAborted()
  }
  const result = await kind.run(job, { save, signal })
  await deps.records.end(id, { state: 'done', result }, { kept: kind.kept })
}

/** After a failure that may pass, the job is tried again soon. Another failure ends the withdrawal. */
async function withdraw(
  job: StoredJob,
  kind: WorkKind,
  signal: AbortSignal,
  { records, log }: AttemptDeps,
): Promise<void> {
  const report = (part: JsonObject) => records.partWithdrawn(job.id, part)
  const part = await kind.withdraw?.(job, signal, report).catch((error: unknown) => {
    if (!(error instanceof TriviumError) || error.retryable || signal.aborted) throw error
    log.warn({ job: job.id, err: error }, 'what a job queued could not be withdrawn')
    return {}
  })
  await records.withdrawn(job.id, part ?? {})
}

/** Holds the lease of a job. Undefined if another daemon has it, or if the store is unreachable. */
async function holdLease(id: string, { store, owner, log }: AttemptDeps) {
  const name = `long-job/${id}`
  const lost = new AbortController()
  const hold = () => store.leases.acquire(name, owner, LEASE)
  const logFailure = (err: unknown) =>
    void log.warn({ job: id, err }, 'the lease of a long job cannot be renewed; trying again')
  let heldUntil = performance.now() + LEASE
  const held = await hold().catch(logFailure)
  if (held === undefined) return undefined
  const renew = async () => {
    const until = performance.now() + LEASE
    const isHeld = (await hold()) !== undefined
    if (isHeld) heldUntil = until
    else lost.abort()
  }
  const renewing = setInterval(() => {
    renew().catch((err) => {
      logFailure(err)
      // Another daemon may have taken over.
      if (performance.now() > heldUntil) lost.abort()
    })
  }, RENEW_INTERVAL)
  return {
    lost: lost.signal,
    async release(): Promise<void> {
      clearInterval(renewing)
      await store.leases
        .release(name, owner)
        .catch((err) => log.debug({ job: id, err }, 'the lease of a long job was not released; it expires'))
    },
  }
}

async function saveProgress(
  records: Records,
  id: string,
  progress: JobProgress,
  kind: WorkKind,
): Promise<void> {
  const job = await records.change(id, ({ retryAt: _, ...job }) => ({
    ...job,
    ...defined({ ...progress }),
    failures: 0,
  }))
  if (job.state === 'running') return
  const { data, done = job.done } = progress
  // The step ended after the job was cancelled.
  if (job.state === 'cancelled' && data !== undefined) {
    const result = kind.soFar?.({ data, done, total: job.total })
    await records.correct(id, { done, ...defined({ result }) })
  }
  throw new TriviumError('job_cancelled', { id })
}

/**
 * Retries with backoff, unless the error is permanent or unexpected errors have repeated too often.
 */
async function failed(error: unknown, id: string, kind: WorkKind, deps: AttemptDeps): Promise<void> {
  const { records, log, now } = deps
  const { code, message } = toTriviumError(error)
  const failure = { error: { code, message } }
  const isFinal = (failures: number) =>
    error instanceof TriviumError ? !error.retryable : failures >= MAX_UNEXPECTED
  try {
    const { failures } = await records.find(id)
    if (isFinal(failures + 1)) {
      log.warn({ job: id, err: error }, 'a long job failed')
      await records.end(id, { state: 'failed', ...failure }, kind)
      return
    }
    const pause = backoff(failures + 1, RETRY)
    log.warn({ job: id, err: error, pause }, 'a long job will be retried')
    await records.change(id, (job) => ({
      ...job,
      ...failure,
      failures: failures + 1,
      retryAt: now() + pause,
    }))
  } catch (err) {
    log.warn({ job: id, err }, 'the failure of a long job could not be stored; the job will be retried')
  }
}
