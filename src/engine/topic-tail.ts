import type { RouteMatch } from '../core/match.ts'
import { askAll } from '../core/reachable.ts'
import type { Store } from '../core/store.ts'
import { createEventFilter } from './event-filter.ts'
import { partitionsOf } from './partitions.ts'

type Wanted = { topic: string; max: number; match?: RouteMatch }

/**
 * Follows a topic without a group. A partition that cannot be reached at first is followed from
 * its end at that later time.
 */
export function createTopicTail({ topics, journal }: Pick<Store, 'topics' | 'journal'>) {
  /**
   * Starts at the end of the topic. Returns a reader that skips events that do not match. The reader
   * ends with its first value: it does not continue after it.
   */
  return async ({ topic, max, match }: Wanted) => {
    const partitions = partitionsOf(topics, topic)
    /** Per partition: the position of the last event that was read. */
    const positions = new Map<number, number>()
    const positionIn = async (partition: number) => {
      const position = positions.get(partition) ?? (await topics.end(topic, partition))
      positions.set(partition, position)
      return position
    }
    const readPartition = async (partition: number) => {
      const after = await positionIn(partition)
      return { partition, ...(await topics.tail(topic, after, max, partition)) }
    }
    await askAll(partitions, positionIn)
    const fits = match && createEventFilter(match, journal)
    return async () => {
      for (;;) {
        const { answers: tails } = await askAll(partitions, readPartition)
        const next = tails.flatMap(({ items }) => items.map(({ event }) => event))
        const answers = fits && (await Promise.all(next.map(fits)))
        const wanted = next.filter((_, at) => answers?.[at] ?? true)
        wanted.sort((a, b) => (a.id < b.id ? -1 : 1))
        if (wanted.length > 0) return { value: wanted.slice(0, max) }
        for (const { partition, items } of tails) {
          const last = items.at(-1)
          if (last) positions.set(partition, last.position)
        }
        if (!tails.some(({ more }) => more)) return {}
      }
    }
  }
}
