import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { after, type TestContext } from 'node:test'
import type { Store } from '../../../src/core/store.ts'
import { createEmbeddedStore } from '../../../src/stores/embedded/index.ts'
import { createRedisStore } from '../../../src/stores/redis/index.ts'
import { toEvent } from '../../contract/store/kit.ts'
import { type RedisServer, startRedisServer } from '../../fixtures/redis-server.ts'
import { cleanup } from './cleanup.ts'
import { createFolder } from './folder.ts'
import { createMemoryLog } from './log.ts'

/**
 * How a test opens stores of one kind. Two stores at the same place are two daemons on the same
 * data.
 */
export type StoreKind = {
  kind: string
  place(t: TestContext): Promise<string>
  open(t: TestContext, place: string): Promise<Store>
}

const embedded: StoreKind = {
  kind: 'embedded',
  place: async (t) => join(await createFolder(t), 'store'),
  async open(t, dir) {
    const store = await createEmbeddedStore({ dir, toEvent, log: createMemoryLog() })
    cleanup(t, () => store.close())
    return store
  },
}

/** Both stores, on a real SQLite file and a real redis-server that the test file shares. */
export function storeKinds(): StoreKind[] {
  let redis: Promise<RedisServer> | undefined
  after(async () => (await redis)?.stop())
  return [
    embedded,
    {
      kind: 'redis',
      async place() {
        redis ??= startRedisServer()
        await redis
        return randomUUID()
      },
      async open(t, prefix) {
        redis ??= startRedisServer()
        const { url } = await redis
        const store = await createRedisStore({ url, prefix, toEvent, log: createMemoryLog() })
        cleanup(t, () => store.close())
        return store
      },
    },
  ]
}

/** An embedded store for one test. */
export async function openStore(t: TestContext): Promise<Store> {
  return embedded.open(t, await embedded.place(t))
}
