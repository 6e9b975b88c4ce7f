import type { KeyValues } from '../../core/store.ts'
import { DAY, dayOf, daysBetween } from './day.ts'

/** Ms of a slot. For the last day what was used is known by slots, before that by days. */
const SLOT = 5 * 60_000
/** Slots are kept for so long (ms): a day, and room for clocks that differ. */
export const SLOTS_KEPT = DAY + 60 * 60_000
/** Slots that are kept at a time. */
const MOST = SLOTS_KEPT / SLOT + 2
/** Documents that are read at once. */
const BATCH = 20

/** A part of the time: whole slots within the last day, whole days (UTC) before that. `from` and `to` say what is counted. */
export type Span = { isExact: boolean; from: string; to: string; names: string[] }

/** `2026-11-28T09:05Z`: the slot of a time (Unix ms). */
export function slotOf(at: number): string {
  return `${new Date(Math.floor(at / SLOT) * SLOT).toISOString().slice(0, 16)}Z`
}

/** What is counted for a range: the slots or days that begin in it, and the one in which it begins. */
export function spanOf(since: number, until: number, now: number): Span {
  const end = Math.min(until, now)
  if (since < now - DAY - SLOT) {
    return { isExact: false, from: dayOf(since), to: dayOf(end), names: daysBetween(since, end) }
  }
  const names: string[] = []
  for (let at = Math.floor(since / SLOT) * SLOT; at <= end; at += SLOT) names.push(slotOf(at))
  return { isExact: true, from: slotOf(since), to: `${new Date(end).toISOString().slice(0, 16)}Z`, names }
}

/** The values of those names that there are, in order. Most slots are empty, so that only what is listed is read. */
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
