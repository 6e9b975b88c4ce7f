import { z } from 'zod'
import type { KeyValues, Leases } from '../../core/store.ts'

/** What the keys of leases begin with. */
export const LEASES = 'lease/'

const holderSchema = z.object({ owner: z.string(), token: z.number().exactOptional() })

/** Leases as values that run out. The token is the version with which its holder began: versions only grow. */
export function createLeases(kv: KeyValues): Leases {
  const find = async (name: string) => {
    const found = await kv.get(LEASES + name)
    return found && { version: found.version, ...holderSchema.parse(found.value) }
  }
  return {
    acquire: async (name, owner, ttl) => {
      const held = await find(name)
      if (held && held.owner !== owner) return undefined
      const begun = held && (held.token ?? held.version)
      const value = begun === undefined ? { owner } : { owner, token: begun }
      const version = await kv.set(LEASES + name, value, { ttl, ifVersion: held?.version ?? 0 })
      return version === undefined ? undefined : { token: begun ?? version }
    },
    release: async (name, owner) => {
      const held = await find(name)
      if (held?.owner === owner) await kv.set(LEASES + name, { owner }, { ttl: 0, ifVersion: held.version })
    },
  }
}
