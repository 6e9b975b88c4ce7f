import { z } from 'zod'
import { toJson } from '../../core/json.ts'
import type { KeyValues } from '../../core/store.ts'
import { updateKv } from '../../core/update-kv.ts'

const controlSchema = z.object({
  stopped: z
    .object({ why: z.enum(['paused', 'gone']), by: z.string(), at: z.number().exactOptional() })
    .exactOptional(),
  /** Only events from `since` (Unix ms) on; `number` makes jobs of those that were jobs before. */
  replay: z.object({ since: z.number(), number: z.number() }).exactOptional(),
  resumedAt: z.number().default(0),
})
const reportSchema = z.object({
  /** Newest first. */
  attempts: z.array(z.looseObject({ reason: z.string().exactOptional() })).default([]),
  /** In a row. */
  failures: z.number().default(0),
})

/** What is wanted of a subscription: by an operator, or by a receiver that is gone. */
export type Control = z.infer<typeof controlSchema>
/** What the daemon that serves it tells of it. */
export type Report = z.infer<typeof reportSchema>

/** A report is of no use when its subscription is long gone (ms). */
const KEPT = 30 * 86_400_000

/** The jobs of a subscription, and the lease of the daemon that serves it. */
export const queueOf = (name: string) => `push/${name}`

/** What is kept of a subscription on the store, for all daemons. `key` is signalled as `kv:KEY` when the control changes. */
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
