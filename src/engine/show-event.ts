import { type Call, requireGateway } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import { type Event, MESSAGE_TOPIC } from '../core/event.ts'
import type { ServiceOf } from '../core/operation.ts'
import { askAll } from '../core/reachable.ts'
import type { PlacedEvent, Topics } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { requireReadable } from './event-access.ts'
import type { events } from './operations/events.ts'
import { partitionsOf } from './partitions.ts'
import { positionsIn } from './topic-boundary.ts'

type Reading = Pick<Topics, 'placeOf' | 'tail' | 'partitions' | 'end'>

/** Reads retained events of a topic without a group. Nothing is consumed. */
export function createShowEvent(topics: Reading): Pick<ServiceOf<typeof events>, 'show' | 'list'> {
  return {
    async show({ topic, id }, { caller }: Call) {
      requireReadable(topic, caller)
      const event = await retainedEvent(topics, topic, id)
      if (!event) throw new TriviumError('event_not_found', { id, topic, otherwise: '' })
      if (topic === MESSAGE_TOPIC) requireGateway(caller, event.source)
      return event
    },
    async list({ topic, before, since, until, limit }, { caller }: Call) {
      requireReadable(topic, caller)
      const isVisible = ({ source }: Event) =>
        topic !== MESSAGE_TOPIC || !caller.gateways || caller.gateways.includes(source)
      const place = before === undefined ? undefined : topics.placeOf(topic, before)
      const { answers: parts, away } = await askAll(partitionsOf(topics, topic), async (partition) => {
        const { after, last } = await positionsIn(topics, { topic, partition }, { since, until })
        const end = place?.partition === partition ? Math.min(last, place.position - 1) : last
        return newestOf(topics, { topic, partition, after, last: end, limit, before })
      })
      const found = parts
        .flatMap(({ events }) => events)
        .sort((a, b) => (a.id < b.id ? 1 : -1))
        .slice(0, limit)
      const oldest = found.at(-1)?.id
      const isMore = oldest !== undefined && parts.some(({ first }) => first !== undefined && first < oldest)
      return {
        events: found.filter(isVisible),
        ...defined({ next: isMore ? oldest : undefined, away: away.length > 0 ? away : undefined }),
      }
    },
  }
}

/** An event, if it is retained. */
export async function retainedEvent(
  topics: Pick<Topics, 'placeOf' | 'tail'>,
  topic: string,
  id: string,
): Promise<Event | undefined> {
  const { partition, position } = topics.placeOf(topic, id) ?? {}
  const page = position === undefined ? undefined : await topics.tail(topic, position - 1, 1, partition)
  return page?.items.find((found) => found.event.id === id)?.event
}

type Window = {
  topic: string
  partition: number
  after: number
  last: number
  limit: number
  before: string | undefined
}

/**
 * Up to `limit` events of a partition after the position `after`, up to `last`, and the id of the
 * first one.
 */
async function newestOf(topics: Reading, { topic, partition, after, last, limit, before }: Window) {
  const [first] = (await topics.tail(topic, after, 1, partition)).items
  const events: Event[] = []
  let end = last
  // Events may be missing from the middle, so one window may have fewer than `limit`.
  while (first && events.length < limit && end >= first.position) {
    const begin = Math.max(first.position - 1, end - limit)
    const window = await between(topics, { topic, partition, after: begin, end })
    events.unshift(...window.filter(({ id }) => before === undefined || id < before))
    end = begin
  }
  return { events: events.slice(-limit), first: first?.event.id }
}

/** The events after a position, up to and including `end`. Large events come in several pages. */
async function between(
  topics: Reading,
  { topic, partition, after, end }: { topic: string; partition: number; after: number; end: number },
): Promise<Event[]> {
  const found: PlacedEvent[] = []
  let from = after
  let isMore = true
  while (isMore && from < end) {
    const { items, more } = await topics.tail(topic, from, end - from, partition)
    found.push(...items)
    from = items.at(-1)?.position ?? end
    isMore = more
  }
  return found.filter(({ position }) => position <= end).map(({ event }) => event)
}
