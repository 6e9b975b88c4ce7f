import { addCount } from '../../lib/name-counts.ts'
import type { OpenItem, Place, Subject, Tally } from './place.ts'

/** Maximum number of unfinished things that are listed one by one. */
const MAX_OPEN_ITEMS = 100

/**
 * The number of records by place, and by kind in the places that have several. `open`: what is
 * unfinished, by kind; `openItems`: the first of these one by one.
 */
export type Counts = {
  counts: Record<string, number>
  kinds: Record<string, Record<string, number>>
  open: Record<string, number>
  openItems: OpenItem[]
  total: number
}

export const noCounts = (): Counts => ({ counts: {}, kinds: {}, open: {}, openItems: [], total: 0 })

/** The sum of the counts of all places. */
export function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}

/** Adds what a place has. */
export function addTally(sum: Counts, place: string, { count, kinds, open }: Tally): void {
  sum.counts[place] = count
  sum.total += count
  if (Object.keys(kinds).length > 0) sum.kinds[place] = kinds
  for (const { kind } of open) addCount(sum.open, kind)
  sum.openItems.push(...open.slice(0, MAX_OPEN_ITEMS - sum.openItems.length))
}

/** What all places have about a person. */
export async function talliesOf(
  places: readonly Place[],
  subject: Subject,
  signal: AbortSignal,
): Promise<Counts> {
  const sum = noCounts()
  for (const place of places) {
    signal.throwIfAborted()
    addTally(sum, place.name, await place.tally(subject, signal))
  }
  return sum
}
