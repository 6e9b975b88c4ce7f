import { z } from 'zod'
import type { Log } from '../core/log.ts'
import type { Store } from '../core/store.ts'
import { DAY, MINUTE } from '../core/units.ts'
import { isLasting } from './event-access.ts'

/** The last reader of a group, and when it read (Unix ms). */
export type LastRead = { by: string; at: number }

const PREFIX = 'group-read:'
/** Minimum interval (ms) between two records of a group. */
const INTERVAL = MINUTE
/** How long (ms) a record is kept. */
const RETENTION_MS = 90 * DAY
const recordSchema = z.object({ by: z.string(), at: z.number() })

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
  return {
    /** Stores a read, at most once in a minute for each group. */
    note(topic: string, group: string, by: string): void {
      if (!isLasting(group)) return
      const key = keyOf(topic, group)
      const at = now()
      const last = notedAt.get(key)
      if (last !== undefined && Math.abs(at - last) < INTERVAL) return
      dropOld(at)
      notedAt.set(key, at)
      kv.set(key, { by, at }, { ttl: RETENTION_MS }).catch((err) => {
        log.debug({ err, topic, group }, 'the last read of a group could not be stored')
      })
    },
    async of(topic: string, group: string): Promise<LastRead | undefined> {
      return recordSchema.safeParse((await kv.get(keyOf(topic, group)))?.value).data
    },
  }
}
