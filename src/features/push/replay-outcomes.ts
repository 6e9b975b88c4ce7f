import { z } from 'zod'
import type { JobWait, LongJob, ReplayOutcomes } from '../../core/long-job.ts'
import type { Store } from '../../core/store.ts'
import type { SubscriptionInfo } from '../../core/subscription-info.ts'
import { defined } from '../../lib/defined.ts'
import { lastReasonOf } from './listing.ts'
import { createRecords, MAX_REPLAYS, queueOf, type Report } from './records.ts'

/** What the result of a cancelled replay says. */
const withdrawnSchema = z.object({ withdrawn: z.number(), interrupted: z.number().exactOptional() })

/**
 * Adds to replays the outcomes of their events so far, and what they wait for. Events of other
 * replays, and new ones, do not count. A replay that is older than the kept ones has no outcomes.
 */
export async function withReplayOutcomes(
  store: Pick<Store, 'kv' | 'jobs'>,
  subscriptions: readonly SubscriptionInfo[],
  jobs: readonly LongJob[],
): Promise<LongJob[]> {
  const hasDead = subscriptions.some(({ dead }) => dead > 0)
  const letters = hasDead ? await store.jobs.deadLetters.ids() : []
  const names = new Set(jobs.map(({ target }) => target.subscription))
  const reports = new Map<string, Report>()
  for (const { name } of subscriptions)
    if (names.has(name)) reports.set(name, await createRecords(store.kv, name).report())
  return jobs.map((job) => {
    const push = subscriptions.find(({ name }) => name === job.target.subscription)
    const report = push && reports.get(push.name)
    const replay = report && replayOf(report, job)
    if (!push || !replay) return job
    const outcomes = outcomesOf(job, push, replayCounts(job, report, letters))
    if (outcomes.waiting > 0) return { ...job, outcomes, waitsFor: waitsOf(job, push, report) }
    const isEnded = job.state === 'done' || job.state === 'cancelled'
    const isSettled = isEnded && !job.withdrawing && outcomes.delivered > 0
    return { ...job, outcomes, ...(isSettled && defined({ settledAt: replay.lastAt })) }
  })
}

/**
 * The deliveries of a replay. A replay of which nothing was tried is not in the report, and neither
 * is one that newer ones have replaced: undefined then, and if it queued nothing.
 */
function replayOf({ replays }: Report, job: LongJob): Report['replays'][number] | undefined {
  const known = replays.find(({ round }) => round === job.startedAt)
  const isReplaced = replays.length >= MAX_REPLAYS && replays.every(({ round }) => round > job.startedAt)
  if (known || isReplaced || replayedBy(job) === 0) return known
  return { round: job.startedAt, delivered: 0 }
}

/** The number of events that a job has handed to the push. */
function replayedBy({ result, done }: LongJob): number {
  return Number(Object(result).events ?? done)
}

/** How many of the events of a replay were handed to the push, accepted, and dead. */
export function replayCounts(job: LongJob, report: Report, letters: readonly string[]) {
  const events = replayedBy(job)
  const dead = letters.filter((id) => isOf(job, id)).length
  // An event may have been accepted twice.
  const accepted = Math.min(replayOf(report, job)?.delivered ?? 0, Math.max(0, events - dead))
  return { events, delivered: accepted, dead }
}

function outcomesOf(
  { result }: LongJob,
  push: SubscriptionInfo,
  { events, delivered, dead }: ReturnType<typeof replayCounts>,
): ReplayOutcomes {
  const { withdrawn, interrupted } = withdrawnSchema.safeParse(result).data ?? {}
  if (withdrawn !== undefined)
    return { delivered, waiting: 0, dead, withdrawn, ...(interrupted && { interrupted }) }
  // Others may have been removed from the queue.
  const waiting = Math.min(push.waiting, Math.max(0, events - dead - delivered))
  return { delivered, waiting, dead }
}

/** Whether a job of the queue, or a dead letter, is an event of a replay. */
function isOf({ target, startedAt }: LongJob, id: string): boolean {
  return id.startsWith(`${queueOf(String(target.subscription))}/`) && id.endsWith(`.${startedAt}`)
}

/** The pause of a push, or its failing receiver; none while it delivers. */
function waitsOf(job: LongJob, push: SubscriptionInfo, { attempts }: Report): JobWait[] {
  const { name, state, paused, detail: error, failingSince, nextAt } = push
  if (paused) return [{ kind: 'subscription', name, ...paused }]
  if (state === 'disabled') return [{ kind: 'receiver', name, ...defined({ error }) }]
  const own = attempts.filter(({ since, reason }) => since === job.startedAt && reason !== undefined)
  const isFailing = failingSince !== undefined || (own.length > 0 && nextAt !== undefined)
  if (!isFailing) return []
  const reason = lastReasonOf(own.length > 0 ? own : attempts)
  return [{ kind: 'receiver', name, error: reason, ...defined({ since: failingSince, nextAt }) }]
}
