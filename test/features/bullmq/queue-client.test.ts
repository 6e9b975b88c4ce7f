import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { createQueueClient } from '../../../src/features/bullmq/queue-client.ts'
import { startRedisServer } from '../../fixtures/redis-server.ts'
import { until } from '../../fixtures/until.ts'
import { messageOf } from '../../runtime/support/message.ts'

test('a job that completes at the moment of its timeout keeps its result and does not run again', {
  timeout: 300_000,
}, async (t) => {
  const redis = await startRedisServer()
  const connection = new Redis(redis.url, { maxRetriesPerRequest: null })
  const options = { connection, prefix: 'q' }
  const failed = () => {}
  const client = await createQueueClient('work', { options, failed, worked() {}, trouble: () => undefined })
  const permission = Promise.withResolvers<void>()
  let runs = 0
  const worker = new Worker(
    'work',
    async () => {
      runs++
      await permission.promise
      return 'in time'
    },
    options,
  )
  t.after(async () => {
    await worker.close()
    await client.close()
    connection.disconnect()
    await redis.stop()
  })
  const { queue } = client
  const remove = queue.remove.bind(queue)
  // The client removes a job at its timeout: the job completes just before.
  queue.remove = async (id, ...rest) => {
    permission.resolve()
    await until(async () => (await queue.getJobState(id)) === 'completed', 'the result')
    return remove(id, ...rest)
  }
  const retry = { attempts: 1, backoff: 'fixed' as const, delay: 10, maxDelay: 10 }
  const result = await client.run({
    message: messageOf({ receivedAt: Date.now() }),
    route: { name: 'all', retry, timeout: 300 },
    signal: AbortSignal.timeout(30_000),
    progress() {},
  })
  assert.deepEqual([result, runs], ['in time', 1])
})
