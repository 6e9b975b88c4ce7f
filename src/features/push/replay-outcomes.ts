import type { LongJob, ReplayOutcomes } from '../../core/long-job.ts'
import type { Store } from '../../core/store.ts'
import type { SubscriptionInfo } from '../../core/subscription-info.ts'
import { createRecords, type Report } from './records.ts'

/**
 * Adds to replays the outcomes of their events so far. Events of other replays, and new ones, do
 * not count. Replays without an attempt so far have no outcomes.
 */
export async function withReplayOutcomes(
  store: Pick<Store, 'kv' | 'jobs'>,
  subscriptions: readonly SubscriptionInfo[],
  jobs: readonly LongJob[],
): Promise<LongJob[]> {
  const hasDead = subscriptions.some(({ dead }) => dead > 0)
  const letters = hasDead ? await store.jobs.deadLetters.ids() : []
  const reports = new Map<string, Report>()
  for (const { name } of subscriptions) reports.set(name, await createRecords(store.kv, name).report())
  return jobs.map((job) => {
    const name = String(job.target.subscription)
    const push = subscriptions.find((each) => each.name === name)
    const replay = reports.get(name)?.replays.find(({ round }) => round === job.startedAt)
    if (!push || !replay) return job
    const dead = letters.filter((id) => id.startsWith(`push/${name}/`) && id.endsWith(`.${replay.round}`))
    return { ...job, outcomes: outcomesOf(job, push, { ...replay, dead: dead.length }) }
  })
}

function outcomesOf(
  job: LongJob,
  push: SubscriptionInfo,
  { delivered, dead }: { delivered: number; dead: number },
): ReplayOutcomes {
  const replayed = Number(Object(job.result).events ?? job.done)
  // An event may have been accepted twice, and others may have been removed from the queue.
  const accepted = Math.min(delivered, Math.max(0, replayed - dead))
  const waiting = Math.min(push.waiting, Math.max(0, replayed - dead - accepted))
  return { delivered: accepted, waiting, dead }
}
