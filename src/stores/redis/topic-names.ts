import type { Cluster, Redis } from 'ioredis'
import { MESSAGE_TOPIC } from '../../core/event.ts'
import { toStoreError } from './failure.ts'

/**
 * Which topics there are: each lies on a slot of its own, so two sets under the main root name them. They may
 * be many, for every conversation with replies is one.
 */
export type TopicNames = {
  /** Resolves when the name is in the set; remembers that for an hour. */
  add(topic: string): Promise<void>
  /** Notes that a topic has consumer groups. */
  addGrouped(topic: string): Promise<void>
  /** The topics that have, or had, consumer groups. */
  grouped(): Promise<string[]>
  /** Some of the topics, others with every call, in turn. */
  some(): Promise<string[]>
  remove(topic: string): Promise<void>
}

const REMEMBER_MS = 3_600_000
const REMEMBER_MOST = 10_000
const SOME = 200

export function createTopicNames(client: Redis | Cluster, address: string, main: string): TopicNames {
  const known = new Map<string, number>()
  let cursor = '0'
  const rethrow = (error: unknown) => Promise.reject(toStoreError(error, address))
  // A restart may have lost the last second: what is remembered here may be unknown there.
  client.on('close', () => known.clear())

  return {
    add: async (topic) => {
      const since = known.get(topic)
      if (since !== undefined && performance.now() - since < REMEMBER_MS) return
      await client.sadd(`${main}topics`, topic).catch(rethrow)
      if (known.size >= REMEMBER_MOST) known.clear()
      known.set(topic, performance.now())
    },
    addGrouped: async (topic) => {
      await client.sadd(`${main}grouped-topics`, topic).catch(rethrow)
    },
    grouped: async () => {
      const topics = await client.smembers(`${main}grouped-topics`).catch(rethrow)
      return [...new Set([MESSAGE_TOPIC, ...topics])]
    },
    some: async () => {
      const [next, topics] = await client.sscan(`${main}topics`, cursor, 'COUNT', SOME).catch(rethrow)
      cursor = next
      return topics.filter((topic) => topic !== MESSAGE_TOPIC)
    },
    remove: async (topic) => {
      known.delete(topic)
      await client.srem(`${main}topics`, topic).catch(rethrow)
    },
  }
}
