import { type Call, callerLabel } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import type { RouteMatch } from '../core/match.ts'
import { timeOf } from '../core/message-id.ts'
import type { ServiceOf } from '../core/operation.ts'
import type { Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { groupOf } from './event-access.ts'
import type { GroupActivity } from './group-activity.ts'
import type { GroupSettings } from './group-settings.ts'
import type { events } from './operations/events.ts'
import { partitionsOf } from './partitions.ts'
import type { ReplayEvents } from './replay-events.ts'
import { positionsIn } from './topic-boundary.ts'

type ArgumentsOf<Name extends 'seek' | 'replay'> = Parameters<ServiceOf<typeof events>[Name]>[0]
/** The filter of the push subscription that a group belongs to, if any. */
type OfPush = { match?: RouteMatch | undefined }

/** Operations that change which events a group still has to read. */
export function createGroupMoves(
  topics: Store['topics'],
  replay: ReplayEvents,
  settings: { of(topic: string, group: string): Promise<GroupSettings> },
  activity: Pick<GroupActivity, 'acked'>,
) {
  const filterOf = async (topic: string, group: string, { match }: OfPush) =>
    match ?? (await settings.of(topic, group)).match
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
    async seek({ topic, queue, to, until, dryRun, ...push }: ArgumentsOf<'seek'> & OfPush, call: Call) {
      groupOf({ topic, queue }, call)
      if (to === 'start' && until !== undefined)
        throw new TriviumError('bad_request', { reason: '`until` needs `to: now`' })
      if (dryRun) {
        const match = await filterOf(topic, queue, push)
        const counts = await replay.count({ topic, group: queue, match, range: { until } })
        const { redelivered, unread, more, lastAt } = counts
        const isStart = to === 'start'
        const moved = { redelivered: isStart ? redelivered : 0, skipped: isStart ? 0 : unread }
        const times = moved.skipped > 0 ? { firstAt: await nextAt(topics, topic, queue), lastAt } : {}
        return { dryRun, ...moved, unread, ...defined({ ...times, more }) }
      }
      const isMoved =
        until === undefined
          ? await topics.seek(topic, queue, to)
          : await skipUntil(topics, topic, queue, until)
      if (!isMoved) throw new TriviumError('group_not_found', { group: queue, topic })
      return { ok: true }
    },
    async replay({ topic, queue, dryRun, match, ...range }: ArgumentsOf<'replay'> & OfPush, call: Call) {
      groupOf({ topic, queue }, call)
      const target = { topic, group: queue, match: await filterOf(topic, queue, { match }), range }
      if (!dryRun) return { job: await replay.begin(target, call) }
      return { ...(await replay.count(target)), dryRun }
    },
  } satisfies Pick<ServiceOf<typeof events>, 'ack' | 'extend' | 'seek' | 'replay'>
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

/** When the event was published that a group reads next (Unix ms). */
async function nextAt(topics: Store['topics'], topic: string, group: string) {
  const [batch] = await topics.read(topic, [{ group, max: 1, mode: 'peek' }])
  const id = batch?.items[0]?.id
  return id === undefined ? undefined : timeOf(id)
}

/** Whether a topic has a group. */
export async function hasGroup(topics: Store['topics'], topic: string, group: string): Promise<boolean> {
  const [batch] = await topics.read(topic, [{ group, max: 1, mode: 'peek' }])
  return batch !== undefined
}
