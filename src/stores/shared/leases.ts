import { z } from 'zod'
import type { KeyValues, Leases } from '../../core/store.ts'

/** What the keys of leases begin with. */
export const LEASES = 'lease/'

const holderSchema = z.object({
  owner: z.string(),
  token: z.number().exactOptional(),
  /** Ms for which it was taken. */
  ttl: z.number().exactOptional(),
})

/** How much longer than a lease runs it is watched before it is taken for left behind. */
const MARGIN = 1.5

/**
 * Leases as values that run out. The token is the version with which its holder began: versions only grow. A clock that was ahead
 * leaves leases behind that would run for as long: one that its holder has not renewed for longer than it runs, by the monotonic
 * clock of this process, is over, too.
 */
export function createLeases(kv: KeyValues): Leases {
  const watched = new Map<string, { version: number; since: number }>()
  const isLeftBehind = (name: string, version: number, ttl: number) => {
    const known = watched.get(name)
    if (known?.version === version) return performance.now() - known.since > MARGIN * ttl
    watched.set(name, { version, since: performance.now() })
    return false
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
