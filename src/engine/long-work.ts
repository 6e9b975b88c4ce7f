import { randomUUID } from 'node:crypto'
import { authorOf } from '../core/author.ts'
import type { Call } from '../core/call.ts'
import { type Json, type JsonObject, pathGet } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { JobFilter, LongJob } from '../core/long-job.ts'
import type { ServiceOf } from '../core/operation.ts'
import type { Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { repeat } from '../lib/loop.ts'
import { pause } from '../lib/pause.ts'
import { waitFor } from '../lib/wait-for.ts'
import { busyFirst, isDelivering, isInState, jobEnded } from './job-state.ts'
import { attempt, type WorkKind } from './long-work-attempt.ts'
import { createRecords, PREFIX, type Records, type StoredJob } from './long-work-records.ts'
import { createRoom } from './long-work-room.ts'
import type { longJobs } from './operations/jobs.ts'

export type { JobTools, WorkKind } from './long-work-attempt.ts'

/** `startedAt` (Unix ms): now by default. */
export type NewLongJob = {
  kind: string
  target: JsonObject
  data: Json
  total?: number
  startedAt?: number
}

/** Adds details from elsewhere to jobs of a kind. */
type Describe = (jobs: readonly LongJob[]) => Promise<LongJob[]>

export type LongWork = ReturnType<typeof createLongWork>

/** How often (ms) to look for jobs that have no worker. */
const LOOK_INTERVAL = 2_000
/** Number of jobs that are described at once, to find those in a state. */
const PAGE = 50
/** How long (ms) a cancellation waits until what the job queued is withdrawn. */
const WITHDRAWAL_WAIT = 15_000
/** How long (ms) it waits for the last step of a job. */
const LAST_STEP_WAIT = 2_000

/**
 * Durable work with progress. A call starts it, one daemon at a time does it, and another one
 * continues it after a crash.
 */
export function createLongWork(deps: {
  store: Pick<Store, 'kv' | 'leases' | 'onSignal'>
  owner: string
  log: Log
  now(): number
}) {
  const { store, now } = deps
  const kinds = new Map<string, WorkKind>()
  const records = createRecords(store.kv, deps.log, now)
  const room = createRoom(store.kv, records, now)
  const descriptions = new Map<string, Describe>()
  const running = new Map<string, Promise<void>>()
  const stopping = new AbortController()
  let isStarted = false
  const waitWhile = createWaitWhile(deps, records)

  const look = async () => {
    for (const { id, kind, state, withdrawing, retryAt = 0 } of await records.all()) {
      const known = kinds.get(kind)
      const isDue = withdrawing || (state === 'running' && retryAt <= now())
      if (isDue && known && !running.has(id) && !stopping.signal.aborted) begin(id, known)
    }
  }
  const loop = repeat(look, LOOK_INTERVAL, 'long jobs', deps.log)
  const start = () => {
    if (isStarted || stopping.signal.aborted) return
    isStarted = true
    loop.start()
  }
  const cancel = createCancel({ records, kinds, descriptions, waitWhile, running }, () => {
    start()
    loop.wake()
  })
  const begin = (id: string, kind: WorkKind) => {
    const ended = attempt(id, kind, { ...deps, records, stopping: stopping.signal }).then((mayGoOn) => {
      running.delete(id)
      if (mayGoOn) loop.wake()
    })
    running.set(id, ended)
  }

  return {
    /** Registers a kind of work; call it before `start`. */
    offer: (kind: WorkKind) => void kinds.set(kind.kind, kind),
    /** Registers the function that adds details to the shown jobs of a kind. */
    describe: (kind: string, describe: Describe) => void descriptions.set(kind, describe),
    start,
    /** Changes with the list of jobs and their states, on any daemon: after up to two seconds. */
    version: records.version,
    /** Throws `limit_reached` for a caller with many running jobs. */
    async begin(wanted: NewLongJob, { caller }: Pick<Call, 'caller'>) {
      const job = storedJob(wanted, authorOf(caller), wanted.startedAt ?? now())
      await room.take(job.id, job.by)
      await records.add(job)
      start()
      loop.wake()
      return shown(job)
    },
    wait: (id: string, timeout: number, signal: AbortSignal) =>
      waitWhile(({ state }) => state === 'running', id, timeout, signal),
    ...createReads(records),
    service: {
      list: (wanted) => list(records, descriptions, wanted),
      show: async ({ id }) => oneShown(await records.find(id), kinds, descriptions),
      cancel,
    } satisfies Omit<ServiceOf<typeof longJobs>, 'items'>,
    /**
     * Stops each job after its current step. The jobs continue after the next start, or on another
     * daemon.
     */
    async stop(): Promise<void> {
      stopping.abort()
      await loop.stop()
      await Promise.all(running.values())
    },
  }
}

function createReads(records: Records) {
  return {
    /** All jobs of a kind, newest first, without the details that `describe` adds. */
    async ofKind(kind: string): Promise<LongJob[]> {
      return newestFirst((await records.all()).filter((job) => job.kind === kind)).map(shown)
    },
    /** What a job works with, or what its kind keeps of it after the end; undefined without such a job. */
    dataOf: async (id: string): Promise<Json | undefined> => (await records.peek(id))?.data,
  }
}

type Wanted = Parameters<ServiceOf<typeof longJobs>['list']>[0]
type Filter = Omit<Wanted, 'limit' | 'state'>

/** `job-list`. */
async function list(
  records: Records,
  descriptions: ReadonlyMap<string, Describe>,
  { limit, state, ...filter }: Wanted,
): Promise<LongJob[]> {
  const all = newestFirst((await records.all()).filter((job) => isWanted(job, filter)))
  if (state === undefined)
    return busyFirst(await described(descriptions, busyFirst(all).slice(0, limit).map(shown)))
  const wanted = all.filter((job) => mayBe(state, job)).map(shown)
  const found: LongJob[] = []
  for (let at = 0; at < wanted.length && found.length < limit; at += PAGE) {
    const page = await described(descriptions, wanted.slice(at, at + PAGE))
    found.push(...page.filter((job) => isInState(job, state)))
  }
  return busyFirst(found.slice(0, limit))
}

function newestFirst(jobs: readonly StoredJob[]): StoredJob[] {
  return jobs.toSorted((a, b) => b.startedAt - a.startedAt)
}

/** Whether a job may be in a state, once its outcomes are known. */
function mayBe(wanted: JobFilter, { state, withdrawing }: StoredJob): boolean {
  if (wanted === 'with-failures' || wanted === 'failed') return true
  if (wanted === 'cancelling') return withdrawing === true
  return state === wanted || (state === 'done' && ['running', 'delivering', 'retrying'].includes(wanted))
}

/** Whether a job has the kind, and ran for some time between `since` and `until`. */
function isWanted(
  { startedAt, endedAt = Number.POSITIVE_INFINITY, ...job }: StoredJob,
  { kind, since = 0, until = Number.POSITIVE_INFINITY }: Filter,
): boolean {
  return (kind === undefined || kind === job.kind) && endedAt >= since && startedAt < until
}

function storedJob({ kind, target, data, total = 0 }: NewLongJob, by: string, startedAt: number): StoredJob {
  return {
    id: `${kind}-${randomUUID()}`,
    kind,
    state: 'running',
    by,
    startedAt,
    updatedAt: startedAt,
    target,
    done: 0,
    total,
    data,
    failures: 0,
  }
}

/** Makes the function that waits up to `timeout` ms for a job, and resolves with its state then. */
function createWaitWhile({ store }: Parameters<typeof createLongWork>[0], records: Records) {
  return async (
    isOpen: (job: StoredJob) => boolean,
    id: string,
    timeout: number,
    signal?: AbortSignal,
  ): Promise<LongJob> => {
    const ended = await waitFor<StoredJob>({
      async attempt() {
        const job = await records.find(id)
        return isOpen(job) ? {} : { value: job }
      },
      watch: (wake) => store.onSignal(`kv:${PREFIX}${id}`, wake),
      timeout,
      ...defined({ signal }),
    })
    return shown(ended ?? (await records.find(id)))
  }
}

/** `job-cancel`: also of a job that has ended, if what it queued is in progress. */
function createCancel(
  of: {
    records: Records
    kinds: ReadonlyMap<string, WorkKind>
    descriptions: ReadonlyMap<string, Describe>
    waitWhile: ReturnType<typeof createWaitWhile>
    running: ReadonlyMap<string, Promise<void>>
  },
  look: () => void,
) {
  const { records, kinds, descriptions } = of
  return async ({ id }: { id: string }, call: Partial<Pick<Call, 'signal' | 'caller'>> = {}) => {
    const by = call.caller && authorOf(call.caller)
    const kind = kinds.get((await records.find(id)).kind)
    const { isCancelled, job } = await records.cancel(id, by, kind)
    if (!isCancelled) {
      const ended = await oneDescribed(descriptions, job)
      if (!canWithdraw(kind, ended)) throw jobEnded(ended)
      // A second call waits for the first withdrawal.
      if (!ended.withdrawing) await records.beginWithdrawal(id, by)
    }
    look()
    // The last step may still count. It does without the work of another daemon.
    if (kind?.withdraw === undefined) await Promise.race([of.running.get(id), pause(LAST_STEP_WAIT)])
    await of.waitWhile(isBeingWithdrawn, id, WITHDRAWAL_WAIT, call.signal)
    return oneDescribed(descriptions, await records.find(id))
  }
}

/** Whether it is still to be found out how much can be withdrawn now. Running attempts may take long. */
function isBeingWithdrawn({ withdrawing, result }: StoredJob): boolean {
  return withdrawing === true && pathGet(result ?? null, 'withdrawn') === undefined
}

/** Whether what an ended job queued is in progress, and can be withdrawn. */
function canWithdraw(kind: WorkKind | undefined, job: LongJob): boolean {
  return kind?.withdraw !== undefined && isDelivering(job) && (kind.mayWithdraw?.(job) ?? true)
}

/** `job-show`. */
async function oneShown(
  job: StoredJob,
  kinds: ReadonlyMap<string, WorkKind>,
  descriptions: ReadonlyMap<string, Describe>,
): Promise<LongJob> {
  const soFar = job.state === 'running' ? kinds.get(job.kind)?.soFar?.(job) : undefined
  return { ...(await oneDescribed(descriptions, job)), ...defined({ soFar }) }
}

async function oneDescribed(
  descriptions: ReadonlyMap<string, Describe>,
  stored: StoredJob,
): Promise<LongJob> {
  const job = shown(stored)
  const [found = job] = await described(descriptions, [job])
  return found
}

async function described(
  descriptions: ReadonlyMap<string, Describe>,
  jobs: readonly LongJob[],
): Promise<LongJob[]> {
  let all = [...jobs]
  for (const [kind, describe] of descriptions) {
    const own = all.filter((job) => job.kind === kind)
    if (own.length === 0) continue
    const byId = new Map((await describe(own)).map((job) => [job.id, job]))
    all = all.map((job) => byId.get(job.id) ?? job)
  }
  return all.map((job) => (isDelivering(job) ? { ...job, delivering: true } : job))
}

function shown({ data: _, failures: __, ...job }: StoredJob): LongJob {
  return job
}
