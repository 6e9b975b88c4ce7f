import { hash } from 'node:crypto'
import { z } from 'zod'
import { allKeys } from '../core/all-keys.ts'
import { TriviumError } from '../core/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import { type LongJob, longJobSchema } from '../core/long-job.ts'
import { createRecordReader } from '../core/record-reader.ts'
import type { Store } from '../core/store.ts'
import { withUnknownFields } from '../core/stored-entries.ts'
import { updateKv } from '../core/update-kv.ts'
import { defined } from '../lib/defined.ts'

/**
 * `data`: state of the work between two steps, deleted when the job ends. `failures`: failed
 * attempts in a row.
 */
const storedSchema = longJobSchema.extend({ data: z.json().default(null), failures: z.number().default(0) })
export type StoredJob = z.infer<typeof storedSchema>

export const PREFIX = 'long-job:'
/** How long (ms) a job is kept after its end. */
const RETENTION_MS = 7 * 86_400_000
/** Enough characters to tell two versions apart. */
const VERSION_LENGTH = 16

type Ending = Pick<LongJob, 'state'> &
  Partial<Pick<LongJob, 'result' | 'error' | 'withdrawing' | 'cancelled'>>

const WITHDRAWING = { withdrawing: true } as const

/** What stays of a job that ends before it is done: its result so far, and its data. See `WorkKind`. */
export type Ends = {
  soFar?: ((job: StoredJob) => Json | undefined) | undefined
  kept?: ((data: Json) => Json) | undefined
  withdraw?: unknown
}

export type Records = ReturnType<typeof createRecords>

/** The records of long jobs in the store. */
export function createRecords(kv: Store['kv'], log: Pick<Log, 'warn'>, now: () => number) {
  const { read } = createRecordReader('long jobs', storedSchema, log)
  const readKey = async (key: string) => read(key, (await kv.get(key))?.value)
  let version = ''
  const peek = (id: string) => readKey(PREFIX + id)
  const find = async (id: string): Promise<StoredJob> => {
    const found = await peek(id)
    if (found) return found
    throw new TriviumError('job_not_found', { id })
  }
  /** Changes a job that has not ended. Returns its record, changed or not. */
  const change = async (id: string, to: (job: StoredJob) => StoredJob) => {
    const key = PREFIX + id
    const value = await updateKv(kv, key, (current) => {
      const job = read(key, current)
      if (job?.state !== 'running') return undefined
      const next = { ...to(job), updatedAt: now() }
      return {
        value: withUnknownFields(next, current, job),
        ...(next.state !== 'running' && { ttl: RETENTION_MS }),
      }
    })
    return read(key, value) ?? find(id)
  }
  const end = (id: string, how: Ending, { soFar, kept }: Ends = {}) =>
    change(id, (running) => {
      const { error: _, at: __, retryAt: ___, ...job } = running
      const part = how.result === undefined ? defined({ result: soFar?.(running) }) : {}
      return { ...job, ...part, ...how, data: kept?.(running.data) ?? null, failures: 0, endedAt: now() }
    })
  return {
    /** Like `find`, but undefined if there is no such job. */
    peek,
    find,
    change,
    add: (job: StoredJob) => kv.set(PREFIX + job.id, job),
    async all(): Promise<StoredJob[]> {
      const keys = await allKeys(kv, PREFIX)
      const values = await Promise.all(keys.map(readKey))
      const jobs = values.filter((job) => job !== undefined)
      const states = jobs.map(({ id, state }) => `${id} ${state}`).sort()
      version = hash('sha256', states.join()).slice(0, VERSION_LENGTH)
      return jobs
    },
    /** Changes when `all` has read a new job, or a job in another state. */
    version: () => version,
    end,
    /**
     * The ended job if it has ended, also if it ends meanwhile. With `withdraw`, what it queued is to
     * be withdrawn.
     */
    async cancel(
      id: string,
      by: string | undefined,
      ends: Ends = {},
    ): Promise<{ isCancelled: boolean; job: StoredJob }> {
      const found = await find(id)
      if (found.state !== 'running') return { isCancelled: false, job: found }
      const cancelled = { at: now(), ...defined({ by }) }
      const how = { state: 'cancelled' as const, cancelled, ...(ends.withdraw !== undefined && WITHDRAWING) }
      const job = await end(id, how, ends)
      return { isCancelled: job.state === 'cancelled', job }
    },
    ...createRevisions(kv, read, now),
    drop: (id: string) => kv.delete(PREFIX + id),
  }
}

/** Changes of jobs that have ended. */
function createRevisions(
  kv: Store['kv'],
  read: (key: string, value: Json | undefined) => StoredJob | undefined,
  now: () => number,
) {
  /** Changes a job that was cancelled, or has ended; `to` returns undefined to leave it. */
  const withResult = (job: StoredJob, part: JsonObject): StoredJob => {
    const result = isJsonObject(job.result ?? null) ? Object(job.result) : {}
    return { ...job, result: { ...result, ...part }, updatedAt: now() }
  }
  const revise = async (id: string, to: (job: StoredJob) => StoredJob | undefined) => {
    const key = PREFIX + id
    await updateKv(kv, key, (current) => {
      const job = read(key, current)
      const next = job && job.state !== 'running' ? to(job) : undefined
      return next && { value: withUnknownFields(next, current, job), ttl: RETENTION_MS }
    })
  }
  return {
    /** Corrects the result of a cancelled job, whose last step ended after that. */
    correct: (id: string, part: Pick<LongJob, 'done'> & Partial<Pick<LongJob, 'result'>>) =>
      revise(id, (job) => (job.state === 'cancelled' ? { ...job, ...part } : undefined)),
    /** Cancels an ended job whose work is in progress elsewhere, which is to be withdrawn. */
    beginWithdrawal: (id: string, by: string | undefined) =>
      revise(id, (job) => {
        const cancelled = { at: now(), ...defined({ by }) }
        return { ...job, state: 'cancelled', cancelled, ...WITHDRAWING, updatedAt: now() }
      }),
    /** Notes that everything was withdrawn. `part` is added to the result. */
    withdrawn: (id: string, part: JsonObject) =>
      revise(id, ({ withdrawing: _, ...job }) => withResult(job, part)),
    /** Adds `part` to the result, while the rest is being withdrawn. */
    partWithdrawn: (id: string, part: JsonObject) => revise(id, (job) => withResult(job, part)),
  }
}
