import { type Event, MESSAGE_TOPIC } from '../../core/event.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import type { PushSubscription } from '../../core/push.ts'
import type { NewJob, Store } from '../../core/store.ts'
import { compileMatch, type Matched } from '../route-match.ts'
import { withGap } from '../subscriptions.ts'
import type { Control } from './records.ts'
import { conversationOf } from './wire.ts'

/** The jobs of a subscription. */
export const queueOf = (name: string) => `push/${name}`

/**
 * Makes durable jobs of the events of a subscription's consumer group, each once, in lanes by conversation, and then
 * acknowledges them. Peeks: one daemon reads at a time, and what a crash repeats is known by its id.
 */
export function createFeed(
  { name, topic, match }: PushSubscription,
  store: Pick<Store, 'topics' | 'jobs' | 'journal'>,
  now: () => number,
) {
  const conditions = match && compileMatch(match)
  const queue = queueOf(name)

  const wants = async (event: Event): Promise<boolean> => {
    if (!conditions || event.type === 'gap') return true
    const message = topic === MESSAGE_TOPIC ? await store.journal.get(event.id) : asMessage(event)
    return message !== undefined && conditions.every(({ test }) => test(message))
  }

  const peek = async (max: number) => {
    const [batch] = await store.topics.read(topic, [{ group: name, max, mode: 'peek' }])
    if (!batch) await store.topics.subscribe(topic, name, 'now')
    return batch ? withGap(topic, batch, now(), 'peek') : []
  }

  return {
    peek,
    /**
     * Takes up to `max` events and tells how many it made jobs of; undefined where there are none. `control` is asked for
     * after they are read: a replay is written before its group begins anew.
     */
    async take(max: number, control: () => Promise<Control>): Promise<number | undefined> {
      const events = await peek(max)
      if (events.length === 0) return undefined
      const { replay } = await control()
      const isNew = ({ timestamp }: Event) => timestamp >= (replay?.since ?? 0)
      const wanted = await Promise.all(events.map(async (event) => isNew(event) && (await wants(event))))
      const jobs = events
        .filter((_, at) => wanted[at])
        .map((event): NewJob => {
          const id = replay ? `${queue}/${event.id}.${replay.number}` : `${queue}/${event.id}`
          return { id, lane: laneOf(event), group: name, data: { event } }
        })
      if (jobs.length > 0) await store.jobs.add(queue, jobs)
      const ids = events.map(({ id }) => id)
      await store.topics.ack(topic, name, ids)
      return jobs.length
    },
  }
}

function laneOf(event: Event): string {
  const conversation = conversationOf(event)
  return conversation === undefined ? event.topic : `${event.source}/${conversation}`
}

/** An event of any topic as the keys of `match` read it: `event` is its type, `gateway` who published it. */
function asMessage({ topic, type, source, data }: Event): Matched {
  const fields: JsonObject = isJsonObject(data) ? data : {}
  const text = String(fields.text ?? fields.body ?? '')
  return { gateway: source, transport: topic, from: { id: source }, text, data: { ...fields, event: type } }
}
