import { TriviumError } from '../core/errors.ts'
import type { ServiceOf } from '../core/operation.ts'
import type { Store } from '../core/store.ts'
import { groupOf } from './event-access.ts'
import type { events } from './operations/events.ts'
import type { ReplayEvents } from './replay-events.ts'

/** Operations that change which events a group still has to read. */
export function createGroupMoves(topics: Store['topics'], replay: ReplayEvents) {
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
    async seek({ topic, queue, to, dryRun }, call) {
      groupOf({ topic, queue }, call)
      if (dryRun) {
        const { redelivered, unread } = await replay.count({ topic, group: queue, range: {} })
        const isStart = to === 'start'
        return { dryRun, redelivered: isStart ? redelivered : 0, skipped: isStart ? 0 : unread, unread }
      }
      if (!(await topics.seek(topic, queue, to)))
        throw new TriviumError('group_not_found', { group: queue, topic })
      return { ok: true }
    },
    async replay({ topic, queue, dryRun, ...range }, call) {
      groupOf({ topic, queue }, call)
      if (!dryRun) return { job: await replay.begin({ topic, group: queue, range }, call) }
      return { ...(await replay.count({ topic, group: queue, range })), dryRun }
    },
  } satisfies Pick<ServiceOf<typeof events>, 'ack' | 'extend' | 'seek' | 'replay'>
}

/** Whether a topic has a group. */
export async function hasGroup(topics: Store['topics'], topic: string, group: string): Promise<boolean> {
  const [batch] = await topics.read(topic, [{ group, max: 1, mode: 'peek' }])
  return batch !== undefined
}
