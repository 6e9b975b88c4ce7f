import { z } from 'zod'
import { toJson } from '../core/json.ts'
import type { Store } from '../core/store.ts'
import { DAY } from '../core/units.ts'
import { defined } from '../lib/defined.ts'

const PREFIX = 'group-skip:'
/** How long (ms) a record is kept: longer than most topics keep the events that a replay brings back. */
const RETENTION_MS = 30 * DAY
const recordSchema = z.object({
  at: z.number(),
  by: z.string(),
  count: z.number(),
  more: z.literal(true).exactOptional(),
  until: z.number().exactOptional(),
})

/**
 * The last skip of a group: when (Unix ms), by whom, of how many events (`more`: at least), and
 * until which time (Unix ms), if only a part was skipped.
 */
export type GroupSkip = z.infer<typeof recordSchema>

export type GroupSkips = ReturnType<typeof createGroupSkips>

/** The last skip of each group, in the store. */
export function createGroupSkips(kv: Store['kv']) {
  const keyOf = (topic: string, group: string) => `${PREFIX}${topic}\n${group}`
  return {
    async note(topic: string, group: string, skip: { until: number | undefined } & Omit<GroupSkip, 'until'>) {
      await kv.set(keyOf(topic, group), toJson(defined({ ...skip })), { ttl: RETENTION_MS })
    },
    async of(topic: string, group: string): Promise<GroupSkip | undefined> {
      return recordSchema.safeParse((await kv.get(keyOf(topic, group)))?.value).data
    },
  }
}
