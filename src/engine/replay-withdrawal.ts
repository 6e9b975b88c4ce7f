import { TriviumError } from '../core/errors.ts'
import type { JsonObject } from '../core/json.ts'
import type { LongJob } from '../core/long-job.ts'
import type { KeyValues, Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import type { EventRange } from './event-range.ts'
import type { LongWork } from './long-work.ts'
import type { ReplaysSince } from './replayed-since.ts'
import { chunksOf, createWithdrawnEvents, hasMore, withdrawalKey } from './withdrawn-events.ts'

/** Maximum number of events per read. */
const PAGE = 256

/**
 * Withdraws the unread events that a replay has redelivered to a group: all of a `round`, in a
 * partition up to `last`. Those that the group had to read anyway stay. Returns the number of
 * withdrawn events. `found` is called with the ids before they are withdrawn; after a crash, again.
 */
export async function withdrawUnread(
  topics: Store['topics'],
  { topic, group, round, last }: { topic: string; group: string; round: number; last: readonly number[] },
  signal: AbortSignal,
  found?: (ids: readonly string[]) => Promise<void>,
): Promise<number> {
  let withdrawn = 0
  for (let partition = 0; partition < topics.partitions(topic); partition++) {
    const end = last[partition] ?? Number.POSITIVE_INFINITY
    let after = 0
    while (after < end) {
      signal.throwIfAborted()
      const read = { group, max: PAGE, mode: 'peek', partition, after, withRounds: true } as const
      const [batch] = await topics.read(topic, [read])
      const newest = batch?.items.at(-1)
      if (!batch || !newest) break
      const ids = batch.items.flatMap(({ id }, at) => (Math.abs(batch.rounds?.[at] ?? 0) === round ? id : []))
      const again = batch.items.flatMap(({ id }, at) => (batch.rounds?.[at] === round ? id : []))
      if (again.length > 0) await found?.(again)
      if (ids.length > 0) withdrawn += await topics.withdraw(topic, group, ids, round)
      after = topics.placeOf(topic, newest.id)?.position ?? end
    }
  }
  return withdrawn
}

/** Withdraws the unread events of a replay to a pulled group, and remembers them. */
export async function withdrawFromGroup(
  { topics, kv }: Pick<Store, 'topics' | 'kv'>,
  { target }: LongJob,
  { round, last }: { round: number; last: readonly number[] },
  signal: AbortSignal,
): Promise<JsonObject> {
  const [topic, group] = [String(target.topic), String(target.group)]
  const events = createWithdrawnEvents(kv, withdrawalKey(target))
  const chunkOf = chunksOf(topics, topic)
  const found = (ids: readonly string[]) => events.add(round, ids, chunkOf)
  const withdrawn = await withdrawUnread(topics, { topic, group, round, last }, signal, found)
  const { from, to } = (await events.of(round)) ?? {}
  return { withdrawn, ...defined({ withdrawnFrom: from, withdrawnTo: to }) }
}

/** The events that a cancelled replay withdrew: its job, their ids, and the range from the first to the last. */
type OnlyWithdrawn = { job: string; ids: string[]; range: Pick<EventRange, 'from' | 'to'> }

export function createWithdrawnBy(
  kv: KeyValues,
  work: Pick<LongWork, 'service'>,
  since: Pick<ReplaysSince, 'of'>,
) {
  return async (id: string, of: { topic: string; group: string }): Promise<OnlyWithdrawn> => {
    const job = await work.service.show({ id })
    const { target, startedAt } = job
    const isOwn = target.topic === of.topic && target.group === of.group
    const known = isOwn && (await createWithdrawnEvents(kv, withdrawalKey(target)).of(startedAt))
    if (!known || known.ids.length === 0 || hasMore(known))
      throw new TriviumError('bad_request', {
        reason: `the events that job ${id} withdrew from ${of.group} are not known by id`,
      })
    const { left, by } = await since.of(job)
    const [from, to] = [left[0], left.at(-1)]
    if (from !== undefined) return { job: id, ids: [...left], range: { from, ...defined({ to }) } }
    const jobs = [...new Set(by.values())].join(' and ')
    throw new TriviumError('bad_request', {
      reason: `the events that job ${id} withdrew from ${of.group} were replayed since, by ${jobs}`,
    })
  }
}
