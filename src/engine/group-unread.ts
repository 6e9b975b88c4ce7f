import type { Call, Caller } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import { type Event, MESSAGE_TOPIC } from '../core/event.ts'
import type { RouteMatch } from '../core/match.ts'
import { timeOf } from '../core/message-id.ts'
import type { ServiceOf } from '../core/operation.ts'
import { askAll } from '../core/reachable.ts'
import { defined } from '../lib/defined.ts'
import { groupOf } from './event-access.ts'
import { createEventFilter } from './event-filter.ts'
import { hasGroup } from './group-moves.ts'
import type { GroupSettings } from './group-settings.ts'
import { withTexts } from './message-texts.ts'
import type { events } from './operations/events.ts'
import { partitionsOf } from './partitions.ts'
import { boundary } from './topic-boundary.ts'
import { timeLimit, type UnreadEvent, type UnreadStore, unreadIn } from './unread-events.ts'

type Unread = ServiceOf<typeof events>['unread']
type Asked = Parameters<Unread>[0] & { match?: RouteMatch | undefined }

/** Maximum time (ms) of a search. A page may then have fewer events than wanted. */
const SEARCH_TIME = 2_000
/** Maximum characters of the data of an event. */
const LONGEST_TEXT = 160

/** `event-unread`: what a group has not read, in the order of publication. Nothing is consumed. */
export function createGroupUnread({
  store,
  settings,
}: {
  store: UnreadStore
  settings: { of(topic: string, group: string): Promise<GroupSettings> }
}) {
  return async ({ topic, queue, after, limit, ...push }: Asked, call: Call) => {
    const group = groupOf({ topic, queue }, call)
    if (!(await hasGroup(store.topics, topic, group)))
      throw new TriviumError('group_not_found', { group, topic })
    const match = push.match ?? (await settings.of(topic, group)).match
    const search = { topic, group, after, limit, match, deadline: timeLimit(SEARCH_TIME).deadline }
    const { answers: parts } = await askAll(partitionsOf(store.topics, topic), (partition) =>
      firstOf(store, { ...search, partition }),
    )
    // Beyond the end of a search that took too long, its partition may have earlier events.
    const ends = parts.flatMap(({ end }) => (end === undefined ? [] : [end])).toSorted()
    const [end] = ends
    const known = parts
      .flatMap(({ found }) => found)
      .filter(({ event }) => end === undefined || event.id <= end)
      .toSorted((a, b) => (a.event.id < b.event.id ? -1 : 1))
    const shown = known.slice(0, limit)
    const next = known.length > limit ? shown.at(-1)?.event.id : end
    const rows = shown.filter(({ event }) => isVisible(topic, event, call.caller)).map(rowOf)
    return {
      events: topic === MESSAGE_TOPIC ? await withTexts(store, rows, call.caller) : rows,
      ...defined({ next }),
    }
  }
}

type Search = Pick<Asked, 'topic' | 'limit' | 'match'> & {
  group: string
  after: string | undefined
  partition: number
  deadline: number
}

/**
 * The first unread events of a partition after the id `after`: one more than `limit`, if there are so
 * many. `end`: the last event that was examined, if there may be others.
 */
async function firstOf(store: UnreadStore, { after, limit, match, deadline, ...part }: Search) {
  const { topics, journal } = store
  const { topic, partition } = part
  const isWanted = match ? createEventFilter(match, journal) : undefined
  const found: UnreadEvent[] = []
  const from = after === undefined ? 0 : await positionAfter(topics, { topic, partition, id: after })
  for await (const { events, last, more } of unreadIn(store, { ...part, after: from, isWanted })) {
    found.push(...events)
    if (!more) return { found, end: undefined }
    if (found.length > limit || performance.now() >= deadline) return { found, end: last }
  }
  return { found, end: undefined }
}

/** The position of the last event of a partition up to an id, which may be of another partition. */
async function positionAfter(
  topics: UnreadStore['topics'],
  { topic, partition, id }: { topic: string; partition: number; id: string },
): Promise<number> {
  const place = topics.placeOf(topic, id)
  if (place?.partition === partition) return place.position
  return boundary(topics, topic, partition, await topics.end(topic, partition), (event) => event.id <= id)
}

function isVisible(topic: string, { source }: Event, { gateways }: Caller): boolean {
  return topic !== MESSAGE_TOPIC || gateways === undefined || gateways.includes(source)
}

function rowOf({ event: { id, type, data }, since }: UnreadEvent) {
  const publishedAt = timeOf(id)
  const isAgain = since > publishedAt
  const text = `${type} ${JSON.stringify(data) ?? ''}`.trim().slice(0, LONGEST_TEXT)
  return { id, publishedAt, since, ...(isAgain && { again: true }), text }
}
