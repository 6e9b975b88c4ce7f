import type { Topics } from '../core/store.ts'

/** The numbers of the partitions of a topic. */
export function partitionsOf(topics: Pick<Topics, 'partitions'>, topic: string): number[] {
  return Array.from({ length: topics.partitions(topic) }, (_, partition) => partition)
}
