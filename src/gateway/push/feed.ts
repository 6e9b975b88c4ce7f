import { type Event, MESSAGE_TOPIC } from '../../core/event.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import type { PushSubscription } from '../../core/push.ts'
import type { Store } from '../../core/store.ts'
import { compileMatch, type Matched } from '../router.ts'
import { withGap } from '../subscriptions.ts'

/** The jobs of a subscription. */
export const queueOf = (name: string) => `push/${name}`

/** The consumer group of a subscription. One daemon reads it at a time, so it peeks: nothing is hidden that a crash would keep back. */
export function createFeed(
  { name, topic, match }: PushSubscription,
  { topics, journal }: Pick<Store, 'topics' | 'journal'>,
  now: () => number,
) {
  const conditions = match && compileMatch(match)
  return {
    /** Its first events, with those that were read before and are not acknowledged. */
    async peek(max: number): Promise<Event[]> {
      const [batch] = await topics.read(topic, [{ group: name, max, mode: 'peek' }])
      return batch ? withGap(topic, batch, now(), 'peek') : []
    },
    /** Whether the subscription wants an event. */
    async wants(event: Event): Promise<boolean> {
      if (!conditions || event.type === 'gap') return true
      const message = topic === MESSAGE_TOPIC ? await journal.get(event.id) : asMessage(event)
      return message !== undefined && conditions.every(({ test }) => test(message))
    },
    ack: (ids: readonly string[]) => topics.ack(topic, name, ids),
    /** A group that nobody reads from is removed after days. */
    keep: () => topics.subscribe(topic, name, 'now'),
  }
}

/** An event of any topic as the keys of `match` read it: `event` is its type, `gateway` who published it. */
function asMessage({ topic, type, source, data }: Event): Matched {
  const fields: JsonObject = isJsonObject(data) ? data : {}
  const text = String(fields.text ?? fields.body ?? '')
  return { gateway: source, transport: topic, from: { id: source }, text, data: { ...fields, event: type } }
}
