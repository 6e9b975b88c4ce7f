import { z } from 'zod'

/** The address of a Redis server, or of its sentinels. */
export const redisUrl = z
  .string()
  .regex(
    /^rediss?(-sentinel)?:\/\/\S+$/,
    'expected redis://…, rediss://…, redis-sentinel://… or rediss-sentinel://…',
  )
