import { type Json, textAt } from '../core/json.ts'
import type { LongJob } from '../core/long-job.ts'
import { defined } from '../lib/defined.ts'
import type { LongWork } from './long-work.ts'
import { KIND, selectedIn } from './replay-work.ts'

/** The events of a later replay: a range, or only the `ids` in it. */
export type LaterEvents = { since?: number; until: number; from?: string; to?: string; ids?: string[] }

/** Finds the events of later replays to the same group, except cancelled and failed replays. */
export function createLaterEvents(work: Pick<LongWork, 'ofKind' | 'dataOf'>) {
  return async (job: LongJob): Promise<LaterEvents[]> => {
    const others = laterThan(job, job.startedAt, await work.ofKind(KIND))
    return Promise.all(
      others
        .filter(({ state }) => state === 'running' || state === 'done')
        .map(async (other) => eventsOf(other, await dataOfOnly(work, other))),
    )
  }
}

/** The replays of a list that began later, to the same group. */
export function laterThan({ target }: LongJob, time: number, jobs: readonly LongJob[]): LongJob[] {
  return jobs.filter(
    (other) =>
      other.target.topic === target.topic && other.target.group === target.group && other.startedAt > time,
  )
}

/** The events that a replay selects. `data`: of its job, if it may select single events. */
export function eventsOf({ target, startedAt: end }: LongJob, data?: Json): LaterEvents {
  const until = Math.min(timeAt(target.until) ?? end + 1, end + 1)
  const [from, to] = [textAt(target, 'from'), textAt(target, 'to')]
  const ids = target.withdrawn === undefined ? undefined : selectedIn(data)
  return { ...defined({ since: timeAt(target.since), from, to, ids }), until }
}

async function dataOfOnly(work: Pick<LongWork, 'dataOf'>, { id, target }: LongJob) {
  return target.withdrawn === undefined ? undefined : work.dataOf(id)
}

function timeAt(iso: Json | undefined): number | undefined {
  return typeof iso === 'string' ? Date.parse(iso) : undefined
}
