import type { Json } from '../../core/json.ts'
import type { KeyValues, Leases } from '../../core/store.ts'
import type { Roots } from './keys.ts'
import { isNothing, listOf, numberOf, textOf } from './reply.ts'
import type { Run } from './scripts.ts'

export function createKeyValues(run: Run, { kv }: Roots): KeyValues {
  return {
    get: async (key) => {
      const reply = await run('kv-get', kv, key)
      if (isNothing(reply)) return undefined
      const [version, value] = listOf(reply)
      return { value: JSON.parse(textOf(value)) as Json, version: numberOf(version) }
    },
    set: async (key, value, { ttl, ifVersion } = {}) => {
      const reply = await run('kv-set', kv, key, JSON.stringify(value), ttl ?? '', ifVersion ?? '')
      return isNothing(reply) ? undefined : numberOf(reply)
    },
    delete: async (key) => numberOf(await run('kv-delete', kv, key)) === 1,
    list: async (prefix, limit) => listOf(await run('kv-list', kv, prefix, limit)).map(textOf),
  }
}

export function createLeases(run: Run, roots: Roots): Leases {
  return {
    acquire: async (name, owner, ttl) => {
      const token = await run('lease-acquire', roots.lease(name), name, owner, ttl)
      return isNothing(token) ? undefined : { token: numberOf(token) }
    },
    release: async (name, owner) => {
      await run('lease-release', roots.lease(name), name, owner)
    },
  }
}
