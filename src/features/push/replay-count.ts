import { textAt } from '../../core/json.ts'
import type { LongJob } from '../../core/long-job.ts'
import { timeOf } from '../../core/message-id.ts'
import type { Store } from '../../core/store.ts'
import { type EventSelection, selectedBy } from '../../engine/event-range.ts'
import { partitionsOf } from '../../engine/partitions.ts'
import { eventOfDelivery } from '../../engine/queued-events.ts'
import type { ReplayCount, ReplayEvents, ReplayTarget } from '../../engine/replay-events.ts'
import { defined } from '../../lib/defined.ts'
import { queueOf } from './records.ts'

type Target = Omit<ReplayTarget, 'subscription'>

/**
 * Counts a replay, with the selected events that are dead letters (`dead`), those that are older than
 * the push, and that no replay of the last week sent (`older`; absent if it is not known when the push
 * began), and the others that come again, which it has delivered (`delivered`; absent if not all of
 * them were counted).
 */
export async function countWithStates(
  store: Pick<Store, 'jobs' | 'topics'>,
  replay: Pick<ReplayEvents, 'count' | 'jobs'>,
  target: Target,
) {
  const count = await replay.count(target)
  const selection: EventSelection = { ...target.range, ids: target.only && [...target.only.ids] }
  const letters = (await store.jobs.deadLetters.ids()).flatMap(
    (id) => eventOfDelivery(id, `${queueOf(target.group)}/`) ?? [],
  )
  const dead = new Set(letters.filter(selectedBy([selection]))).size
  const states = { queued: 0, ...count, dead }
  if (count.more === true) return states
  const older = await countOlder(store, replay, target, count)
  return { ...states, ...defined({ older }), delivered: Math.max(0, count.redelivered - dead - (older ?? 0)) }
}

/** The events that were published before the push began, and that no replay sent. */
async function countOlder(
  { topics }: Pick<Store, 'topics'>,
  replay: Pick<ReplayEvents, 'count' | 'jobs'>,
  target: Target,
  { firstAt }: ReplayCount,
): Promise<number | undefined> {
  const { topic, group, range } = target
  const rounds = await Promise.all(
    partitionsOf(topics, topic).map((partition) => topics.roundOf(topic, group, partition)),
  )
  const began = Math.max(0, ...rounds.map((round = 0) => round))
  if (began === 0) return undefined
  const sent = (await replay.jobs()).filter((job) => job.target.subscription === group).map(beginOf)
  const until = Math.min(began, range.until ?? began, ...sent)
  if (firstAt === undefined || firstAt >= until) return 0
  return (await replay.count({ ...target, range: { ...range, until } })).redelivered
}

/** When the first event of a replay was published, at the earliest (Unix ms). */
function beginOf({ target }: LongJob): number {
  const [since, from] = [textAt(target, 'since'), textAt(target, 'from')]
  return Math.max(since === undefined ? 0 : Date.parse(since), from === undefined ? 0 : timeOf(from))
}
