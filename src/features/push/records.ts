import { z } from 'zod'
import { toJson } from '../../core/json.ts'
import { changeFields } from '../../core/pause-record.ts'
import type { KeyValues } from '../../core/store.ts'
import { withUnknownFields } from '../../core/stored-entries.ts'
import { DAY } from '../../core/units.ts'
import { updateKv } from '../../core/update-kv.ts'
import { createWithdrawnEvents, withdrawalKey } from '../../engine/withdrawn-events.ts'
import { type Exchange, exchangeSchema } from './exchange.ts'
import { type Traffic, trafficSchema } from './traffic.ts'

/**
 * The `round` of a replay. `last`: the last position of its range, per partition. `keep`: events
 * of later replays (ranges, or only the `ids`), which left out the jobs of this one because they waited
 * already.
 */
const withdrawalSchema = z.object({
  round: z.number(),
  last: z.array(z.number()).default([]),
  keep: z
    .array(
      z.object({
        since: z.number().exactOptional(),
        until: z.number().exactOptional(),
        from: z.string().exactOptional(),
        to: z.string().exactOptional(),
        ids: z.array(z.string()).exactOptional(),
      }),
    )
    .default([]),
  /** When the replay was cancelled (Unix ms), and by whom. */
  at: z.number().exactOptional(),
  by: z.string().exactOptional(),
})
export type Withdrawal = z.infer<typeof withdrawalSchema>

const controlSchema = z.object({
  stopped: z
    .object({
      why: z.enum(['paused', 'gone']),
      by: z.string(),
      at: z.number().exactOptional(),
      /** Why somebody paused it, and when the pause ends by itself (Unix ms). */
      reason: z.string().exactOptional(),
      until: z.number().exactOptional(),
      ...changeFields,
    })
    .exactOptional(),
  /** The last resumption (Unix ms). A change of it restarts a failing subscription. */
  resumedAt: z.number().default(0),
  /** Cancelled replays, whose events are to be withdrawn. Nothing is sent until then. */
  withdrawals: z.array(withdrawalSchema).exactOptional(),
})
const reportSchema = z.object({
  /** Newest first. */
  attempts: z
    .array(
      z.looseObject({
        reason: z.string().exactOptional(),
        answer: z.string().exactOptional(),
        since: z.number().exactOptional(),
        event: z.string().exactOptional(),
        attempt: z.number().exactOptional(),
        nextAt: z.number().exactOptional(),
        isDead: z.boolean().exactOptional(),
        deliveredAt: z.number().exactOptional(),
        arrivedAt: z.number().exactOptional(),
      }),
    )
    .default([]),
  /**
   * The replays that were tried, newest first. `round`: start of the replay (Unix ms). `delivered`:
   * the number of its events that the receiver accepted, the last one at `lastAt` (Unix ms).
   * `interrupted`: the number of those that were being sent when it was cancelled, and are not tried
   * again. `withdrawn`: that it was cancelled, when (Unix ms) and by whom, and what it left in place.
   */
  replays: z
    .array(
      z.object({
        round: z.number(),
        delivered: z.number(),
        lastAt: z.number().exactOptional(),
        interrupted: z.number().exactOptional(),
        withdrawn: withdrawalSchema.pick({ keep: true, by: true }).extend({ at: z.number() }).exactOptional(),
      }),
    )
    .default([]),
  /** The chunk of exchanges that is written next. */
  chunk: z.number().default(0),
  /** Consecutive failures. */
  failures: z.number().default(0),
  /** When the first of these failed (Unix ms). */
  failingSince: z.number().exactOptional(),
  /** Since when a large share of the attempts fails (Unix ms). */
  errorsSince: z.number().exactOptional(),
  /** Nothing is tried before then (Unix ms). */
  openUntil: z.number().default(0),
  /**
   * The pause that a receiver asked for (`Retry-After`): its `host`, when it asked (`at`), and the
   * end of the pause (`until`). Times in Unix ms.
   */
  retryAfter: z.object({ host: z.string(), at: z.number(), until: z.number() }).exactOptional(),
})

const exchangesSchema = z.array(exchangeSchema)

/** The desired state of a subscription, set by calls, or by a receiver that is gone (410). */
export type Control = z.infer<typeof controlSchema>
/** The state reported by the daemon that serves it. */
export type Report = z.infer<typeof reportSchema>

/** Maximum number of replays whose deliveries are counted. */
export const MAX_REPLAYS = 100
/** Number of chunks of exchanges. The oldest is overwritten. */
export const CHUNKS = 10
const CHUNK_NUMBERS = Array.from({ length: CHUNKS }, (_, chunk) => chunk)
/** How long (ms) a report is kept without an update. */
const REPORT_RETENTION = 30 * DAY
/** The name of the queue of a subscription's jobs. Its lease has the same name. */
export const queueOf = (name: string) => `push/${name}`

/**
 * The stored state of a subscription, for all daemons. A change of its control signals `kv:KEY`.
 */
export function createRecords(kv: KeyValues, name: string) {
  const key = withdrawalKey({ subscription: name })
  const withdrawn = createWithdrawnEvents(kv, key)
  return {
    key,
    control: async () => controlSchema.parse((await kv.get(key))?.value ?? {}),
    change: (change: (control: Control) => Control) =>
      updateKv(kv, key, (stored) => {
        const control = controlSchema.parse(stored ?? {})
        return { value: withUnknownFields(change(control), stored, control) }
      }),
    report: async () => reportSchema.parse((await kv.get(`${key}:report`))?.value ?? {}),
    /** Replaces the report. `change` may be called again, with a newer report. */
    async changeReport(change: (last: Report) => Report): Promise<Report> {
      const written = await updateKv(kv, `${key}:report`, (stored) => {
        return { value: toJson(change(reportSchema.parse(stored ?? {}))), ttl: REPORT_RETENTION }
      })
      return reportSchema.parse(written)
    },
    setExchanges: (chunk: number, exchanges: readonly Exchange[]) =>
      kv.set(`${key}:exchanges:${chunk}`, toJson(exchanges), { ttl: REPORT_RETENTION }),
    /** Adds to those that are stored, from which an erasure may have removed some. */
    addExchanges: (chunk: number, exchanges: readonly Exchange[]) =>
      updateKv(kv, `${key}:exchanges:${chunk}`, (stored) => {
        const kept = exchangesSchema.safeParse(stored).data ?? []
        return { value: toJson([...kept, ...exchanges]), ttl: REPORT_RETENTION }
      }),
    /** The exchanges of the attempts at an event that are still kept. */
    async exchanges(event: string): Promise<Exchange[]> {
      const chunks = await Promise.all(CHUNK_NUMBERS.map((chunk) => kv.get(`${key}:exchanges:${chunk}`)))
      const all = chunks.flatMap((found) => exchangesSchema.safeParse(found?.value).data ?? [])
      return all.filter((each) => each.event === event)
    },
    /** The events that cancelled replays withdrew. */
    withdrawn,
    /** The numbers of its attempts; `now`: when they begin if there are none that can be read. */
    async traffic(now: number): Promise<Traffic> {
      const stored = trafficSchema.safeParse((await kv.get(`${key}:traffic`))?.value)
      return stored.data ?? trafficSchema.parse({ from: now })
    },
    setTraffic: (traffic: Traffic) => kv.set(`${key}:traffic`, toJson(traffic), { ttl: REPORT_RETENTION }),
    async forget(): Promise<void> {
      const { replays } = reportSchema.parse((await kv.get(`${key}:report`))?.value ?? {})
      for (const replay of replays) if (replay.withdrawn) await withdrawn.forget(replay.round)
      await kv.delete(key)
      await kv.delete(`${key}:traffic`)
      await kv.delete(`${key}:report`)
      for (const chunk of CHUNK_NUMBERS) await kv.delete(`${key}:exchanges:${chunk}`)
    },
  }
}

export type Records = ReturnType<typeof createRecords>
