import type { DaemonConfig } from '../config/sections.ts'
import type { Event } from '../core/event.ts'
import type { Log } from '../core/log.ts'
import type { Message } from '../core/message.ts'
import type { Store } from '../core/store.ts'
import type { Check } from '../core/transport.ts'

/** Opens the store that the configuration names: Redis where a URL is set, else the embedded one in the data dir. */
export async function openStore(options: {
  daemon: Pick<DaemonConfig, 'dataDir' | 'redisUrl' | 'redisPrefix' | 'redis'>
  toEvent(message: Message): Event
  log: Log
}): Promise<Store> {
  const { daemon, toEvent, log } = options
  if (daemon.redisUrl !== undefined) {
    const { createRedisStore } = await import('../stores/redis/index.ts')
    const { redisUrl: url, redisPrefix: prefix, redis } = daemon
    return createRedisStore({ url, prefix, ...redis, toEvent, log })
  }
  const { createEmbeddedStore } = await import('../stores/embedded/index.ts')
  return createEmbeddedStore({ dir: daemon.dataDir, toEvent, log })
}

/** What only this kind of store can check about itself, for `trivium doctor`. */
export async function checkStore(
  daemon: Pick<DaemonConfig, 'redisUrl' | 'redis'>,
  log: Log,
): Promise<Check[]> {
  if (daemon.redisUrl === undefined) return []
  const { checkRedis } = await import('../stores/redis/check.ts')
  return checkRedis({ url: daemon.redisUrl, ...daemon.redis, log })
}
