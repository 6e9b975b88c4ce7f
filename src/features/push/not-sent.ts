import type { Store } from '../../core/store.ts'
import { waitingSince } from '../../engine/event-rounds.ts'
import { defined } from '../../lib/defined.ts'
import { isFailing } from './circuit.ts'
import { nextAttempt } from './listing.ts'
import { presentControl } from './pauses.ts'
import { createRecords } from './records.ts'
import type { PushSubscription } from './schema.ts'

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
 * Since when an event waits in the topic of a push (Unix ms): its publication, or a replay.
 * Undefined if the push has taken it. The position of the group is not enough: events before it may
 * be unread.
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
