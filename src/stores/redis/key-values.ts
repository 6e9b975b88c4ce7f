import type { Blobs, KeyValues } from '../../core/store.ts'
import { storable } from '../shared/values.ts'
import type { Connection } from './connect.ts'
import { toStoreError } from './redis-error.ts'
import type { Server } from './scripts.ts'

export function createKeyValues({ run, roots: { kv } }: Server): KeyValues {
  return {
    get: async (key) => {
      const [version, json] = (await run<[string, string] | null>('kv', kv, 'get', key)) ?? []
      return json === undefined ? undefined : { value: JSON.parse(json), version: Number(version) }
    },
    set: async (key, value, { ttl, ifVersion, keepTtl } = {}) =>
      (await run<number | null>(
        'kv',
        kv,
        'set',
        key,
        JSON.stringify(value),
        ttl === undefined ? '' : storable(ttl),
        ifVersion ?? '',
        keepTtl ? 1 : '',
      )) ?? undefined,
    delete: async (key) => (await run('kv', kv, 'delete', key)) === 1,
    list: async (prefix, limit, after = '') => {
      const keys = await run<string[]>('kv', kv, 'list', prefix, limit + 1, after)
      return { items: keys.slice(0, limit), more: keys.length > limit }
    },
  }
}

/** Binary values, each in its own slot, with expiry. */
export function createBlobs({ client, address }: Connection, prefix: string): Blobs {
  const keyOf = (name: string) => `{${prefix}:blob:${name}}`
  const rethrow = (error: unknown) => Promise.reject(toStoreError(error, address))

  return {
    set: async (name, bytes, ttl) => {
      await client.set(keyOf(name), Buffer.from(bytes), 'PX', storable(ttl)).catch(rethrow)
    },
    get: async (name) => (await client.getBuffer(keyOf(name)).catch(rethrow)) ?? undefined,
    delete: async (name) => {
      await client.del(keyOf(name)).catch(rethrow)
    },
    renew: async (name, ttl) => {
      const left = await client.pttl(keyOf(name)).catch(rethrow)
      if (left >= 0 && left < ttl) await client.pexpire(keyOf(name), ttl).catch(rethrow)
      return left !== -2
    },
  }
}
