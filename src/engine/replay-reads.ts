import { z } from 'zod'
import { textAt } from '../core/json.ts'
import type { JobWait, LongJob, ReplayReads } from '../core/long-job.ts'
import type { Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import type { LongWork } from './long-work.ts'
import { partitionsOf } from './partitions.ts'
import { KIND } from './replay-work.ts'

type Topics = Pick<Store['topics'], 'redelivered' | 'partitions'>
/** Who read a group last, and when (Unix ms), if nothing reads it now. */
export type NoReaderOf = (
  topic: string,
  group: string,
) => Promise<{ since?: number; by?: string } | undefined>
/** The waiting events of a group, by round. `more`: not all were counted. */
type Waiting = { rounds: ReadonlyMap<number, number>; more: boolean }

const resultSchema = z.object({
  events: z.number(),
  unread: z.number().default(0),
  withdrawn: z.number().exactOptional(),
})

/**
 * Adds the number of read events to replays to pulled groups, and that nobody reads, with one read of the store per group
 * and partition. A waiting event belongs to its latest replay, so the number is unknown for earlier
 * replays, and for a later one that took over unread events.
 */
export function createReplayReads(topics: Topics, work: Pick<LongWork, 'ofKind'>, noReaderOf: NoReaderOf) {
  return async (jobs: readonly LongJob[]): Promise<LongJob[]> => {
    const ended = jobs.filter(isToRead)
    if (ended.length === 0) return [...jobs]
    const all = await work.ofKind(KIND)
    const groups = new Map(ended.map((job) => [groupOf(job), waitingIn(topics, job)]))
    return Promise.all(
      jobs.map(async (job) => {
        const waiting = isToRead(job) ? await groups.get(groupOf(job)) : undefined
        if (!waiting) return job
        const isKnown = !waiting.more && !all.some((other) => mayTakeOver(other, job))
        const couldTakeOver = all.some((other) => mayTakeOver(job, other))
        const outcomes = readsOf(job, waiting, { isKnown, couldTakeOver })
        const waitsFor = outcomes && outcomes.waiting > 0 ? await readerOf(job, noReaderOf) : undefined
        return { ...job, ...defined({ outcomes, waitsFor }) }
      }),
    )
  }
}

/** Whether a job has ended, and redelivered events to a pulled group. */
function isToRead({ state, target, result }: LongJob): boolean {
  const { events = 0, unread = 0 } = resultSchema.safeParse(result).data ?? {}
  return state !== 'running' && target.subscription === undefined && events + unread > 0
}

async function readerOf({ target }: LongJob, noReaderOf: NoReaderOf): Promise<JobWait[] | undefined> {
  const [topic = '', group = ''] = [textAt(target, 'topic'), textAt(target, 'group')]
  const last = await noReaderOf(topic, group)
  return last && [{ kind: 'reader', name: group, ...last }]
}

function groupOf({ target }: LongJob): string {
  return JSON.stringify([target.topic, target.group])
}

async function waitingIn(topics: Topics, { target }: LongJob): Promise<Waiting | undefined> {
  const [topic = '', group = ''] = [textAt(target, 'topic'), textAt(target, 'group')]
  const parts = await Promise.all(
    partitionsOf(topics, topic).map((partition) => topics.redelivered(topic, group, partition)),
  )
  if (parts.includes(undefined)) return undefined
  const rounds = new Map<number, number>()
  for (const { round, count } of parts.flatMap((part) => part?.rounds ?? []))
    rounds.set(round, (rounds.get(round) ?? 0) + count)
  return { rounds, more: parts.some((part) => part?.more === true) }
}

/** Whether a later replay includes unread events of an earlier one. */
function mayTakeOver(later: LongJob, earlier: LongJob): boolean {
  const { unread = 0 } = resultSchema.safeParse(later.result).data ?? {}
  const isLater = groupOf(later) === groupOf(earlier) && later.startedAt > earlier.startedAt
  return isLater && (later.state === 'running' || unread > 0)
}

/**
 * Undefined if unknown. Events left after a withdrawal were leased, and may still be read. `isKnown`:
 * all waiting events of the replay are in its round, and were counted. `couldTakeOver`: its round may
 * include events that waited before.
 */
function readsOf(
  { startedAt, result }: LongJob,
  { rounds }: Waiting,
  { isKnown, couldTakeOver }: { isKnown: boolean; couldTakeOver: boolean },
): ReplayReads | undefined {
  const { events = 0, withdrawn } = resultSchema.safeParse(result).data ?? {}
  const left = rounds.get(startedAt) ?? 0
  const isAllRead = left === 0 && withdrawn === undefined
  const counts =
    withdrawn === undefined ? { waiting: left } : { waiting: 0, withdrawn, ...(left > 0 && { leased: left }) }
  if (isKnown && events > 0 && (isAllRead || !couldTakeOver))
    return { read: Math.max(0, events - left - (withdrawn ?? 0)), ...counts }
  return left + (withdrawn ?? 0) > 0 ? counts : undefined
}
