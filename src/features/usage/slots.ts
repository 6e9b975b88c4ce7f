import { allKeys } from '../../core/all-keys.ts'
import type { Json } from '../../core/json.ts'
import type { KeyValues } from '../../core/store.ts'
import { DAY, HOUR, MINUTE } from '../../core/units.ts'
import { dayOf, daysBetween } from './day.ts'

/** Length of a slot in ms. Newest usage is counted by slots, and older usage by days. */
export const SLOT = 5 * MINUTE
/** How long (ms) slots of runs are kept: a day, plus tolerance for different clocks. */
export const SLOT_RETENTION = DAY + HOUR
/** The same for the cost: the last two days (48 h), and the rest of the day in which they begin. */
export const COST_SLOT_RETENTION = 3 * DAY + HOUR
/** How long (ms) days are kept. */
export const DAY_RETENTION = 400 * DAY
/** Number of documents that are read at once. */
const BATCH = 20

/**
 * A range: whole slots of newest usage, or whole days (UTC). `from` and `to`: the range that is
 * actually counted.
 */
export type Span = { isExact: boolean; from: string; to: string; names: string[] }

/** The slot of a time (Unix ms), such as `2026-11-28T09:05Z`. */
export function slotOf(at: number): string {
  return `${new Date(Math.floor(at / SLOT) * SLOT).toISOString().slice(0, 16)}Z`
}

/** Tolerance (ms) for the time between an age in a request and its evaluation. */
const AGE_TOLERANCE = MINUTE

/**
 * The span for a range: the slots or days that begin in it, and the one in which it begins. `since`
 * and `until`: Unix ms. `exactFor`: the age (ms) up to which there are slots. An age of whole days,
 * such as `7d`, is today and the days before it: seven in all.
 */
export function spanOf(since: number, until: number, now: number, exactFor = DAY): Span {
  const end = Math.min(until, now)
  if (since < now - exactFor - SLOT) {
    const begin = since % DAY !== 0 && isWholeDays(now - since) ? since + DAY : since
    return { isExact: false, from: dayOf(begin), to: dayOf(end), names: daysBetween(begin, end) }
  }
  const names: string[] = []
  for (let at = Math.floor(since / SLOT) * SLOT; at <= end; at += SLOT) names.push(slotOf(at))
  return { isExact: true, from: slotOf(since), to: `${new Date(end).toISOString().slice(0, 16)}Z`, names }
}

function isWholeDays(age: number): boolean {
  return (age + AGE_TOLERANCE / 2) % DAY < AGE_TOLERANCE
}

/**
 * The existing values with these names, in order. Of many names, most have no value: then the keys
 * are listed first.
 */
export async function valuesOf<T>(
  kv: Pick<KeyValues, 'get' | 'list'>,
  prefix: string,
  names: readonly string[],
  read: (name: string, value: Json) => T,
): Promise<T[]> {
  const keys = new Set(names.length > BATCH ? await allKeys(kv, prefix) : names.map((name) => prefix + name))
  const existing = names.filter((name) => keys.has(prefix + name))
  const found: T[] = []
  for (let start = 0; start < existing.length; start += BATCH) {
    const batch = existing.slice(start, start + BATCH).map(async (name) => {
      const entry = await kv.get(prefix + name)
      return entry ? [read(name, entry.value)] : []
    })
    found.push(...(await Promise.all(batch)).flat())
  }
  return found
}
