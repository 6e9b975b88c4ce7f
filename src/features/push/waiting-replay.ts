import type { Store } from '../../core/store.ts'
import { deliveryId } from '../../engine/event-rounds.ts'
import { unreadSince } from './not-sent.ts'
import { queueOf } from './records.ts'
import type { PushSubscription } from './schema.ts'

/** Maximum number of replays whose jobs are looked up. */
const MOST_REPLAYS = 5

/** `after`: when the newest attempt at the event began to wait: its publication, or its replay (Unix ms). */
type Asked = { id: string; after: number; replays: () => Promise<readonly { startedAt: number }[]> }

/**
 * The start (Unix ms) of the replay that will send a previously tried event again. The event waits
 * in the topic, or as a job. Undefined if there is no such replay.
 */
export async function waitingReplayOf(
  store: Pick<Store, 'topics' | 'jobs'>,
  { name, topic }: Pick<PushSubscription, 'name' | 'topic'>,
  { id, after, replays }: Asked,
): Promise<number | undefined> {
  const since = (await unreadSince(store, { name, topic }, id)) ?? 0
  if (since > after) return since
  const later = (await replays()).map(({ startedAt }) => startedAt).filter((startedAt) => startedAt > after)
  const newest = later.toSorted((a, b) => b - a).slice(0, MOST_REPLAYS)
  const queue = queueOf(name)
  const waiting = await Promise.all(
    newest.map((startedAt) => store.jobs.unfinished(queue, deliveryId(`${queue}/${id}`, startedAt))),
  )
  return newest.find((_, at) => waiting[at] !== undefined)
}
