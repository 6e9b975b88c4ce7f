import { z } from 'zod'
import { type Event, MESSAGE_TOPIC } from '../../core/event.ts'
import { pathGet } from '../../core/json.ts'
import type { Store } from '../../core/store.ts'
import { createEventFilter } from '../../engine/event-filter.ts'
import { defined } from '../../lib/defined.ts'
import { queueOf } from './records.ts'
import type { PushSubscription } from './schema.ts'

/** Number of dead letters of a push in which that of an event is looked for. */
const MAX_LETTERS = 1_000

const attemptSchema = z.object({
  at: z.number().exactOptional(),
  reason: z.string().exactOptional(),
  nextAt: z.number().exactOptional(),
  isDead: z.boolean().exactOptional(),
})

type Attempt = z.infer<typeof attemptSchema>

/**
 * What became of an event: `removed`: its dead letter was dropped, or is retried. `unread`: the push
 * has not read it yet. `excluded`: by the filter. `read`: no attempt at it is kept. `unknown`: the
 * event is not kept either. `mayHaveFailed`: failed attempts at it are not kept in a history.
 */
export type EventState =
  | { state: 'delivered'; at?: number }
  | { state: 'dead'; deadLetter: string }
  | { state: 'retrying'; nextAt?: number }
  | { state: 'read'; mayHaveFailed: boolean }
  | { state: 'removed' | 'unread' | 'excluded' | 'unknown' }

/** The state of the event `id` in a push. `attempts`: those at it, newest first. */
export async function eventStateOf(
  store: Store,
  subscription: PushSubscription,
  { id, attempts, retained }: { id: string; attempts: readonly object[]; retained?: Event | undefined },
): Promise<EventState> {
  const newest = attemptSchema.safeParse(attempts[0]).data
  const letter = await letterOf(store, subscription.name, id)
  if (letter) return { state: 'dead', deadLetter: letter.id }
  if (newest) return stateAfter(newest)
  if (!retained) return { state: 'unknown' }
  const { match, topic } = subscription
  if (await isUnread(store, subscription, id)) return { state: 'unread' }
  if (match && !(await createEventFilter(match, store.journal)(retained))) return { state: 'excluded' }
  return { state: 'read', mayHaveFailed: topic !== MESSAGE_TOPIC }
}

function stateAfter({ reason, isDead, nextAt, at }: Attempt): EventState {
  if (reason === undefined) return { state: 'delivered', ...defined({ at }) }
  return isDead ? { state: 'removed' } : { state: 'retrying', ...defined({ nextAt }) }
}

/** The newest dead letter of an event. The ids of letters have the round of the event too. */
async function letterOf({ jobs }: Store, name: string, id: string) {
  const filter = { queue: queueOf(name), limit: MAX_LETTERS, isPartial: true }
  const { items } = await jobs.deadLetters.list(filter)
  return items.find(({ data }) => pathGet(data ?? null, 'event.id') === id)
}

/** Derived from the number of events that the group is behind. */
async function isUnread({ topics }: Store, { name, topic }: PushSubscription, id: string): Promise<boolean> {
  const { partition = 0, position = 0 } = topics.placeOf(topic, id) ?? {}
  const behind = (await topics.end(topic, partition)) - position
  const groups = await topics.groups(topic, partition)
  return Number(groups.find(({ group }) => group === name)?.lag ?? 0) > behind
}
