import { z } from 'zod'
import type { KeyValues } from '../../core/store.ts'
import type { Trouble } from '../../core/trouble.ts'
import { MINUTE } from '../../core/units.ts'
import { type Happening, troubleHappening } from './happenings.ts'

/**
 * How long (ms) a trouble may disappear before it counts as new. Its record is renewed more often
 * than that.
 */
const KEPT = 2 * MINUTE
const RENEW = KEPT / 4
/** A connection that recovers within this time (ms) is not reported. */
const PATIENCE = 10_000

const recordSchema = z.object({ began: z.number(), told: z.boolean() })

/**
 * Publishes each lasting trouble once, when it begins, regardless of how many daemons see it and of
 * crashes. Its record is written before the event, and afterwards marked as published; the event
 * has an idempotency key.
 */
export function createLasting(deps: {
  kv: KeyValues
  publish(happenings: readonly Happening[]): Promise<void>
  now(): number
}) {
  const { kv, now } = deps
  const renewed = new Map<string, number>()

  const tell = async (trouble: Trouble): Promise<void> => {
    const place = `notify-trouble:${trouble.key}`
    await kv.set(place, { began: now(), told: false }, { ifVersion: 0, ttl: KEPT })
    const record = recordSchema.safeParse((await kv.get(place))?.value).data
    if (!record) return
    const happening = record.told ? undefined : troubleHappening(trouble, record.began)
    if (happening) await deps.publish([happening])
    await kv.set(place, { ...record, told: true }, { ttl: KEPT })
    renewed.set(trouble.key, now())
  }

  return async (troubles: readonly Trouble[]): Promise<void> => {
    const due = troubles.filter((one) => {
      if (!troubleHappening(one, 0)) return false
      if (one.code === 'gateway-down' && now() - (one.since ?? 0) < PATIENCE) return false
      return now() - (renewed.get(one.key) ?? 0) > RENEW
    })
    for (const trouble of due) await tell(trouble)
    const keys = new Set(troubles.map(({ key }) => key))
    for (const key of renewed.keys()) if (!keys.has(key)) renewed.delete(key)
  }
}
