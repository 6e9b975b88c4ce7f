import type { LongJob } from '../../core/long-job.ts'
import { timeOf } from '../../core/message-id.ts'
import type { Store } from '../../core/store.ts'
import { deliveryId } from '../../engine/event-rounds.ts'
import { lastOf } from '../../engine/letter-groups.ts'
import type { ItemStates } from '../../engine/replay-items.ts'
import { defined } from '../../lib/defined.ts'
import { createRecords, queueOf, type Report } from './records.ts'

type Attempt = Report['attempts'][number]
type State = Awaited<ReturnType<ItemStates>>[number]

/** The present states of some events of a replay to a push. */
export function createItemStates(store: Pick<Store, 'kv' | 'jobs' | 'topics'>): ItemStates {
  const { jobs, topics } = store
  return async (job, { events, after, last, partition }, withdrawn) => {
    const name = String(job.target.subscription)
    const report = await createRecords(store.kv, name).report()
    const newest = newestAttempts(report, job)
    const queue = queueOf(name)
    const [topic, group] = [String(job.target.topic), String(job.target.group)]
    const read = { group, max: last - after, mode: 'peek', partition, after, withRounds: true } as const
    const [batch] = await topics.read(topic, [read])
    const unread = new Set(batch?.items.map(({ id }) => id))
    return Promise.all(
      events.map(async ({ event: { id } }) => {
        const attempt = newest.get(id)
        if (unread.has(id)) return { outcome: 'waiting', ...failureOf(attempt, report) }
        // Events that waited already when the replay came to them keep the job of their delivery.
        const delivery = deliveryId(`${queue}/${id}`, job.startedAt)
        const queued = await jobs.unfinished(queue, delivery)
        if (queued) return { ...queuedState(queued, attempt, report) }
        const letter = await jobs.deadLetters.get(delivery, queue)
        if (letter) return { outcome: 'dead', error: lastOf(letter).message }
        if (withdrawn.has(id)) return { outcome: 'withdrawn' }
        return endedState(attempt, job)
      }),
    )
  }
}

function newestAttempts({ attempts }: Report, { startedAt }: LongJob): Map<string, Attempt> {
  const newest = new Map<string, Attempt>()
  for (const attempt of attempts)
    if (attempt.since === startedAt && attempt.event !== undefined && !newest.has(attempt.event))
      newest.set(attempt.event, attempt)
  return newest
}

function failureOf(attempt: Attempt | undefined, { openUntil }: Report) {
  const { reason: error, nextAt } = attempt ?? {}
  const next = nextAt === undefined ? undefined : Math.max(nextAt, openUntil)
  return error === undefined ? {} : { error, ...defined({ nextAt: next }) }
}

function queuedState(
  queued: { state: string; error?: { message: string } | undefined },
  attempt: Attempt | undefined,
  report: Report,
): State {
  const failure = failureOf(attempt, report)
  const error = queued.error?.message
  const isFailing = error !== undefined || 'error' in failure
  return { outcome: isFailing ? 'retrying' : queued.state, ...defined({ error }), ...failure }
}

/** The state of an event that is neither waiting nor dead. Its attempt may no longer be kept. */
function endedState(attempt: Attempt | undefined, job: LongJob): State {
  if (attempt?.reason !== undefined && attempt.deliveredAt === undefined) {
    if (attempt.isDead) return { outcome: 'dropped', error: attempt.reason }
    return job.cancelled ? { outcome: 'interrupted', error: attempt.reason } : { outcome: 'delivered' }
  }
  const at = attempt?.deliveredAt ?? Number(attempt?.at ?? Number.NaN)
  return {
    outcome: 'delivered',
    ...(Number.isFinite(at) && at >= timeOf(attempt?.event ?? '') && { deliveredAt: at }),
  }
}
