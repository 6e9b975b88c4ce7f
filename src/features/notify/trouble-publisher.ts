import { z } from 'zod'
import type { KeyValues } from '../../core/store.ts'
import type { Trouble } from '../../core/trouble.ts'
import { MINUTE } from '../../core/units.ts'
import { type NotifyEvent, troubleEvent } from './notify-events.ts'

/**
 * How long (ms) the record of a trouble is kept without a renewal. A trouble that returns after
 * this time counts as new.
 */
const RECORD_TTL = 2 * MINUTE
const RENEW_INTERVAL = RECORD_TTL / 4
/** A gateway that recovers within this time (ms) is not reported. */
const RECOVERY_TIME = 10_000

const recordSchema = z.object({
  /** When the trouble was first seen (Unix ms). */
  began: z.number(),
  /** Whether it was published. */
  told: z.boolean(),
})

/**
 * Returns the function that takes the current troubles and publishes the new ones. Each is
 * published once, even after a crash or if several daemons see it: its record is written before the
 * event and marked after it, and the event has an idempotency key.
 */
export function createTroublePublisher(deps: {
  kv: KeyValues
  publish(events: readonly NotifyEvent[]): Promise<void>
  now(): number
}) {
  const { kv, now } = deps
  /** When this process last renewed the record of a trouble (Unix ms), by its key. */
  const renewed = new Map<string, number>()

  const publish = async (trouble: Trouble): Promise<void> => {
    const recordKey = `notify-trouble:${trouble.key}`
    await kv.set(recordKey, { began: now(), told: false }, { ifVersion: 0, ttl: RECORD_TTL })
    const record = recordSchema.safeParse((await kv.get(recordKey))?.value).data
    if (!record) return
    const event = record.told ? undefined : troubleEvent(trouble, record.began)
    if (event) await deps.publish([event])
    await kv.set(recordKey, { ...record, told: true }, { ttl: RECORD_TTL })
    renewed.set(trouble.key, now())
  }

  return async (troubles: readonly Trouble[]): Promise<void> => {
    const due = troubles.filter((trouble) => {
      if (!troubleEvent(trouble, 0)) return false
      if (trouble.code === 'gateway-down' && now() - (trouble.since ?? 0) < RECOVERY_TIME) return false
      return now() - (renewed.get(trouble.key) ?? 0) > RENEW_INTERVAL
    })
    for (const trouble of due) await publish(trouble)
    const current = new Set(troubles.map(({ key }) => key))
    for (const key of renewed.keys()) if (!current.has(key)) renewed.delete(key)
  }
}
