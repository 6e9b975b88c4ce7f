import { z } from 'zod'
import type { KeyValues, Leases } from '../../core/store.ts'
import { HOUR } from '../../core/units.ts'

/** Key prefix of leases. */
export const LEASES = 'lease/'

const holderSchema = z.object({
  owner: z.string(),
  token: z.number().exactOptional(),
  /** Duration in ms. */
  ttl: z.number().exactOptional(),
})

/** A lease is considered abandoned after this multiple of its duration without a renewal. */
const MARGIN = 1.5
/** Above this number of watched leases, unused ones are forgotten. */
const MANY = 1_000
/** A watched lease is unused if nobody asked for it in this time (ms). */
const UNSEEN = HOUR

/**
 * Leases as expiring values. The token is the version at which the holder acquired it; versions
 * only increase. A clock that was ahead leaves leases that expire too late, so a lease that was not
 * renewed for longer than its duration, by this process's monotonic clock, also counts as expired.
 */
export function createLeases(kv: KeyValues): Leases {
  const watched = new Map<string, { version: number; since: number; seen: number }>()
  const isLeftBehind = (name: string, version: number, ttl: number) => {
    const seen = performance.now()
    const known = watched.get(name)
    if (known?.version !== version) {
      watched.set(name, { version, since: seen, seen })
      if (watched.size > MANY) forgetUnseen(seen - UNSEEN)
      return false
    }
    known.seen = seen
    return seen - known.since > MARGIN * ttl
  }
  /** Forgets leases that nobody asks for any more, such as those of ended jobs. */
  const forgetUnseen = (before: number) => {
    for (const [name, { seen }] of watched) if (seen < before) watched.delete(name)
  }
  const find = async (name: string) => {
    const found = await kv.get(LEASES + name)
    return found && { version: found.version, ...holderSchema.parse(found.value) }
  }
  return {
    acquire: async (name, owner, ttl) => {
      const held = await find(name)
      const isOurs = held?.owner === owner
      if (held && !isOurs && !isLeftBehind(name, held.version, held.ttl ?? ttl)) return undefined
      watched.delete(name)
      const begun = isOurs ? (held.token ?? held.version) : undefined
      const value = { owner, ttl, ...(begun !== undefined && { token: begun }) }
      const version = await kv.set(LEASES + name, value, { ttl, ifVersion: held?.version ?? 0 })
      return version === undefined ? undefined : { token: begun ?? version }
    },
    release: async (name, owner) => {
      const held = await find(name)
      if (held?.owner === owner) await kv.set(LEASES + name, { owner }, { ttl: 0, ifVersion: held.version })
    },
  }
}
