import { z } from 'zod'
import { toJson } from '../../core/json.ts'
import type { KeyValues } from '../../core/store.ts'
import { updateKv } from '../../core/update-kv.ts'

const controlSchema = z.object({
  stopped: z
    .object({ why: z.enum(['paused', 'gone']), by: z.string(), at: z.number().exactOptional() })
    .exactOptional(),
  /** Only events since `since` (Unix ms). `number` distinguishes the jobs of this replay. */
  replay: z.object({ since: z.number(), number: z.number() }).exactOptional(),
  resumedAt: z.number().default(0),
})
const reportSchema = z.object({
  /** Newest first. */
  attempts: z.array(z.looseObject({ reason: z.string().exactOptional() })).default([]),
  /** Consecutive failures. */
  failures: z.number().default(0),
})

/** The desired state of a subscription, set by an operator or by a receiver that is gone. */
export type Control = z.infer<typeof controlSchema>
/** The state reported by the daemon that serves it. */
export type Report = z.infer<typeof reportSchema>

/** How long (ms) a report is kept without an update. */
const KEPT = 30 * 86_400_000

/** The queue of a subscription's jobs, and the name of its lease. */
export const queueOf = (name: string) => `push/${name}`

/**
 * The stored state of a subscription, for all daemons. `key` is signalled as `kv:KEY` when its
 * control changes.
 */
export function createRecords(kv: KeyValues, name: string) {
  const key = `trivium:push:${name}`
  return {
    key,
    control: async () => controlSchema.parse((await kv.get(key))?.value ?? {}),
    change: (to: (control: Control) => Control) =>
      updateKv(kv, key, (known) => ({ value: toJson(to(controlSchema.parse(known ?? {}))) })),
    report: async () => reportSchema.parse((await kv.get(`${key}:report`))?.value ?? {}),
    tell: (report: Report) => kv.set(`${key}:report`, toJson(report), { ttl: KEPT }),
    async forget(): Promise<void> {
      await kv.delete(key)
      await kv.delete(`${key}:report`)
    },
  }
}

export type Records = ReturnType<typeof createRecords>
