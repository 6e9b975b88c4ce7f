import { counted } from './counted.ts'

/** The last 34 bits of an id are random, or a number. */
const RANDOM = 2 ** 34

/**
 * The number of missed events if the id is that of a `gap` event, else 0. Such an id has no
 * position, and ends with this number. See `makeId`.
 */
export function missedIn(id: string): number {
  // Of the 40 bits of the position, the highest 26 are here, and the lowest 14 before the number.
  if (!id.startsWith('000-8000-', 15)) return 0
  const missed = Number.parseInt(id.slice(24), 16)
  return id.length === 36 && missed < RANDOM ? missed : 0
}

/** What a push sends for missed events, by the id: `gap: 2 events were erased or expired`; undefined for other events. */
export function gapText(id: unknown): string | undefined {
  const missed = missedIn(String(id))
  if (missed === 0) return undefined
  return `gap: ${counted(missed, 'event was', 'events were')} erased or expired`
}
