import { MESSAGE_TOPIC } from '../../core/event.ts'
import { idParts } from '../../core/message-id.ts'
import type { Topics } from '../../core/store.ts'
import { storable } from '../shared/values.ts'
import { inBatches } from './batches.ts'
import type { Args, Server } from './scripts.ts'

/** Settles events that a group has read: done, returned after a delay, or hidden for longer. */
export function createTopicSettle({
  run,
  roots,
  places,
}: Pick<Server, 'run' | 'roots' | 'places'>): Pick<Topics, 'ack' | 'nack' | 'extend' | 'restore'> {
  /** Acknowledges events, or returns them if `args` has the topic and a delay. Returns the number of known ones. */
  async function settle(topic: string, group: string, ids: ReadonlySet<string>, ...args: Args) {
    const partsOf = topic === MESSAGE_TOPIC ? places.partsOf : idParts
    const known = [...ids]
      .sort()
      .map((id) => [partsOf(id)?.join(' ') ?? ''])
      .filter(([parts]) => parts !== '')
    const counts = await inBatches(known, async (batch) => [
      await run<number>('topic-settle', roots.topic(topic), group, ...args, ...batch.flat()),
    ])
    return counts.reduce((sum, count) => sum + count, 0)
  }

  return {
    ack: (topic, group, ids, areRead) => settle(topic, group, new Set(ids), '', 0, areRead ? 'read' : ''),
    nack: (topic, group, ids, delay) => settle(topic, group, new Set(ids), topic, storable(delay), ''),
    extend: (topic, group, ids, lease) =>
      settle(topic, group, new Set(ids), topic, storable(lease), 'extend'),
    restore: async (topic, group, id) =>
      (await settle(topic, group, new Set([id]), topic, 0, 'restore')) === 1,
  }
}
