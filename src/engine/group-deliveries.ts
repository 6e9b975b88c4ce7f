import { z } from 'zod'
import { TriviumError } from '../core/errors.ts'
import { type Event, eventSchema, MESSAGE_TOPIC } from '../core/event.ts'
import { toJson } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { ClaimedJob, NewJob, Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import type { RunOutcome } from './attempts.ts'
import { createWorker } from './worker.ts'

/** The queue of dead letters for events that exceeded `max-deliveries`. */
const QUEUE = 'events'
/** Ms for which a dead letter is remembered, so that its next claim is recognised as a retry. */
const REMEMBERED = 400 * 86_400_000

const dataSchema = z.object({ topic: z.string(), event: eventSchema })

export type GroupDeliveries = ReturnType<typeof createGroupDeliveries>

/**
 * Limits how often a consumer group gets an event under a lease (`max-deliveries`). After that the event becomes a dead letter of
 * the queue `events` and is acknowledged for the group. A retry redelivers it to that group, with the count reset.
 */
export function createGroupDeliveries(deps: {
  store: Pick<Store, 'topics' | 'jobs' | 'kv' | 'onSignal'>
  log: Log
  now(): number
}) {
  const { store, now } = deps
  const { jobs, kv, topics } = store

  const run = async ({ id, group, data, lost }: ClaimedJob): Promise<RunOutcome> => {
    const { topic, event } = dataSchema.parse(data)
    const mark = `trivium:dead-event/${id}`
    // A daemon that died right after setting the mark leaves an expired claim (`lost`).
    if (lost === 0 && (await kv.get(mark))) {
      if (!(await topics.restore(topic, group, event.id)))
        throw new TriviumError('event_not_found', { id: event.id, topic, group })
      await kv.delete(mark)
      return { outcome: 'done' }
    }
    await kv.set(mark, true, { ttl: REMEMBERED })
    const { code, message } = new TriviumError('group_max_deliveries', { id: event.id, topic, group })
    return { outcome: 'dead', reason: 'attempts', error: { at: now(), code, message } }
  }
  const retry = { attempts: 1, first: 1_000, longest: 1_000 }
  const worker = createWorker({ queue: QUEUE, store, concurrency: 4, run, retry, log: deps.log, now })

  /** Queues accept an id once within days, so each round of an event needs its own job id. */
  async function nextId(topic: string, group: string, id: string): Promise<string> {
    for (let round = 1; ; round++) {
      const name = round === 1 ? `${topic}/${group}/${id}` : `${topic}/${group}/${id}.${round}`
      const end = await jobs.end(QUEUE, name)
      if (end?.state !== 'done') return name
    }
  }

  return {
    /** Acknowledges events that exceeded the limit, and makes dead letters of them. */
    async bury(group: string, events: readonly Event[]): Promise<void> {
      const dying: NewJob[] = []
      for (const event of events) {
        const { topic } = event
        const id = await nextId(topic, group, event.id)
        const messageId = topic === MESSAGE_TOPIC ? event.id : undefined
        const data = toJson({ topic, event })
        dying.push({ id, lane: `${QUEUE}/${id}`, group, data, notify: true, ...defined({ messageId }) })
      }
      await jobs.add(QUEUE, dying)
      for (const [topic, some] of Map.groupBy(events, (event) => event.topic)) {
        await topics.ack(
          topic,
          group,
          some.map(({ id }) => id),
        )
      }
    },
    start: worker.start,
    stop: worker.stop,
  }
}
