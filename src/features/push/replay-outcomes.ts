import { z } from 'zod'
import type { JobWait, LongJob, ReplayOutcomes } from '../../core/long-job.ts'
import type { Store } from '../../core/store.ts'
import type { SubscriptionInfo } from '../../core/subscription-info.ts'
import { defined } from '../../lib/defined.ts'
import { lastReasonOf } from './listing.ts'
import { createRecords, MAX_REPLAYS, queueOf, type Report } from './records.ts'

/** What the result of a cancelled replay says. */
const withdrawnSchema = z.object({ withdrawn: z.number(), interrupted: z.number().exactOptional() })

/** The deliveries (ms) that the present speed of a replay is taken from. */
const SPEED_TIME = 60_000
/** How long (ms) the counts of a push may lag behind its deliveries. */
const COUNTING_TIME = 10_000
/** Up to this number of jobs, those of replays are all counted. */
const EXACTLY_COUNTED = 1_000

/**
 * Adds to replays the outcomes of their events so far, how fast they are delivered, and what they wait
 * for. Events of other replays, and new ones, do not count. A replay that is older than the kept ones
 * has no outcomes.
 */
export async function withReplayOutcomes(
  store: Pick<Store, 'kv' | 'jobs'>,
  subscriptions: readonly SubscriptionInfo[],
  jobs: readonly LongJob[],
  now: number,
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
    const isMoving = now - Math.max(replay.lastAt ?? 0, job.endedAt ?? now) < COUNTING_TIME
    const outcomes = outcomesOf(job, push, { ...replayCounts(job, report, letters), isMoving })
    if (outcomes.waiting > 0) {
      const waitsFor = waitsOf(job, push, report)
      return { ...job, outcomes, waitsFor, ...(waitsFor.length === 0 && paceOf(job, push, report, now)) }
    }
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
  { state, result }: LongJob,
  push: SubscriptionInfo,
  { events, delivered, dead, isMoving }: ReturnType<typeof replayCounts> & { isMoving: boolean },
): ReplayOutcomes {
  const { withdrawn, interrupted } = withdrawnSchema.safeParse(result).data ?? {}
  if (withdrawn !== undefined)
    return { delivered, waiting: 0, dead, withdrawn, ...(interrupted && { interrupted }) }
  const left = Math.max(0, events - dead - delivered)
  // What is being sent, or was sent just now, is in no other count.
  const isCounting = isMoving && push.waiting > 0 && state !== 'running'
  const waiting = isCounting ? left : Math.min(mostWaiting(push, isMoving), left)
  const removed = isMoving ? 0 : left - waiting
  return { delivered, waiting, dead, ...(removed > 0 && { removed }) }
}

/** How many events of replays may wait. Others were erased, skipped, or taken out of the queue. */
function mostWaiting({ waiting, replayed = 0, queued, more }: SubscriptionInfo, isMoving: boolean): number {
  const isCounted = !isMoving && !more && queued <= EXACTLY_COUNTED
  return isCounted ? Math.min(waiting, replayed) : waiting
}

/** How fast a replay is delivered: at most at the rate of its push, which is assumed at first. */
function paceOf(job: LongJob, { rate }: SubscriptionInfo, report: Report, now: number) {
  const measured = speedOf(job, report, now)
  const most = rate && (rate.count * 1_000) / rate.per
  const speed = most === undefined ? measured : Math.min(measured ?? most, most)
  return defined({ speed, rate: most })
}

/** The rate (1/s) of the last deliveries of a replay. */
function speedOf({ startedAt }: LongJob, { attempts }: Report, now: number): number | undefined {
  const times = attempts
    .filter(({ since, reason }) => since === startedAt && reason === undefined)
    .map(({ at }) => Number(at))
    .filter((at) => at > now - SPEED_TIME)
  const ms = Math.max(...times) - Math.min(...times)
  return times.length > 1 && ms > 0 ? ((times.length - 1) * 1_000) / ms : undefined
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
