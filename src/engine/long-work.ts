import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { Call } from '../core/call.ts'
import { TriviumError, toTriviumError } from '../core/errors.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import { type LongJob, longJobSchema } from '../core/long-job.ts'
import type { longJobs, ServiceOf } from '../core/operations.ts'
import type { Store } from '../core/store.ts'
import { updateKv } from '../core/update-kv.ts'
import { defined } from '../lib/defined.ts'
import { repeat } from '../lib/loop.ts'
import { waitFor } from '../lib/wait-for.ts'

/** What its kind keeps of a job between two steps; gone when the job ends. */
const storedSchema = longJobSchema.extend({ data: z.json().default(null) })
type Stored = z.infer<typeof storedSchema>

/** `save` throws `job_cancelled` where an operator has ended the job. */
export type JobProgress = Partial<Pick<LongJob, 'done' | 'total' | 'at'>> & { data?: Json }
export type JobTools = { save(progress: JobProgress): Promise<void>; signal: AbortSignal }

/**
 * How work of one kind is done. `run` is called with the `data` that was saved last, on any daemon, again after a crash: what it did since
 * then it must be able to repeat. It saves often, stops soon after `signal` aborts, and returns the result.
 */
export type WorkKind = {
  kind: string
  run(job: Pick<Stored, 'id' | 'by' | 'data' | 'done' | 'total'>, tools: JobTools): Promise<Json>
}

export type NewLongJob = { kind: string; target: JsonObject; data: Json; total?: number }

export type LongWork = ReturnType<typeof createLongWork>

const PREFIX = 'long-job:'
const MOST = 10_000
const KEPT = 7 * 86_400_000
/** Ms. A daemon that has not renewed its lease for so long is taken for dead. */
const LEASE = 10_000
const RENEW = 3_000
const LOOK_EVERY = 2_000

/** Durable work with progress: begun by a call, done by one daemon at a time, gone on with by another after a crash. */
export function createLongWork(deps: {
  store: Pick<Store, 'kv' | 'leases' | 'onSignal'>
  owner: string
  log: Log
  now(): number
}) {
  const { store, now } = deps
  const kinds = new Map<string, WorkKind>()
  const records = createRecords(store.kv, now)
  const running = new Map<string, Promise<void>>()
  const stopping = new AbortController()
  let isStarted = false

  const look = async () => {
    for (const { id, kind, state } of await records.all()) {
      const known = kinds.get(kind)
      if (state === 'running' && known && !running.has(id) && !stopping.signal.aborted) begin(id, known)
    }
  }
  const loop = repeat(look, LOOK_EVERY, 'long jobs', deps.log)
  const start = () => {
    if (isStarted || stopping.signal.aborted) return
    isStarted = true
    loop.start()
  }
  const begin = (id: string, kind: WorkKind) => {
    const ended = attempt(id, kind, { ...deps, records, stopping: stopping.signal }).finally(() =>
      running.delete(id),
    )
    running.set(id, ended)
  }

  return {
    /** Says how work of a kind is done; before `start`. */
    offer: (kind: WorkKind) => void kinds.set(kind.kind, kind),
    start,
    async begin({ kind, target, data, total = 0 }: NewLongJob, { caller }: Pick<Call, 'caller'>) {
      const at = now()
      const job: Stored = {
        ...{ id: `${kind}-${randomUUID()}`, kind, state: 'running', by: caller.id ?? caller.kind },
        ...{ startedAt: at, updatedAt: at, target, done: 0, total, data },
      }
      await records.add(job)
      start()
      loop.wake()
      return shown(job)
    },
    wait: (id: string, timeout: number, signal: AbortSignal) =>
      waitForEnd(deps, records, id, timeout, signal),
    service: {
      async list({ kind, state, limit }) {
        const all = (await records.all()).filter(
          (job) => (kind ?? job.kind) === job.kind && (state ?? job.state) === job.state,
        )
        return all
          .toSorted((a, b) => b.startedAt - a.startedAt)
          .slice(0, limit)
          .map(shown)
      },
      show: async ({ id }) => shown(await records.find(id)),
      cancel: async ({ id }) => shown(await records.end(id, { state: 'cancelled' })),
    } satisfies ServiceOf<typeof longJobs>,
    /** Ends work at its next step; it goes on with the next start, or on another daemon. */
    async stop(): Promise<void> {
      stopping.abort()
      await loop.stop()
      await Promise.all(running.values())
    },
  }
}

/** Waits up to `timeout` ms for the end of a job; resolves with what stands then. */
async function waitForEnd(
  { store }: Parameters<typeof createLongWork>[0],
  records: Records,
  id: string,
  timeout: number,
  signal: AbortSignal,
): Promise<LongJob> {
  const ended = await waitFor<Stored>({
    async attempt() {
      const job = await records.find(id)
      return job.state === 'running' ? {} : { value: job }
    },
    watch: (wake) => store.onSignal(`kv:${PREFIX}${id}`, wake),
    timeout,
    signal,
  })
  return shown(ended ?? (await records.find(id)))
}

function shown({ data: _, ...job }: Stored): LongJob {
  return job
}

type Records = ReturnType<typeof createRecords>

function createRecords(kv: Store['kv'], now: () => number) {
  const read = (value: Json | undefined) => storedSchema.safeParse(value).data
  const find = async (id: string): Promise<Stored> => {
    const found = read((await kv.get(PREFIX + id))?.value)
    if (found) return found
    throw new TriviumError('job_not_found', { id })
  }
  /** Changes a job that has not ended; returns what there is then. */
  const change = async (id: string, to: (job: Stored) => Stored) => {
    const value = await updateKv(kv, PREFIX + id, (current) => {
      const job = read(current)
      if (job?.state !== 'running') return undefined
      const next = { ...to(job), updatedAt: now() }
      return { value: next, ...(next.state !== 'running' && { ttl: KEPT }) }
    })
    return read(value) ?? find(id)
  }
  return {
    find,
    change,
    add: (job: Stored) => kv.set(PREFIX + job.id, job),
    async all(): Promise<Stored[]> {
      const keys = await kv.list(PREFIX, MOST)
      const values = await Promise.all(keys.map(async (key) => read((await kv.get(key))?.value)))
      return values.filter((job) => job !== undefined)
    },
    end: (id: string, how: Pick<LongJob, 'state'> & Partial<Pick<LongJob, 'result' | 'error'>>) =>
      change(id, ({ error: _, at: __, ...job }) => ({ ...job, ...how, data: null, endedAt: now() })),
  }
}

type AttemptDeps = Parameters<typeof createLongWork>[0] & { records: Records; stopping: AbortSignal }

/** Works on a job while this daemon holds its lease. Never rejects. */
async function attempt(id: string, kind: WorkKind, deps: AttemptDeps): Promise<void> {
  const { store, owner, records } = deps
  const lease = `long-job/${id}`
  const lost = new AbortController()
  const signal = AbortSignal.any([deps.stopping, lost.signal])
  const hold = () => store.leases.acquire(lease, owner, LEASE)
  if (!(await hold().catch(() => undefined))) return
  const renewing = setInterval(() => {
    hold().then(
      (held) => held ?? lost.abort(),
      () => {},
    )
  }, RENEW)
  try {
    const job = await records.find(id)
    if (job.state !== 'running') return
    const result = await kind.run(job, { save: (progress) => save(records, id, progress), signal })
    await records.end(id, { state: 'done', result })
  } catch (error) {
    if (!signal.aborted) await failed(error, id, deps).catch(() => {})
  } finally {
    clearInterval(renewing)
    await store.leases.release(lease, owner).catch(() => {})
  }
}

async function save(records: Records, id: string, progress: JobProgress): Promise<void> {
  const { state } = await records.change(id, (job) => ({ ...job, ...defined({ ...progress }) }))
  if (state !== 'running') throw new TriviumError('job_cancelled', { id })
}

/** What may work later is tried again at the next look. */
async function failed(error: unknown, id: string, { records, log }: AttemptDeps): Promise<void> {
  const { code, message } = toTriviumError(error)
  const retryable = error instanceof TriviumError && error.retryable
  if (code === 'job_cancelled') return
  log.warn({ job: id, err: error }, retryable ? 'a long job goes on later' : 'a long job failed')
  const told = { error: { code, message } }
  if (retryable) await records.change(id, (job) => ({ ...job, ...told }))
  else await records.end(id, { state: 'failed', ...told })
}
