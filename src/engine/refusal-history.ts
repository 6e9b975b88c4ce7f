import { z } from 'zod'
import { allKeys } from '../core/all-keys.ts'
import type { Json } from '../core/json.ts'
import { createOnceWrites } from '../core/once-writes.ts'
import type { KeyValues } from '../core/store.ts'
import { readStoredRecord } from '../core/stored-entries.ts'
import { DAY, HOUR, MINUTE } from '../core/units.ts'
import { addCount } from '../lib/name-counts.ts'

/** How long (ms) refused deliveries stay counted. */
export const REFUSALS_COUNTED_FOR = 7 * DAY
/** Key prefix of the counts, by hour. */
const KEY = 'refused-hour:'
/** An hour is kept until its last minute is too old, plus tolerance for different clocks. */
const TTL = REFUSALS_COUNTED_FOR + 2 * HOUR

/** The refused deliveries of a gateway in an hour, by minute of the hour. */
const hourSchema = z.object({ minutes: z.record(z.string(), z.number()) })
const readHour = (value: Json | undefined) => readStoredRecord(hourSchema, value)

export type RefusalHistory = ReturnType<typeof createRefusalHistory>

/**
 * Counts refused deliveries per gateway and minute, in the store for all daemons. They are
 * collected in memory until `flush`, so a killed daemon loses those of the last seconds.
 */
export function createRefusalHistory({ kv, now }: { kv: KeyValues; now(): number }) {
  /** Counts that are not stored yet: by hour, then by gateway. */
  let pending = new Map<string, Map<string, Record<string, number>>>()
  const { flush } = createOnceWrites(kv, () => {
    const additions = [...pending].map(([hour, gateways]) => ({
      key: KEY + hour,
      change: (current: Json | undefined) => ({ value: merged(current, gateways), ttl: TTL }),
    }))
    pending = new Map()
    return additions
  })

  return {
    /** Counts a refused delivery. Called for each of them, so it must be cheap. */
    add(gateway: string): void {
      const at = now()
      const hour = hourOf(at)
      const gateways = pending.get(hour) ?? new Map<string, Record<string, number>>()
      pending.set(hour, gateways)
      const minutes = gateways.get(gateway) ?? {}
      gateways.set(gateway, minutes)
      addCount(minutes, String(new Date(at).getUTCMinutes()), 1)
    },
    /** Stores the collected counts. */
    flush,
    /**
     * Refused deliveries of a gateway in spans of `width` ms from `from` on, oldest first. Includes
     * all refusals of this daemon.
     */
    async counts(
      gateway: string,
      { from, width, spans }: { from: number; width: number; spans: number },
    ): Promise<number[]> {
      await flush()
      const counts = Array.from({ length: spans }, () => 0)
      const first = KEY + hourOf(from)
      const last = KEY + hourOf(from + spans * width)
      const keys = (await allKeys(kv, KEY)).filter((key) => key >= first && key <= last)
      const hours = await Promise.all(keys.map(async (key) => ({ key, value: (await kv.get(key))?.value })))
      for (const { key, value } of hours) {
        const start = Date.parse(`${key.slice(KEY.length)}:00Z`)
        for (const [minute, count] of Object.entries(readHour(value).entries[gateway]?.minutes ?? {})) {
          const span = Math.floor((start + Number(minute) * MINUTE - from) / width)
          if (counts[span] !== undefined) counts[span] += count
        }
      }
      return counts
    },
  }
}

/** The hour of a time (Unix ms), such as `2026-11-28T09`. */
function hourOf(at: number): string {
  return new Date(at).toISOString().slice(0, 13)
}

function merged(current: Json | undefined, added: ReadonlyMap<string, Readonly<Record<string, number>>>) {
  const { entries, write } = readHour(current)
  const all = { ...entries }
  for (const [gateway, counts] of added) {
    const minutes = { ...entries[gateway]?.minutes }
    for (const [minute, count] of Object.entries(counts)) addCount(minutes, minute, count)
    all[gateway] = { minutes }
  }
  return write(all)
}
