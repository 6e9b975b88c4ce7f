import { transports } from '../../transports/registry.ts'
import type { Config } from '../config/load-config.ts'
import type { DaemonConfig } from '../config/sections.ts'
import type { Log } from '../core/log.ts'
import type { Store } from '../core/store.ts'
import type { Check } from '../core/transport.ts'
import { createToEvent } from '../engine/message-event.ts'
import { defined } from '../lib/defined.ts'

/**
 * Opens the configured store: Redis if a URL is set, otherwise the embedded store in the data
 * directory. `lock`: the data directory's lock, if the caller already holds it. `now`: the clock of
 * the embedded store. The Redis store uses the clock of its server, and this one only to compute
 * when to look again.
 */
export async function openStore(
  daemon: Pick<DaemonConfig, 'dataDir' | 'redisUrl' | 'redisPrefix' | 'redis'>,
  { log, lock, now }: { log: Log; lock?: Disposable; now?: () => number },
): Promise<Store> {
  const toEvent = createToEvent(new Map(Object.entries(transports)))
  if (daemon.redisUrl !== undefined) {
    const { createRedisStore } = await import('../stores/redis/index.ts')
    const { redisUrl: url, redisPrefix: prefix, redis } = daemon
    return createRedisStore({ url, prefix, ...redis, toEvent, log, ...defined({ clock: now }) })
  }
  const { createEmbeddedStore } = await import('../stores/embedded/index.ts')
  return createEmbeddedStore({ dir: daemon.dataDir, toEvent, log, ...defined({ lock, now }) })
}

/** Checks the Redis servers of the store and of the queues, for `trivium doctor`. */
export async function checkRedisServers({ daemon, queues }: Config, log: Log): Promise<Check[]> {
  const { redisUrl } = daemon
  if (queues.redis === undefined) return []
  const storeChecks = redisUrl === undefined ? [] : await checkStoreServers(redisUrl, daemon, log)
  if (queues.redis === redisUrl) return storeChecks
  const { checkRedis } = await import('../stores/redis/check.ts')
  const checks = await checkRedis({ url: queues.redis, log })
  // A lost queue job is added again, so persistence matters less.
  const queueChecks = checks
    .filter(({ name }) => !/persistence|appendfsync/.test(name))
    .map((check) => ({ ...check, name: `queues: ${check.name}` }))
  return [...storeChecks, ...queueChecks]
}

async function checkStoreServers(url: string, daemon: Config['daemon'], log: Log): Promise<Check[]> {
  const { redis, redisPrefix: prefix } = daemon
  const { checkRedis } = await import('../stores/redis/check.ts')
  const { checkStateKeys } = await import('../stores/redis/check-keys.ts')
  const options = { url, ...redis, log }
  return [...(await checkRedis(options)), ...(await checkStateKeys({ ...options, prefix }))]
}
