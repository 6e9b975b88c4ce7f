import type { Store } from '../../core/store.ts'
import { deliveryId, waitingSince } from '../../engine/event-rounds.ts'
import { defined } from '../../lib/defined.ts'
import { isFailing } from './circuit.ts'
import { nextAttempt } from './listing.ts'
import { presentControl } from './pauses.ts'
import { createRecords, queueOf } from './records.ts'
import type { PushSubscription } from './schema.ts'

/** Maximum number of replays whose jobs are looked up. */
export const MOST_REPLAYS = 5

/** Why a push sends nothing now, and when it tries again (Unix ms). `gone`: its receiver answered 410. */
export type Held = { held?: 'paused' | 'gone' | 'failing'; nextAt?: number }

/** Why a push sends nothing now; empty if it sends. */
export async function heldBy(store: Store, name: string, now: number): Promise<Held> {
  const records = createRecords(store.kv, name)
  const [stored, report] = await Promise.all([records.control(), records.report()])
  const control = presentControl(stored, now)
  if (control.stopped) return { held: control.stopped.why }
  if (!isFailing(report)) return {}
  return { held: 'failing', ...defined({ nextAt: await nextAttempt(store, name, control, report) }) }
}

/**
 * Since when an event waits in the topic of a push (Unix ms): its publication, or a replay. Undefined
 * if the push has taken it. The position of a group does not tell: events before it may be left.
 */
export async function unreadSince(
  { topics }: Pick<Store, 'topics'>,
  { name, topic }: Pick<PushSubscription, 'name' | 'topic'>,
  id: string,
): Promise<number | undefined> {
  const { partition = 0, position = 1 } = topics.placeOf(topic, id) ?? {}
  const after = position - 1
  const peek = { group: name, max: 1, mode: 'peek', partition, after, withRounds: true } as const
  const [batch] = await topics.read(topic, [peek])
  return batch?.items[0]?.id === id ? waitingSince(id, batch.rounds?.[0]) : undefined
}

/**
 * Whether an event waits as a job: its first one, one of `replays` that found it unread, or that of the
 * replay that began at `since`.
 */
export async function isQueued(
  { jobs }: Pick<Store, 'jobs'>,
  name: string,
  id: string,
  replays: readonly { startedAt: number }[],
  since = 0,
): Promise<boolean> {
  const queue = queueOf(name)
  const newest = replays.map(({ startedAt }) => startedAt).toSorted((a, b) => b - a)
  const rounds = [0, since, ...newest.slice(0, MOST_REPLAYS).map((startedAt) => -startedAt)]
  const found = await Promise.all(
    rounds.map((round) => jobs.unfinished(queue, deliveryId(`${queue}/${id}`, round))),
  )
  return found.some((job) => job !== undefined)
}
