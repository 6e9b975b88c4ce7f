import { randomUUID } from 'node:crypto'
import { HOUR, MIB } from '../../src/core/units.ts'
import type { Delivery } from './verifier-types.ts'

/** Maximum number of kept deliveries of a gateway. */
const MAX_DELIVERIES = 50
const MAX_AGE_MS = HOUR
/** Maximum size of all kept deliveries of a gateway. */
const MAX_BYTES = MIB

/** A delivery that was refused at `at` (Unix ms), unchanged. */
export type KeptDelivery = Delivery & { id: string; at: number }

/** The newest refused deliveries of one gateway. */
export type KeptDeliveries = {
  /** Returns the id of the delivery; undefined if it is too large. */
  add(delivery: Delivery): string | undefined
  /** Newest first. */
  list(): readonly KeptDelivery[]
}

/**
 * Keeps the newest refused deliveries of each gateway, also while the gateway starts again with
 * another configuration. Only in memory, because they contain credentials of senders.
 */
export function createKeptDeliveries(now: () => number): (gateway: string) => KeptDeliveries {
  const keptOf = new Map<string, KeptDelivery[]>()
  const recent = (gateway: string) => (keptOf.get(gateway) ?? []).filter(({ at }) => at > now() - MAX_AGE_MS)
  return (gateway) => {
    // Gateways that were removed add no more.
    for (const name of [...keptOf.keys()]) if (recent(name).length === 0) keptOf.delete(name)
    return {
      add(delivery) {
        if (delivery.raw.length > MAX_BYTES) return undefined
        const id = randomUUID()
        let room = MAX_BYTES - delivery.raw.length
        const others = recent(gateway)
          .slice(0, MAX_DELIVERIES - 1)
          .filter(({ raw }) => {
            room -= raw.length
            return room >= 0
          })
        // Copied, because `raw` may be a slice, which would keep a larger buffer in memory.
        const one = { ...delivery, raw: Buffer.from(delivery.raw), id, at: now() }
        keptOf.set(gateway, [one, ...others])
        return id
      },
      list: () => recent(gateway),
    }
  }
}
