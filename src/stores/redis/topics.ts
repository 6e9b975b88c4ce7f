import { TriviumError } from '../../core/errors.ts'
import { type Event, MESSAGE_TOPIC, type NewEvent, REPLY_TOPICS } from '../../core/event.ts'
import type { Message } from '../../core/message.ts'
import { makeId, positionOf, randomTail } from '../../core/message-id.ts'
import type { Redelivered, Topics } from '../../core/store.ts'
import { append, type Entry, eventOf, messageOf, positionIn } from './codec.ts'
import { digest } from './roots.ts'
import type { Args, Server } from './scripts.ts'
import { type BoundedBatch, type BoundedRead, createTopicRead } from './topic-read.ts'
import { createTopicSettle } from './topic-settle.ts'

/** Maximum number of messages per call of `tail`, as they may be large. */
const MAX_TAIL = 20

/** Number of redelivered events of a group after which no more are counted. */
const MOST_COUNTED = 20_000

/** The topics of one shard: a part of `gateway-message`, and all of the other topics. */
export type ShardTopics = Omit<Topics, 'partitions' | 'placeOf' | 'read'> & {
  read(topic: string, requests: readonly BoundedRead[]): Promise<(BoundedBatch | undefined)[]>
  placeOf(topic: string, id: string): number | undefined
}

/**
 * Each topic has its own slot. Two sets under the main root list all topics, and the topics that
 * have or had consumer groups. There may be many topics: every conversation with replies is one.
 */
export function createTopics(
  { run, call, roots, places, now, isClosed }: Server,
  toEvent: (message: Message) => Event,
): ShardTopics {
  const eventIn = (topic: string, entry: Entry) =>
    topic === MESSAGE_TOPIC ? toEvent(messageOf(entry, places)) : eventOf(topic, entry)

  const readGroups = createTopicRead({ run, call, roots, now, isClosed }, eventIn)
  const main = (set: 'topics' | 'grouped-topics') => `${roots.main}${set}`

  return {
    publish: async (topic, events) => {
      if (topic === MESSAGE_TOPIC) throw new TriviumError('topic_reserved', { topic })
      if (events.length === 0) return []
      // Readers of reply topics resume by position. In other topics, groups would count the jump as
      // missed events.
      const jumpsAfterRestart = topic.startsWith(REPLY_TOPICS) ? 1 : ''
      const named = call('SADD', main('topics'), topic)
      const items = events.map((event) => argsOf(event, now()))
      const published = append(run, roots.topic(topic), makeId, [topic, jumpsAfterRestart], items)
      const [answers] = await Promise.all([published, named])
      return answers.map(({ id }) => id)
    },

    subscribe: async (topic, group, from) => {
      await call('SADD', main('topics'), topic)
      const reply = await run('topic-groups', roots.topic(topic), 'subscribe', group, from)
      await call('SADD', main('grouped-topics'), topic)
      return { created: reply === 1 }
    },

    unsubscribe: async (topic, group) =>
      (await run('topic-groups', roots.topic(topic), 'unsubscribe', group)) === 1,

    seek: async (topic, group, to) =>
      (await run('topic-groups', roots.topic(topic), 'seek', group, to, topic)) === 1,

    skip: async (topic, group, { last }) =>
      (await run('topic-groups', roots.topic(topic), 'skip', group, last)) === 1,

    groups: async (only) => {
      const grouped = () => call<string[]>('SMEMBERS', main('grouped-topics'))
      const topics = new Set(only === undefined ? [MESSAGE_TOPIC, ...(await grouped())] : [only])
      const lists = [...topics].map(async (topic) => {
        const infos = await run<[string, number, number, number][]>(
          'topic-groups',
          roots.topic(topic),
          'list',
        )
        return infos.map(([group, lag, pending, again]) => ({ topic, group, lag, pending, again }))
      })
      return (await Promise.all(lists)).flat()
    },

    read: readGroups,

    ...createCounts({ run, roots }),
    ...createTopicSettle({ run, roots, places }),

    tail: async (topic, after, max) => {
      const start = `${Math.max(0, after) + 1}-0`
      const count = topic === MESSAGE_TOPIC ? Math.min(max, MAX_TAIL) : max
      const log = `${roots.topic(topic)}journal`
      const entries = await call<Entry[]>('XRANGE', log, start, '+', 'COUNT', count + 1)
      const toPlaced = (entry: Entry) => ({ position: positionIn(entry), event: eventIn(topic, entry) })
      return { items: entries.slice(0, count).map(toPlaced), more: entries.length > count }
    },

    placeOf: (topic, id) => (topic === MESSAGE_TOPIC ? places.placeOf(id) : positionOf(id)),
    end: async (topic) => Number(await call('HGET', `${roots.topic(topic)}meta`, 'end')),
  }
}

/** What groups have read, and event counts. */
function createCounts({
  run,
  roots,
}: Pick<Server, 'run' | 'roots'>): Pick<
  ShardTopics,
  'unread' | 'redelivered' | 'roundOf' | 'erased' | 'consumed'
> {
  const ask = <Reply>(topic: string, ...args: Args) => run<Reply>('topic-groups', roots.topic(topic), ...args)
  return {
    unread: async (topic, group, { after, last }) =>
      (await ask<number | null>(topic, 'unread', group, after, last)) ?? undefined,
    redelivered: async (topic, group) => {
      const answer = await ask<number[] | null>(topic, 'redelivered', group, MOST_COUNTED)
      return answer ? redeliveredIn(answer) : undefined
    },
    roundOf: async (topic, group) => (await ask<number | null>(topic, 'round', group)) ?? undefined,
    erased: (topic, { after, last }) => ask<number>(topic, 'erased', after, last),
    consumed: async (topic) => {
      const flat = await ask<string[]>(topic, 'consumed')
      return flat.flatMap((group, at) => (at % 2 === 0 ? { group, last: Number(flat[at + 1]) - 1 } : []))
    },
  }
}

/** Whether there are more, then each round with its count. */
function redeliveredIn([more, ...parts]: readonly number[]): Redelivered {
  const rounds = parts.flatMap((round, at) => (at % 2 === 0 ? [{ round, count: parts[at + 1] ?? 0 }] : []))
  return { rounds, more: more === 1 }
}

/**
 * The arguments of `append` for an event. The payload has the fields that are neither in the id nor
 * in the head of the entry.
 */
function argsOf({ key, timestamp, ...event }: NewEvent, now: number): Args {
  return [randomTail(), timestamp ?? now, key === undefined ? '' : digest(key), JSON.stringify(event), '', '']
}
