import type { Call } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import type { RouteMatch } from '../core/match.ts'
import type { ServiceOf } from '../core/operation.ts'
import type { Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { groupOf } from './event-access.ts'
import type { GroupSettings } from './group-settings.ts'
import type { events } from './operations/events.ts'
import type { ReplayEvents } from './replay-events.ts'

type ArgumentsOf<Name extends 'seek' | 'replay'> = Parameters<ServiceOf<typeof events>[Name]>[0]
/** The filter of the push subscription that a group belongs to, if any. */
type OfPush = { match?: RouteMatch | undefined }

/** Operations that change which events a group still has to read. */
export function createGroupMoves(
  topics: Store['topics'],
  replay: ReplayEvents,
  settings: { of(topic: string, group: string): Promise<GroupSettings> },
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
    async seek({ topic, queue, to, dryRun, ...push }: ArgumentsOf<'seek'> & OfPush, call: Call) {
      groupOf({ topic, queue }, call)
      if (dryRun) {
        const match = await filterOf(topic, queue, push)
        const counts = await replay.count({ topic, group: queue, match, range: {} })
        const { redelivered, unread, more } = counts
        const isStart = to === 'start'
        const moved = { redelivered: isStart ? redelivered : 0, skipped: isStart ? 0 : unread }
        return { dryRun, ...moved, unread, ...defined({ more }) }
      }
      if (!(await topics.seek(topic, queue, to)))
        throw new TriviumError('group_not_found', { group: queue, topic })
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

/** Whether a topic has a group. */
export async function hasGroup(topics: Store['topics'], topic: string, group: string): Promise<boolean> {
  const [batch] = await topics.read(topic, [{ group, max: 1, mode: 'peek' }])
  return batch !== undefined
}
