import { TriviumError } from '../../core/errors.ts'
import { type Event, MESSAGE_TOPIC, type NewEvent } from '../../core/event.ts'
import type { Message } from '../../core/message.ts'
import { randomTail } from '../../core/message-id.ts'
import type { GroupBatch, GroupRead, Topics } from '../../core/store.ts'
import { inBatches } from './batches.ts'
import { type Entry, encodeEvent, entryOf, eventOf, idParts, idsFrom, messageOf } from './codec.ts'
import { createHandOver, type HandOver } from './hand-over.ts'
import { digest, type Roots } from './keys.ts'
import { isNothing, listOf, numberOf, textOf } from './reply.ts'
import type { Run } from './scripts.ts'
import type { TopicNames } from './topic-names.ts'

/** How many requests, or ids, one call carries. */
const MAX_REQUESTS = 256
/** How many events a group gets from one call at most, however many it asks for. */
const MAX_EVENTS = 500

export type TopicDeps = { toEvent: (message: Message) => Event; names: TopicNames; now: () => number }

export function createTopics(run: Run, roots: Roots, { toEvent, names, now }: TopicDeps): Topics {
  const toEventOf = (topic: string) => (entry: Entry) =>
    topic === MESSAGE_TOPIC ? toEvent(messageOf(entry)) : eventOf(topic, entry)

  const handOvers = new Map<string, HandOver>()

  function handOverOf(topic: string): HandOver {
    const known = handOvers.get(topic) ?? createHandOver()
    handOvers.set(topic, known)
    return known
  }

  async function readSome(topic: string, requests: readonly GroupRead[]) {
    const args = requests.flatMap(({ group, max, mode, lease }) => [
      group,
      Math.min(max, MAX_EVENTS),
      mode,
      lease ?? 0,
    ])
    const reply = await handOverOf(topic).call((handing) =>
      run('topic-read', roots.topic(topic), ...handing, ...args),
    )
    const [entries, answers] = listOf(reply)
    const events = new Map<number, Event>()
    const toEventHere = toEventOf(topic)
    for (const each of listOf(entries)) {
      const entry = entryOf(each)
      events.set(entry.position, toEventHere(entry))
    }
    return listOf(answers).map((answer) => (isNothing(answer) ? undefined : batchOf(answer, events, now())))
  }

  async function changeSome(
    script: 'topic-ack' | 'topic-nack',
    topic: string,
    ids: readonly string[],
    ...args: (string | number)[]
  ) {
    const known = ids.flatMap((id) => {
      const parts = idParts(id)
      return parts ? [parts] : []
    })
    let count = 0
    for (let start = 0; start < known.length; start += MAX_REQUESTS) {
      const some = known.slice(start, start + MAX_REQUESTS).flat()
      const reply = await run(script, roots.topic(topic), ...args, ...some)
      count += isNothing(reply) ? 0 : numberOf(reply)
    }
    return count
  }

  async function groupsOf(topic: string) {
    const infos = listOf(await run('topic-groups', roots.topic(topic)))
    return infos.map((info) => {
      const [group, position, lag, pending] = listOf(info)
      return {
        topic,
        group: textOf(group),
        position: numberOf(position),
        lag: numberOf(lag),
        pending: numberOf(pending),
      }
    })
  }

  return {
    publish: async (topic, events) => {
      if (topic === MESSAGE_TOPIC) throw new TriviumError('topic_reserved', { topic })
      if (events.length === 0) return []
      await names.add(topic)
      const answers = await inBatches(
        events.map((event) => prepare(event, now())),
        async (batch) =>
          idsFrom(
            await run('topic-publish', roots.topic(topic), topic, ...batch.flatMap(({ args }) => args)),
            batch.map(({ tail }) => tail),
          ),
      )
      return answers.map(({ id }) => id)
    },

    subscribe: async (topic, group, from) => {
      await names.add(topic)
      const created = numberOf(await run('topic-subscribe', roots.topic(topic), group, from)) === 1
      await names.addGrouped(topic)
      return { created }
    },

    unsubscribe: async (topic, group) =>
      numberOf(await run('topic-unsubscribe', roots.topic(topic), group)) === 1,

    groups: async (topic) => {
      const topics = topic === undefined ? await names.grouped() : [topic]
      return (await Promise.all(topics.map(groupsOf))).flat()
    },

    read: async (topic, requests) => {
      const batches: (GroupBatch | undefined)[] = []
      for (let start = 0; start < requests.length; start += MAX_REQUESTS) {
        batches.push(...(await readSome(topic, requests.slice(start, start + MAX_REQUESTS))))
      }
      return batches
    },

    ack: (topic, group, ids) => changeSome('topic-ack', topic, ids, group),
    nack: (topic, group, ids, delay) => changeSome('topic-nack', topic, ids, group, topic, delay),

    tail: async (topic, after, max) => {
      const toEventHere = toEventOf(topic)
      return listOf(await run('topic-tail', roots.topic(topic), Math.max(0, after) + 1, max)).map((each) => {
        const entry = entryOf(each)
        return { position: entry.position, event: toEventHere(entry) }
      })
    },

    end: async (topic) => numberOf(await run('topic-end', roots.topic(topic))),
  }
}

function batchOf(answer: unknown, events: Map<number, Event>, now: number): GroupBatch {
  const [missed, wait, ...positions] = listOf(answer).map(numberOf)
  const batch: GroupBatch = {
    events: positions.flatMap((position) => events.get(position) ?? []),
    missed: missed ?? 0,
  }
  return wait === undefined || wait < 0 ? batch : { ...batch, nextVisible: now + wait }
}

function prepare(event: NewEvent, now: number) {
  const payload = encodeEvent(event)
  const tail = randomTail()
  const key = event.key === undefined ? '' : digest(event.key)
  return { args: [event.timestamp ?? now, tail, key, payload], tail, size: payload.length }
}
