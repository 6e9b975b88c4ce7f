import { z } from 'zod'
import { TriviumError } from '../core/errors.ts'
import { type Event, eventSchema, MESSAGE_TOPIC } from '../core/event.ts'
import { pathGet, toJson } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { ClaimedJob, NewJob, Store } from '../core/store.ts'
import { DAY } from '../core/units.ts'
import { defined } from '../lib/defined.ts'
import type { RunOutcome } from './attempts.ts'
import { createWorker } from './worker.ts'

/** The queue of dead letters for events that exceeded `max-deliveries`. */
const QUEUE = 'events'
/** Longer than any dead letter is kept, so that the retry of an old one is still recognised. */
const REMEMBERED = 400 * DAY

/**
 * `buriedAt` (Unix ms) distinguishes the letter from a later one with the same job id. Letters of
 * older versions have none.
 */
const dataSchema = z.object({ topic: z.string(), event: eventSchema, buriedAt: z.number().exactOptional() })

export type GroupDeliveries = ReturnType<typeof createGroupDeliveries>

/**
 * Limits how often a consumer group gets an event under a lease (`max-deliveries`). After that the
 * event becomes a dead letter of the queue `events` and is acknowledged for the group. A retry
 * redelivers it to that group, with the count reset.
 */
export function createGroupDeliveries(deps: {
  store: Pick<Store, 'topics' | 'jobs' | 'kv' | 'onSignal'>
  log: Log
  now(): number
}) {
  const { store, now } = deps
  const { jobs, kv, topics } = store

  const run = async ({ id, group, data, lost }: ClaimedJob): Promise<RunOutcome> => {
    // Letters of older versions have no time: their mark is `true`.
    const { topic, event, buriedAt = true } = dataSchema.parse(data)
    const mark = `trivium:dead-event/${id}`
    const known = (await kv.get(mark))?.value
    const isPutBack = pathGet(known, 'restored') === buriedAt
    // A mark means that the job was a dead letter before, and an operator retried it. If a claim
    // expired (`lost`), the daemon may also have died right after it set the mark.
    if (isPutBack || (lost === 0 && known === buriedAt)) {
      // The mark stays: after a crash, the redelivered event must not become a dead letter.
      if (!isPutBack) await kv.set(mark, { restored: buriedAt }, { ttl: REMEMBERED })
      if (!(await topics.restore(topic, group, event.id, Number(buriedAt))))
        throw new TriviumError('event_not_found', {
          id: event.id,
          topic,
          otherwise: `, or group ${group} is gone`,
        })
      return { outcome: 'done' }
    }
    await kv.set(mark, buriedAt, { ttl: REMEMBERED })
    const { code, message } = new TriviumError('group_max_deliveries', { id: event.id, topic, group })
    return { outcome: 'dead', reason: 'attempts', error: { at: now(), code, message } }
  }
  const retry = { attempts: 1, first: 1_000, longest: 1_000 }
  const worker = createWorker({ queue: QUEUE, store, concurrency: 4, run, retry, log: deps.log, now })

  /** `nth`: 1 for the first letter of the event. */
  const letterOf = (group: string, event: Event, nth: number): NewJob => {
    const { topic } = event
    const name = `${topic}/${group}/${event.id}`
    const id = nth === 1 ? name : `${name}.${nth}`
    const messageId = topic === MESSAGE_TOPIC ? event.id : undefined
    const data = toJson({ topic, event, buriedAt: now() })
    return { id, lane: `${QUEUE}/${id}`, group, data, notify: true, ...defined({ messageId }) }
  }

  /** Whether the event of a job that was not added has a dead letter already. */
  const isLetter = async ({ id }: NewJob) => (await jobs.end(QUEUE, id))?.state === 'dead'

  /**
   * Makes dead letters of events. A queue accepts a job id once within seven days, so an event
   * whose letter was retried or dropped needs a new id: `….2`. If a crash delayed the worker, an
   * event can have two letters.
   */
  async function addLetters(group: string, events: readonly Event[]): Promise<void> {
    let rest = events
    for (let nth = 1; rest.length > 0; nth++) {
      const letters = rest.map((event) => letterOf(group, event, nth))
      const answers = await jobs.add(QUEUE, letters)
      const isBuried = await Promise.all(
        letters.map(async (letter, at) => answers[at]?.added || isLetter(letter)),
      )
      rest = rest.filter((_, at) => !isBuried[at])
    }
  }

  return {
    /** Acknowledges events that exceeded the limit, and makes dead letters of them. */
    async bury(group: string, events: readonly Event[]): Promise<void> {
      await addLetters(group, events)
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
