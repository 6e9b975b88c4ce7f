import { TriviumError, toTriviumError } from '../core/errors.ts'
import type { Json } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { LongJob } from '../core/long-job.ts'
import type { Store } from '../core/store.ts'
import { backoff } from '../lib/backoff.ts'
import { defined } from '../lib/defined.ts'
import type { Records, StoredJob } from './long-work-records.ts'

/** `save` throws `job_cancelled` where an operator has ended the job, and the signal's reason once it has aborted. */
export type JobProgress = Partial<Pick<LongJob, 'done' | 'total' | 'at'>> & { data?: Json }
export type JobTools = { save(progress: JobProgress): Promise<void>; signal: AbortSignal }

/**
 * How work of one kind is done. `run` is called with the `data` that was saved last, on any daemon, again after a crash: what it did since
 * then it must be able to repeat. It saves often, stops soon after `signal` aborts, and returns the result.
 */
export type WorkKind = {
  kind: string
  run(job: Pick<StoredJob, 'id' | 'by' | 'data' | 'done' | 'total'>, tools: JobTools): Promise<Json>
}

/** Ms. A daemon that has not renewed its lease for so long is taken for dead. */
const LEASE = 10_000
const RENEW = 3_000
const AGAIN = { first: 2_000, longest: 60_000 }
/** Attempts in a row without progress that may fail in a way that nobody expected; it may be a fault that does not go away. */
const UNEXPECTED = 8

export type AttemptDeps = {
  store: Pick<Store, 'leases'>
  owner: string
  records: Records
  stopping: AbortSignal
  log: Log
  now(): number
}

/** Works on a job while this daemon holds its lease. Never rejects. */
export async function attempt(id: string, kind: WorkKind, deps: AttemptDeps): Promise<void> {
  const lease = await holdLease(id, deps)
  if (!lease) return
  const signal = AbortSignal.any([deps.stopping, lease.lost])
  try {
    const job = await deps.records.find(id)
    if (job.state !== 'running' || signal.aborted) return
    const save = async (progress: JobProgress) => {
      await saveProgress(deps.records, id, progress)
      // What is saved is the place to go on from, so that this is where work ends.
      signal.throwIfAborted()
    }
    const result = await kind.run(job, { save, signal })
    await deps.records.end(id, { state: 'done', result })
  } catch (error) {
    if (!signal.aborted) await failed(error, id, deps)
  } finally {
    await lease.release()
  }
}

/** Holds the lease of a job; undefined where another daemon has it, or the store is away. */
async function holdLease(id: string, { store, owner, log }: AttemptDeps) {
  const name = `long-job/${id}`
  const lost = new AbortController()
  const hold = () => store.leases.acquire(name, owner, LEASE)
  const away = (err: unknown) =>
    void log.warn({ job: id, err }, 'the lease of a long job cannot be renewed; trying again')
  let heldUntil = performance.now() + LEASE
  const held = await hold().catch(away)
  if (held === undefined) return undefined
  const renew = async () => {
    const until = performance.now() + LEASE
    const isHeld = (await hold()) !== undefined
    if (isHeld) heldUntil = until
    else lost.abort()
  }
  const renewing = setInterval(() => {
    renew().catch((err) => {
      away(err)
      // Another daemon may have taken over.
      if (performance.now() > heldUntil) lost.abort()
    })
  }, RENEW)
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

async function saveProgress(records: Records, id: string, progress: JobProgress): Promise<void> {
  const { state } = await records.change(id, ({ retryAt: _, ...job }) => ({
    ...{ ...job, ...defined({ ...progress }), failures: 0 },
  }))
  if (state !== 'running') throw new TriviumError('job_cancelled', { id })
}

/** What may work later is tried again, with backoff; what nobody expected, a few times. */
async function failed(error: unknown, id: string, deps: AttemptDeps): Promise<void> {
  const { records, log, now } = deps
  const { code, message } = toTriviumError(error)
  if (code === 'job_cancelled') return
  const failure = { error: { code, message } }
  const isFinal = (failures: number) =>
    error instanceof TriviumError ? !error.retryable : failures >= UNEXPECTED
  try {
    const { failures } = await records.find(id)
    if (isFinal(failures + 1)) {
      log.warn({ job: id, err: error }, 'a long job failed')
      await records.end(id, { state: 'failed', ...failure })
      return
    }
    const pause = backoff(failures + 1, AGAIN)
    log.warn({ job: id, err: error, pause }, 'a long job goes on later')
    await records.change(id, (job) => ({
      ...job,
      ...failure,
      failures: failures + 1,
      retryAt: now() + pause,
    }))
  } catch (err) {
    log.warn({ job: id, err }, 'that a long job failed was not stored; it is tried again')
  }
}
