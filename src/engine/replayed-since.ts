import { hash } from 'node:crypto'
import { isJsonObject } from '../core/json.ts'
import type { LaterActions, LongJob } from '../core/long-job.ts'
import type { Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { isInProgress } from '../lib/outcomes.ts'
import { selectedBy } from './event-range.ts'
import { eventsOf, laterThan } from './later-replays.ts'
import type { LongWork } from './long-work.ts'
import { KIND, reachedIn } from './replay-work.ts'
import { createWithdrawnEvents, withdrawalKey } from './withdrawn-events.ts'

/** Maximum number of cancelled replays whose answer is remembered. */
const MOST_REMEMBERED = 200
/** How long (ms) an answer is remembered: an erasure may change it. */
const MEMORY = 10_000
/** Maximum number of later replays that are examined. */
const MOST_LATER = 100

/**
 * What later replays did with the events that a cancelled one withdrew. `by`: the latest replay that has
 * an event, by its id. `left`: those that no later replay has. `erased`: how many of them were erased
 * since, which are in neither.
 */
export type ReplayedSince = { by: ReadonlyMap<string, string>; left: readonly string[]; erased?: number }

type Describe = (jobs: readonly LongJob[]) => Promise<LongJob[]>
export type ReplaysSince = ReturnType<typeof createReplayedSince>

/** Finds which withdrawn events were replayed since. Only the first `MAX_WITHDRAWN` are examined. */
export function createReplayedSince(
  store: Pick<Store, 'kv' | 'topics'>,
  work: Pick<LongWork, 'ofKind' | 'dataOf'>,
) {
  const remembered = new Map<string, { of: string; at: number; found: ReplayedSince }>()
  const withdrawnOf = async ({ target, startedAt }: LongJob) =>
    (await createWithdrawnEvents(store.kv, withdrawalKey(target)).of(startedAt)) ?? { ids: [] }
  const idsOf = async (job: LongJob) => (await withdrawnOf(job)).ids
  const find = async (job: LongJob, all: readonly LongJob[]): Promise<ReplayedSince> => {
    const later = laterOf(job, all)
    const { ids, erased } = await withdrawnOf(job)
    const has = await Promise.all(later.map((other) => selectorOf(store, work, other, idsOf)))
    const by = new Map<string, string>()
    for (const id of ids) {
      const found = later.find((_, at) => has[at]?.(id))
      if (found) by.set(id, found.id)
    }
    return { by, left: ids.filter((id) => !by.has(id)), ...defined({ erased }) }
  }
  /** `all`: all replays, newest first. */
  const sinceOf = async (job: LongJob, all: readonly LongJob[]): Promise<ReplayedSince> => {
    const states = [job, ...laterOf(job, all)].map(
      ({ id, state, updatedAt }) => `${id} ${state} ${updatedAt}`,
    )
    const of = hash('sha256', [...states, JSON.stringify(job.result)].join())
    const known = remembered.get(job.id)
    if (known?.of === of && performance.now() - known.at < MEMORY) return known.found
    const found = await find(job, all)
    remembered.delete(job.id)
    remembered.set(job.id, { of, at: performance.now(), found })
    for (const id of remembered.keys()) if (remembered.size > MOST_REMEMBERED) remembered.delete(id)
    return found
  }
  return {
    /** May be remembered. */
    known: async (job: LongJob) => sinceOf(job, await work.ofKind(KIND)),
    of: async (job: LongJob) => find(job, await work.ofKind(KIND)),
    /** Adds to cancelled replays, after `describe`, which later replays had their withdrawn events. */
    describing:
      (describe: Describe): Describe =>
      async (jobs) => {
        const described = await describe(jobs)
        const cancelled = described.filter(hasWithdrawn)
        if (cancelled.length === 0) return described
        const all = await work.ofKind(KIND)
        const found = new Map(
          await Promise.all(cancelled.map(async (job) => [job.id, await sinceOf(job, all)] as const)),
        )
        const named = new Set([...found.values()].flatMap(({ by }) => [...by.values()]))
        const known = new Set(described.map(({ id }) => id))
        const others = await describe(all.filter(({ id }) => named.has(id) && !known.has(id)))
        const done = new Set([...described, ...others].filter(areAllDelivered).map(({ id }) => id))
        return described.map((job) => {
          const since = found.get(job.id)
          const later = laterActions(since, done)
          const known = withErased(job, since)
          return later.length > 0 ? { ...known, later } : known
        })
      },
  }
}

/** The replays to the same group that began after a cancellation. */
function laterOf(job: LongJob, all: readonly LongJob[]): LongJob[] {
  const { at = job.endedAt ?? job.startedAt } = job.cancelled ?? {}
  return laterThan(job, at - 1, all).slice(0, MOST_LATER)
}

function hasWithdrawn({ state, result }: LongJob): boolean {
  return state === 'cancelled' && Number(Object(result).withdrawn ?? 0) > 0
}

/** Whether a replay has an event, by its id. A cancelled one has those that it did not withdraw. */
async function selectorOf(
  { topics }: Pick<Store, 'topics'>,
  work: Pick<LongWork, 'dataOf'>,
  job: LongJob,
  withdrawnOf: (job: LongJob) => Promise<readonly string[]>,
): Promise<(id: string) => boolean> {
  const data = await work.dataOf(job.id)
  const isSelected = selectedBy([eventsOf(job, data)])
  if (job.state === 'running' || job.state === 'done') return isSelected
  const reached = reachedIn(data)
  const withdrawn = new Set(await withdrawnOf(job))
  const isReached = (id: string) => {
    const { partition, position } = topics.placeOf(String(job.target.topic), id) ?? {}
    return position !== undefined && position <= (reached[partition ?? 0] ?? 0)
  }
  return (id) => isSelected(id) && isReached(id) && !withdrawn.has(id)
}

/** Whether a replay has delivered all its events, or its group has read them. */
function areAllDelivered({ state, outcomes }: LongJob): boolean {
  const { dead = 0, interrupted = 0, leased = 0, read, delivered } = outcomes ?? {}
  const isKnown = read !== undefined || delivered !== undefined
  return state !== 'running' && isKnown && !isInProgress(outcomes) && dead + interrupted + leased === 0
}

/** Adds to the result of a job how many of its withdrawn events were erased since. */
function withErased(job: LongJob, { erased }: Partial<ReplayedSince> = {}): LongJob {
  const { result = null } = job
  return erased !== undefined && isJsonObject(result) ? { ...job, result: { ...result, erased } } : job
}

function laterActions(since: ReplayedSince | undefined, done: ReadonlySet<string>): LaterActions[] {
  const groups = Map.groupBy(since?.by.values() ?? [], (job) => job)
  return [...groups].map(([job, events]) => ({
    do: 'replay',
    job,
    count: events.length,
    ...(done.has(job) && { delivered: true }),
  }))
}
