import type { Blobs } from '../../core/store.ts'
import type { Connection } from './connect.ts'
import { toStoreError } from './failure.ts'

/** Bytes beside the journal: each lies on a slot of its own, and goes when its time is over. */
export function createBlobs({ client, address }: Connection, prefix: string): Blobs {
  const keyOf = (name: string) => `{${prefix}:blob:${name}}`
  const orThrow = async <Answer>(answer: Promise<Answer>): Promise<Answer> => {
    try {
      return await answer
    } catch (error) {
      throw toStoreError(error, address)
    }
  }

  return {
    set: async (name, bytes, ttl) => {
      await orThrow(client.set(keyOf(name), Buffer.from(bytes), 'PX', ttl))
    },
    get: async (name) => (await orThrow(client.getBuffer(keyOf(name)))) ?? undefined,
    renew: async (name, ttl) => {
      const left = await orThrow(client.pttl(keyOf(name)))
      if (left >= 0 && left < ttl) await orThrow(client.pexpire(keyOf(name), ttl))
      return left !== -2
    },
  }
}
