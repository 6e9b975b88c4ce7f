import type { Json } from '../../core/json.ts'
import type { Blobs, KeyValues } from '../../core/store.ts'
import type { Connection } from './connect.ts'
import { isNothing, listOf, numberOf, textOf, toStoreError } from './reply.ts'
import type { Server } from './scripts.ts'

export function createKeyValues({ run, roots: { kv } }: Server): KeyValues {
  return {
    get: async (key) => {
      const reply = await run('kv', kv, 'get', key)
      if (isNothing(reply)) return undefined
      const [version, text] = listOf(reply)
      const value: Json = JSON.parse(textOf(text))
      return { value, version: numberOf(version) }
    },
    set: async (key, value, { ttl, ifVersion } = {}) => {
      const reply = await run('kv', kv, 'set', key, JSON.stringify(value), ttl ?? '', ifVersion ?? '')
      return isNothing(reply) ? undefined : numberOf(reply)
    },
    delete: async (key) => numberOf(await run('kv', kv, 'delete', key)) === 1,
    list: async (prefix, limit) => listOf(await run('kv', kv, 'list', prefix, limit)).map(textOf),
  }
}

/** Bytes beside the journal: each lies on a slot of its own, and goes when its time is over. */
export function createBlobs({ client, address }: Connection, prefix: string): Blobs {
  const keyOf = (name: string) => `{${prefix}:blob:${name}}`
  const rethrow = (error: unknown) => Promise.reject(toStoreError(error, address))

  return {
    set: async (name, bytes, ttl) => {
      await client.set(keyOf(name), Buffer.from(bytes), 'PX', ttl).catch(rethrow)
    },
    get: async (name) => (await client.getBuffer(keyOf(name)).catch(rethrow)) ?? undefined,
    renew: async (name, ttl) => {
      const left = await client.pttl(keyOf(name)).catch(rethrow)
      if (left >= 0 && left < ttl) await client.pexpire(keyOf(name), ttl).catch(rethrow)
      return left !== -2
    },
  }
}
