import { z } from 'zod'
import type { Log } from '../core/log.ts'
import type { Store } from '../core/store.ts'
import { DAY, MINUTE } from '../core/units.ts'
import { defined } from '../lib/defined.ts'
import { quantileOf } from '../lib/quantile.ts'
import { isLasting } from './event-access.ts'

/**
 * The last reader of a group, and when it read (Unix ms). `usualWait`: how long (ms) events usually
 * wait before they are read, if that is known.
 */
export type LastRead = { by: string; at: number; usualWait?: number }

const PREFIX = 'group-read:'
/** Minimum interval (ms) between two records of a group. */
const INTERVAL = MINUTE
/** How long (ms) a record is kept. */
const RETENTION_MS = 90 * DAY
/** Number of reads whose waits are kept. */
const MOST_WAITS = 9
/** `waits`: how long (ms) the first event of each of the last reads had waited, newest first. */
const recordSchema = z.object({ by: z.string(), at: z.number(), waits: z.array(z.number()).default([]) })

export type GroupLastReads = ReturnType<typeof createGroupLastReads>

/**
 * Who read each lasting group last, in the store, so that it is known after a restart. Accurate to
 * a minute.
 */
export function createGroupLastReads({ kv, log, now }: { kv: Store['kv']; log: Log; now(): number }) {
  const notedAt = new Map<string, number>()
  const keyOf = (topic: string, group: string) => `${PREFIX}${topic}\n${group}`
  const dropOld = (at: number) => {
    for (const [key, noted] of notedAt) if (Math.abs(at - noted) >= INTERVAL) notedAt.delete(key)
  }
  const read = async (key: string) => recordSchema.safeParse((await kv.get(key))?.value).data
  const store = async (key: string, record: { by: string; at: number }, wait: number) => {
    const { waits = [] } = (await read(key)) ?? {}
    const newest = [Math.max(0, wait), ...waits].slice(0, MOST_WAITS)
    await kv.set(key, { ...record, waits: newest }, { ttl: RETENTION_MS })
  }
  return {
    /**
     * Stores a read, at most once in a minute for each group. `publishedAt`: of its first event (Unix
     * ms).
     */
    note(topic: string, group: string, by: string, publishedAt?: number): void {
      if (!isLasting(group)) return
      const key = keyOf(topic, group)
      const at = now()
      const last = notedAt.get(key)
      if (last !== undefined && Math.abs(at - last) < INTERVAL) return
      dropOld(at)
      notedAt.set(key, at)
      store(key, { by, at }, at - (publishedAt ?? at)).catch((err) => {
        log.debug({ err, topic, group }, 'the last read of a group could not be stored')
      })
    },
    async of(topic: string, group: string): Promise<LastRead | undefined> {
      const record = await read(keyOf(topic, group))
      if (!record) return undefined
      const { waits, ...last } = record
      return { ...last, ...defined({ usualWait: quantileOf(waits, 0.5) }) }
    },
  }
}
