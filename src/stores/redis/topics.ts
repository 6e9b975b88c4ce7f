import { TriviumError } from '../../core/errors.ts'
import { type Event, MESSAGE_TOPIC, type NewEvent, REPLY_TOPICS } from '../../core/event.ts'
import type { Message } from '../../core/message.ts'
import { idParts, randomTail } from '../../core/message-id.ts'
import type { GroupBatch, GroupRead, Topics } from '../../core/store.ts'
import { type Entry, encodeEvent, entryOf, eventOf, idsFrom, messageOf } from './codec.ts'
import { digest } from './keys.ts'
import { isNothing, listOf, numberOf, textOf } from './reply.ts'
import { type Args, createHandOver, inBatches, type Server } from './scripts.ts'

/** How many events a group gets from one call at most, however many it asks for. */
const MAX_EVENTS = 500
/** How many messages one call reads at most without a group: each may be large. */
const MAX_TAIL = 20

/**
 * Each topic lies on a slot of its own, so two sets under the main root name those that there are, and those that
 * have, or had, consumer groups. They may be many, for every conversation with replies is a topic.
 */
export function createTopics(
  { run, call, roots, now }: Server,
  toEvent: (message: Message) => Event,
): Topics {
  const toEventOf = (topic: string) => (entry: Entry) =>
    topic === MESSAGE_TOPIC ? toEvent(messageOf(entry)) : eventOf(topic, entry)

  const handOver = createHandOver()
  const main = (set: 'topics' | 'grouped-topics') => `${roots.main}${set}`

  async function readSome(topic: string, requests: readonly Args[]) {
    const reply = await handOver(topic, (handing) =>
      run('topic-read', roots.topic(topic), ...handing, ...requests.flat()),
    )
    const [entries, answers] = listOf(reply)
    const read = listOf(entries).map(entryOf)
    const toEventHere = toEventOf(topic)
    const events = new Map(read.map((entry) => [entry.position, toEventHere(entry)]))
    return listOf(answers).map((answer) => (isNothing(answer) ? undefined : batchOf(answer, events, now())))
  }

  /** Consumes events, or gives them back where `args` name the topic and the delay. */
  async function settle(topic: string, group: string, ids: readonly string[], ...args: Args) {
    const known = ids.map(idParts).filter((parts) => parts !== undefined)
    const counts = await inBatches(known, async (batch) => [
      numberOf(await run('topic-settle', roots.topic(topic), group, ...args, ...batch.flat())),
    ])
    return counts.reduce((sum, count) => sum + count, 0)
  }

  return {
    publish: async (topic, events) => {
      if (topic === MESSAGE_TOPIC) throw new TriviumError('topic_reserved', { topic })
      if (events.length === 0) return []
      // Others have no readers who come back with a number; their groups would count the leap as events that they missed.
      const leaps = topic.startsWith(REPLY_TOPICS) ? 1 : ''
      const named = call('SADD', main('topics'), topic)
      const published = inBatches(
        events.map((event) => argsOf(event, now())),
        async (batch) =>
          idsFrom(await run('append', roots.topic(topic), topic, leaps, ...batch.flat()), batch),
      )
      const [answers] = await Promise.all([published, named])
      return answers.map(({ id }) => id)
    },

    subscribe: async (topic, group, from) => {
      await call('SADD', main('topics'), topic)
      const reply = await run('topic-groups', roots.topic(topic), 'subscribe', group, from)
      await call('SADD', main('grouped-topics'), topic)
      return { created: numberOf(reply) === 1 }
    },

    unsubscribe: async (topic, group) =>
      numberOf(await run('topic-groups', roots.topic(topic), 'unsubscribe', group)) === 1,

    groups: async (only) => {
      const grouped = async () => listOf(await call('SMEMBERS', main('grouped-topics'))).map(textOf)
      const topics = new Set(only === undefined ? [MESSAGE_TOPIC, ...(await grouped())] : [only])
      const lists = [...topics].map(async (topic) =>
        listOf(await run('topic-groups', roots.topic(topic), 'list')).map((info) => {
          const [group, lag, pending] = listOf(info)
          return { topic, group: textOf(group), lag: numberOf(lag), pending: numberOf(pending) }
        }),
      )
      return (await Promise.all(lists)).flat()
    },

    read: (topic, requests) => inBatches(requests.map(requestArgs), (batch) => readSome(topic, batch)),

    ack: (topic, group, ids) => settle(topic, group, ids, '', 0),
    nack: (topic, group, ids, delay) => settle(topic, group, ids, topic, delay),

    tail: async (topic, after, max) => {
      const start = `${Math.max(0, after) + 1}-0`
      const count = topic === MESSAGE_TOPIC ? Math.min(max, MAX_TAIL) : max
      const reply = await call('XRANGE', `${roots.topic(topic)}journal`, start, '+', 'COUNT', count)
      const toEventHere = toEventOf(topic)
      return listOf(reply).map((each) => {
        const entry = entryOf(each)
        return { position: entry.position, event: toEventHere(entry) }
      })
    },

    end: async (topic) => numberOf((await call('HGET', `${roots.topic(topic)}meta`, 'end')) ?? 0),
  }
}

function requestArgs({ group, max, mode, lease }: GroupRead): Args {
  return [group, Math.min(max, MAX_EVENTS), mode, lease ?? 0]
}

function batchOf(answer: unknown, events: Map<number, Event>, now: number): GroupBatch {
  const [missed, wait, ...positions] = listOf(answer).map(numberOf)
  const batch: GroupBatch = {
    events: positions.flatMap((position) => events.get(position) ?? []),
    missed: missed ?? 0,
  }
  return wait === undefined || wait < 0 ? batch : { ...batch, nextVisible: now + wait }
}

function argsOf(event: NewEvent, now: number): Args {
  const key = event.key === undefined ? '' : digest(event.key)
  return [randomTail(), event.timestamp ?? now, key, encodeEvent(event), '', '']
}
