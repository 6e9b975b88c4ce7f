import type { RouteMatch } from '../core/match.ts'
import type { Store } from '../core/store.ts'
import { createEventFilter } from './event-filter.ts'

type Wanted = { topic: string; max: number; match?: RouteMatch }

/** Follows a topic without a group. */
export function createTopicTail({ topics, journal }: Pick<Store, 'topics' | 'journal'>) {
  /** Starts at the end of the topic. Returns a reader that skips events that do not match. */
  return async ({ topic, max, match }: Wanted) => {
    const partitions = Array.from({ length: topics.partitions(topic) }, (_, at) => at)
    const after = await Promise.all(partitions.map((at) => topics.end(topic, at)))
    const fits = match && createEventFilter(match, journal)
    return async () => {
      for (;;) {
        const tails = await Promise.all(after.map((end, at) => topics.tail(topic, end, max, at)))
        const next = tails.flatMap(({ items }) => items.map(({ event }) => event))
        const answers = fits && (await Promise.all(next.map(fits)))
        const wanted = next.filter((_, at) => answers?.[at] ?? true)
        wanted.sort((a, b) => (a.id < b.id ? -1 : 1))
        if (wanted.length > 0) return { value: wanted.slice(0, max) }
        for (const [at, { items }] of tails.entries()) after[at] = items.at(-1)?.position ?? after[at] ?? 0
        if (!tails.some(({ more }) => more)) return {}
      }
    }
  }
}
