import { z } from 'zod'
import { redisUrl } from '../../core/redis-url.ts'

/** The section `queues:` of routes.yaml: the Redis of BullMQ queues. */
export const queuesSchema = z.strictObject({
  redis: redisUrl.exactOptional().describe('Redis of the BullMQ queues; by default that of the store.'),
  prefix: z.string().min(1).default('bull').describe('Prefix of the keys of BullMQ.'),
})
