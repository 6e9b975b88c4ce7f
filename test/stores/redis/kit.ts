import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { Redis } from 'ioredis'
import { timeOf } from '../../../src/core/message-id.ts'
import { createRedisStore, type RedisStoreOptions } from '../../../src/stores/redis/index.ts'
import { silent, toEvent } from '../../contract/store/kit.ts'
import { startRedisCluster, startRedisServer } from '../../fixtures/redis-server.ts'
import { cleanup } from '../../runtime/support/cleanup.ts'

/** The timeout of commands allows for a disk that is busy for seconds. */
export function openStore(url: string, rest: Partial<RedisStoreOptions> = {}) {
  return createRedisStore({ url, toEvent, log: silent, commandTimeout: 10_000, ...rest })
}

/**
 * A Redis for one test. It is stopped after the test, and the stores and clients opened here are
 * closed.
 */
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

/** Ms until a store on a cluster gives up a master that hangs. With less, masters of a busy machine seem to hang too. */
export const COMMAND_TIMEOUT = 1_500

/** A store on a Redis Cluster for one test. `master` holds some of its shards. */
export async function clusterOf(t: TestContext) {
  const cluster = await startRedisCluster()
  cleanup(t, () => cluster.stop())
  const [, master] = cluster.nodes
  assert.ok(master)
  const store = await openStore(cluster.url, { commandTimeout: COMMAND_TIMEOUT })
  cleanup(t, () => store.close())
  return { store, master }
}

/** Fails if an id comes more than a second after a later one. */
export function assertOrder(ids: readonly string[]): void {
  let latest = 0
  for (const time of ids.map(timeOf)) {
    assert.ok(time >= latest - 1_000, `${latest - time} ms out of order`)
    latest = Math.max(latest, time)
  }
}
