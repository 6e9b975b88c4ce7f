import { createRedisStore, type RedisStoreOptions } from '../../../src/stores/redis/index.ts'
import { quiet, toEvent } from '../../contract/store/kit.ts'

export function openStore(url: string, rest: Partial<RedisStoreOptions> = {}) {
  return createRedisStore({ url, toEvent, log: quiet, ...rest })
}
