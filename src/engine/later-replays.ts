import { type Json, textAt } from '../core/json.ts'
import type { LongJob } from '../core/long-job.ts'
import { defined } from '../lib/defined.ts'
import type { LongWork } from './long-work.ts'
import { KIND, selectedIn } from './replay-work.ts'

/** The events of a later replay: a range, or only the `ids` in it. */
export type LaterEvents = { since?: number; until: number; from?: string; to?: string; ids?: string[] }

/** Finds the events of later replays to the same group, except cancelled and failed replays. */
export function createLaterEvents(work: Pick<LongWork, 'ofKind' | 'dataOf'>) {
  return async ({ target: { topic, group }, startedAt }: LongJob): Promise<LaterEvents[]> => {
    const others = (await work.ofKind(KIND)).filter(
      ({ target, state, ...other }) =>
        target.topic === topic &&
        target.group === group &&
        other.startedAt > startedAt &&
        (state === 'running' || state === 'done'),
    )
    return Promise.all(
      others.map(async ({ id, target, startedAt: end }) => {
        const until = Math.min(timeAt(target.until) ?? end + 1, end + 1)
        const [from, to] = [textAt(target, 'from'), textAt(target, 'to')]
        const ids = target.withdrawn === undefined ? undefined : selectedIn(await work.dataOf(id))
        return { ...defined({ since: timeAt(target.since), from, to, ids }), until }
      }),
    )
  }
}

function timeAt(iso: Json | undefined): number | undefined {
  return typeof iso === 'string' ? Date.parse(iso) : undefined
}
