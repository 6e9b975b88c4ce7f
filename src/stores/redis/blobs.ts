import type { Blobs } from '../../core/store.ts'
import type { Connection } from './connect.ts'
import { toStoreError } from './failure.ts'

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
