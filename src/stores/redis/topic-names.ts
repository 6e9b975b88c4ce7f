import { MESSAGE_TOPIC } from '../../core/event.ts'
import { listOf, textOf } from './reply.ts'
import type { Server } from './scripts.ts'

/**
 * Which topics there are: each lies on a slot of its own, so two sets under the main root name them. They may
 * be many, for every conversation with replies is one.
 */
export type TopicNames = {
  add(topic: string): Promise<unknown>
  /** Notes that a topic has consumer groups. */
  addGrouped(topic: string): Promise<unknown>
  /** The topics that have, or had, consumer groups. */
  grouped(): Promise<string[]>
  /** Some of the topics, others with every call, in turn. */
  some(): Promise<string[]>
  remove(topic: string): Promise<unknown>
}

const SOME = 200

export function createTopicNames({ call, roots: { main } }: Server): TopicNames {
  let cursor = '0'
  return {
    add: (topic) => call('SADD', `${main}topics`, topic),
    addGrouped: (topic) => call('SADD', `${main}grouped-topics`, topic),
    grouped: async () => {
      const topics = listOf(await call('SMEMBERS', `${main}grouped-topics`)).map(textOf)
      return [...new Set([MESSAGE_TOPIC, ...topics])]
    },
    some: async () => {
      const [next, topics] = listOf(await call('SSCAN', `${main}topics`, cursor, 'COUNT', SOME))
      cursor = textOf(next)
      return listOf(topics)
        .map(textOf)
        .filter((topic) => topic !== MESSAGE_TOPIC)
    },
    remove: (topic) => call('SREM', `${main}topics`, topic),
  }
}
