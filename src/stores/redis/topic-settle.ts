import { MESSAGE_TOPIC } from '../../core/event.ts'
import { idParts } from '../../core/message-id.ts'
import type { AckOptions, Topics } from '../../core/store.ts'
import { storable } from '../shared/values.ts'
import { inBatches } from './batches.ts'
import type { Server } from './scripts.ts'

/** What to do with the events. Times in ms. */
type Action =
  | ({ what: 'consume' } & AckOptions)
  | { what: 'return'; delay: number }
  | { what: 'extend'; lease: number }
  | { what: 'restore' | 'withdraw'; round: number }

/** Settles events that a group has read: done, returned after a delay, or hidden for longer. */
export function createTopicSettle({
  run,
  roots,
  places,
}: Pick<Server, 'run' | 'roots' | 'places'>): Pick<
  Topics,
  'ack' | 'nack' | 'extend' | 'restore' | 'withdraw'
> {
  /** Returns the number of events to which the action applied. */
  async function settle(topic: string, group: string, ids: readonly string[], action: Action) {
    const partsOf = topic === MESSAGE_TOPIC ? places.partsOf : idParts
    const args = argsOf(topic, action)
    const events = [...new Set(ids)].sort().flatMap((id) => {
      const parts = partsOf(id)
      return parts ? [[parts.join(' ')]] : []
    })
    const counts = await inBatches(events, async (batch) => [
      await run<number>('topic-settle', roots.topic(topic), group, ...args, ...batch.flat()),
    ])
    return counts.reduce((sum, count) => sum + count, 0)
  }

  return {
    ack: (topic, group, ids, as) => settle(topic, group, ids, { what: 'consume', ...as }),
    nack: (topic, group, ids, delay) => settle(topic, group, ids, { what: 'return', delay }),
    extend: (topic, group, ids, lease) => settle(topic, group, ids, { what: 'extend', lease }),
    restore: async (topic, group, id, round) =>
      (await settle(topic, group, [id], { what: 'restore', round })) === 1,
    withdraw: (topic, group, ids, round) => settle(topic, group, ids, { what: 'withdraw', round }),
  }
}

/**
 * The arguments of `lua/topic-settle.lua` for an action: the topic (empty to consume), a delay, a
 * mode, and a round.
 */
function argsOf(
  topic: string,
  action: Action,
): [topic: string, delay: number, mode: string, round: number | ''] {
  if (action.what === 'consume') return ['', 0, action.areRead ? 'read' : '', action.round ?? '']
  if (action.what === 'return') return [topic, storable(action.delay), '', '']
  if (action.what === 'extend') return [topic, storable(action.lease), 'extend', '']
  return [action.what === 'withdraw' ? '' : topic, 0, action.what, action.round]
}
