import type { KeyValues } from '../../core/store.ts'
import { DAY, dayOf, daysBetween } from './day.ts'

/** Length of a slot in ms. Usage is counted by slots for the last day, and by days before. */
const SLOT = 5 * 60_000
/** How long (ms) slots are kept: a day, plus tolerance for different clocks. */
export const SLOTS_KEPT = DAY + 60 * 60_000
/** Maximum number of slots kept at a time. */
const MOST = SLOTS_KEPT / SLOT + 2
/** Number of documents read at once. */
const BATCH = 20

/**
 * A range: whole slots within the last day, or whole days (UTC). `from` and `to`: the range that is
 * actually counted.
 */
export type Span = { isExact: boolean; from: string; to: string; names: string[] }

/** The slot of a time (Unix ms), such as `2026-11-28T09:05Z`. */
export function slotOf(at: number): string {
  return `${new Date(Math.floor(at / SLOT) * SLOT).toISOString().slice(0, 16)}Z`
}

/** The span for a range: the slots or days that begin in it, and the one in which it begins. */
export function spanOf(since: number, until: number, now: number): Span {
  const end = Math.min(until, now)
  if (since < now - DAY - SLOT) {
    return { isExact: false, from: dayOf(since), to: dayOf(end), names: daysBetween(since, end) }
  }
  const names: string[] = []
  for (let at = Math.floor(since / SLOT) * SLOT; at <= end; at += SLOT) names.push(slotOf(at))
  return { isExact: true, from: slotOf(since), to: `${new Date(end).toISOString().slice(0, 16)}Z`, names }
}

/** The existing values with these names, in order. Most slots are empty, so only listed keys are read. */
export async function valuesOf<T>(
  kv: Pick<KeyValues, 'get' | 'list'>,
  prefix: string,
  names: readonly string[],
  read: (name: string, value: unknown) => T,
): Promise<T[]> {
  const known = new Set(
    names.length > BATCH ? await kv.list(prefix, MOST) : names.map((name) => prefix + name),
  )
  const wanted = names.filter((name) => known.has(prefix + name))
  const found: T[] = []
  for (let at = 0; at < wanted.length; at += BATCH) {
    const part = wanted.slice(at, at + BATCH).map(async (name) => {
      const entry = await kv.get(prefix + name)
      return entry ? [read(name, entry.value)] : []
    })
    found.push(...(await Promise.all(part)).flat())
  }
  return found
}
