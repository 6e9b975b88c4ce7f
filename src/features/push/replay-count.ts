import { textAt } from '../../core/json.ts'
import type { LongJob } from '../../core/long-job.ts'
import { timeOf } from '../../core/message-id.ts'
import type { Store } from '../../core/store.ts'
import { type EventSelection, selectedBy } from '../../engine/event-range.ts'
import { partitionsOf } from '../../engine/partitions.ts'
import { eventOfDelivery } from '../../engine/queued-events.ts'
import type { ReplayCount, ReplayEvents, ReplayTarget } from '../../engine/replay-events.ts'
import { createWithdrawnEvents, hasMore, withdrawalKey } from '../../engine/withdrawn-events.ts'
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
  store: Pick<Store, 'jobs' | 'topics' | 'kv'>,
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
  { topics, kv }: Pick<Store, 'topics' | 'kv'>,
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
  const own = (await replay.jobs()).filter((job) => job.target.subscription === group)
  const [cancelled, sent] = [own.filter(hasWithdrawn), own.filter((job) => !hasWithdrawn(job))]
  const end = Math.min(began, range.until ?? began, ...sent.map(beginOf))
  if (firstAt === undefined || firstAt >= end) return 0
  const withdrawn = await onlyWithdrawn(kv, target, cancelled, end)
  const until = Math.min(end, ...cancelled.map(beginOf))
  if (withdrawn === undefined || firstAt >= until) return withdrawn
  return withdrawn + (await replay.count({ ...target, range: { ...range, until } })).redelivered
}

function hasWithdrawn({ state, result }: LongJob): boolean {
  return state === 'cancelled' && Number(Object(result).withdrawn ?? 0) > 0
}

/**
 * Counts the selected events that were published before `end`, and that cancelled replays withdrew before
 * they sent them. Undefined if not all withdrawn events are known by id.
 */
async function onlyWithdrawn(
  kv: Store['kv'],
  { group, range, only }: Target,
  cancelled: readonly LongJob[],
  end: number,
): Promise<number | undefined> {
  const events = createWithdrawnEvents(kv, withdrawalKey({ subscription: group }))
  const found = await Promise.all(
    cancelled
      .filter((job) => beginOf(job) < end)
      .map(async (job) => ({ from: beginOf(job), of: await events.of(job.startedAt) })),
  )
  const replays = found.map(({ from, of }) => ({
    from,
    ids: of && !hasMore(of) ? new Set(of.ids) : undefined,
  }))
  if (replays.some(({ ids }) => ids === undefined)) return undefined
  const isSelected = selectedBy([{ ...range, ids: only && [...only.ids] }])
  const all = new Set(replays.flatMap(({ ids = [] }) => [...ids]))
  return [...all].filter(
    (id) =>
      timeOf(id) < end &&
      isSelected(id) &&
      replays.every(({ from, ids }) => timeOf(id) < from || ids?.has(id)),
  ).length
}

/** When the first event of a replay was published, at the earliest (Unix ms). */
function beginOf({ target }: LongJob): number {
  const [since, from] = [textAt(target, 'since'), textAt(target, 'from')]
  return Math.max(since === undefined ? 0 : Date.parse(since), from === undefined ? 0 : timeOf(from))
}
