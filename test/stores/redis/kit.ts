import type { TestContext } from 'node:test'
import { Redis } from 'ioredis'
import { createRedisStore, type RedisStoreOptions } from '../../../src/stores/redis/index.ts'
import { silent, toEvent } from '../../contract/store/kit.ts'
import { startRedisServer } from '../../fixtures/redis-server.ts'
import { cleanup } from '../../runtime/support/cleanup.ts'

/** With time for a disk that is busy for seconds. */
export function openStore(url: string, rest: Partial<RedisStoreOptions> = {}) {
  return createRedisStore({ url, toEvent, log: silent, commandTimeout: 10_000, ...rest })
}

/** A Redis of the test's own, which ends after it with the stores and the clients that were opened here. */
export async function redisOf(t: TestContext, args: string[] = []) {
  const server = await startRedisServer({ args })
  cleanup(t, () => server.stop())
  return {
    server,
    async open(rest?: Partial<RedisStoreOptions>) {
      const store = await openStore(server.url, rest)
      cleanup(t, () => store.close())
      return store
    },
    client() {
      const client = new Redis(server.url).on('error', () => {})
      cleanup(t, () => client.disconnect())
      return client
    },
  }
}
