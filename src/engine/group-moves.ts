import { authorOf } from '../core/author.ts'
import { type Call, callerLabel } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import type { RouteMatch } from '../core/match.ts'
import type { ServiceOf } from '../core/operation.ts'
import type { Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { groupOf } from './event-access.ts'
import type { GroupActivity } from './group-activity.ts'
import type { GroupSettings } from './group-settings.ts'
import type { GroupSkips } from './group-skips.ts'
import type { events } from './operations/events.ts'
import { partitionsOf } from './partitions.ts'
import type { ReplayEvents } from './replay-events.ts'
import { positionsIn } from './topic-boundary.ts'
import { countUnread, type UnreadStore } from './unread-events.ts'

type ArgumentsOf<Name extends 'seek' | 'skip' | 'replay'> = Parameters<ServiceOf<typeof events>[Name]>[0]
/** Maximum time (ms) of a count of events to skip. */
const COUNT_TIME = 1_000

/** The filter of the push subscription that a group belongs to, if any. */
type OfPush = { match?: RouteMatch | undefined }

/** Operations that change which events a group still has to read. */
export function createGroupMoves(deps: {
  store: UnreadStore
  replay: ReplayEvents
  settings: { of(topic: string, group: string): Promise<GroupSettings> }
  activity: Pick<GroupActivity, 'acked'>
  skips: Pick<GroupSkips, 'note' | 'forget'>
  now(): number
}) {
  const { store, replay, settings, activity } = deps
  const { topics } = store
  const filterOf = async (topic: string, group: string, { match }: OfPush) =>
    match ?? (await settings.of(topic, group)).match
  const skip = createSkip({ ...deps, filterOf })
  return {
    async ack({ topic, queue, ids, nack, delay }, call) {
      groupOf({ topic, queue }, call)
      const count = nack ? await topics.nack(topic, queue, ids, delay) : await topics.ack(topic, queue, ids)
      if (count === 0 && !(await hasGroup(topics, topic, queue))) {
        throw new TriviumError('group_not_found', { group: queue, topic })
      }
      if (!nack && count > 0) activity.acked(topic, queue, callerLabel(call), { count, ids })
      return { count }
    },
    async extend({ topic, queue, ids, lease }, call) {
      groupOf({ topic, queue }, call)
      const count = await topics.extend(topic, queue, ids, lease)
      if (count === 0 && !(await hasGroup(topics, topic, queue))) {
        throw new TriviumError('group_not_found', { group: queue, topic })
      }
      return { count }
    },
    async seek({ to, ...args }: ArgumentsOf<'seek'> & OfPush, call: Call) {
      if (to === 'now') return skip(args, call)
      const { topic, queue, until, dryRun, ...push } = args
      groupOf(args, call)
      if (until !== undefined) throw new TriviumError('bad_request', { reason: '`until` needs `to: now`' })
      if (dryRun) {
        const match = await filterOf(topic, queue, push)
        const counts = await replay.count({ topic, group: queue, match, range: {} })
        const { redelivered, unread, more } = counts
        return { dryRun, redelivered, skipped: 0, unread, ...defined({ more }) }
      }
      if (!(await topics.seek(topic, queue, to)))
        throw new TriviumError('group_not_found', { group: queue, topic })
      await deps.skips.forget(topic, queue)
      return { ok: true }
    },
    skip,
    replay: createReplayCall(replay, filterOf),
  } satisfies Pick<ServiceOf<typeof events>, 'ack' | 'extend' | 'seek' | 'skip' | 'replay'>
}

type FilterOf = (topic: string, group: string, push: OfPush) => Promise<RouteMatch | undefined>

/** `event-skip`. With the times of the first and the last skipped event (Unix ms), if they are known. */
function createSkip({
  store,
  skips,
  filterOf,
  now,
}: {
  store: UnreadStore
  skips: Pick<GroupSkips, 'note'>
  filterOf: FilterOf
  now(): number
}) {
  const { topics } = store
  return async ({ topic, queue, until, dryRun, ...push }: ArgumentsOf<'skip'> & OfPush, call: Call) => {
    groupOf({ topic, queue }, call)
    if (!(await hasGroup(topics, topic, queue)))
      throw new TriviumError('group_not_found', { group: queue, topic })
    const match = await filterOf(topic, queue, push)
    const { count: skipped, ...found } = await countSkipped(store, { topic, group: queue, match, until })
    if (dryRun) return { dryRun, redelivered: 0, skipped, unread: skipped, ...found }
    const isMoved =
      until === undefined
        ? await topics.seek(topic, queue, 'now')
        : await skipUntil(topics, topic, queue, until)
    if (!isMoved) throw new TriviumError('group_not_found', { group: queue, topic })
    if (skipped > 0) {
      const by = authorOf(call.caller)
      await skips.note(topic, queue, { at: now(), by, count: skipped, ...found, until })
    }
    return { ok: true, skipped, ...found }
  }
}

/** `event-replay`: all events of a range, or those withdrawn with a cancelled replay. */
function createReplayCall(replay: ReplayEvents, filterOf: FilterOf) {
  return async (
    { topic, queue, dryRun, match, withdrawn, ...given }: ArgumentsOf<'replay'> & OfPush,
    call: Call,
  ) => {
    groupOf({ topic, queue }, call)
    const of = { topic, group: queue }
    const only = withdrawn === undefined ? undefined : await replay.withdrawnBy(withdrawn, of)
    const range = { ...given, ...only?.range }
    const target = { ...of, match: await filterOf(topic, queue, { match }), range, only }
    if (!dryRun) return { job: await replay.beginAndWait(target, call) }
    return { ...(await replay.count(target)), dryRun }
  }
}

/** Skips the events of all partitions published before a time. Repeating it completes it. */
async function skipUntil(topics: Store['topics'], topic: string, group: string, until: number) {
  if (!(await hasGroup(topics, topic, group))) return false
  const skipped = partitionsOf(topics, topic).map(async (partition) => {
    const { last } = await positionsIn(topics, { topic, partition }, { until })
    return topics.skip(topic, group, { last, partition })
  })
  return (await Promise.all(skipped)).includes(true)
}

type Skip = { topic: string; group: string; match: RouteMatch | undefined; until: number | undefined }

/**
 * Counts what a skip takes from a group: unread events, and those that are leased, whose times are
 * not known.
 */
async function countSkipped(store: UnreadStore, { until, ...reader }: Skip) {
  const { topic, group } = reader
  const counted = await countUnread(store, { ...reader, until }, COUNT_TIME)
  const info = (await store.topics.groups(topic)).find((each) => each.group === group)
  const leased = until === undefined && info ? info.pending - info.again : 0
  return { ...counted, count: counted.count + leased }
}

/** Whether a topic has a group. */
export async function hasGroup(topics: Store['topics'], topic: string, group: string): Promise<boolean> {
  const [batch] = await topics.read(topic, [{ group, max: 1, mode: 'peek' }])
  return batch !== undefined
}
