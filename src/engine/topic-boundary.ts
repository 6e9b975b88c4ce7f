import type { Event } from '../core/event.ts'
import { timeOf } from '../core/message-id.ts'
import type { Topics } from '../core/store.ts'

/**
 * The positions of the events of a partition that were published in a time (Unix ms): those after
 * `after`, up to and including `last`.
 */
export async function positionsIn(
  topics: Pick<Topics, 'tail' | 'end'>,
  { topic, partition }: { topic: string; partition: number },
  { since, until }: { since?: number | undefined; until?: number | undefined },
): Promise<{ after: number; last: number }> {
  const end = await topics.end(topic, partition)
  const before = (time: number) => boundary(topics, topic, partition, end, ({ id }) => timeOf(id) < time)
  return {
    after: since === undefined ? 0 : await before(since),
    last: until === undefined ? end : await before(until),
  }
}

/**
 * Binary search: the last position up to which `holds` is true. A deleted event counts as the next
 * one that exists.
 */
export async function boundary(
  topics: Pick<Topics, 'tail'>,
  topic: string,
  partition: number,
  end: number,
  holds: (event: Event) => boolean,
): Promise<number> {
  let low = 0
  let high = end
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    // Deleted positions are skipped: `next` may be far after `middle`, even after `high`.
    const [next] = (await topics.tail(topic, middle, 1, partition)).items
    if (next && next.position <= high && holds(next.event)) low = next.position
    else high = middle
  }
  return low
}
