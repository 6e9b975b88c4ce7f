import { Queue, Worker } from 'bullmq'
import { z } from 'zod'
import { githubBody } from '../lib/github-webhook.ts'
import { redisOptions } from '../lib/redis-options.ts'
import { servePeer } from '../lib/serve-peer.ts'

// The yardstick of dispatch: a worker of BullMQ that does nothing with each job.
const schema = z.object({ count: z.number() })
const body = JSON.parse(githubBody())
let round = 0

servePeer({
  /** Adds the jobs, then works them off; the first tenth warms up and does not count. */
  async drain(params) {
    const { count } = schema.parse(params)
    const name = `drain-${round++}`
    const queue = new Queue(name, { connection: redisOptions() })
    for (let done = 0; done < count; done += 500) {
      const size = Math.min(500, count - done)
      await queue.addBulk(Array.from({ length: size }, () => ({ name: 'push', data: body })))
    }
    const finished = Promise.withResolvers<number>()
    let done = 0
    let began = 0
    const worker = new Worker(name, async () => {}, { connection: redisOptions(), concurrency: 64 })
    worker.on('completed', () => {
      done++
      if (done === Math.floor(count / 10)) began = performance.now()
      if (done === count) finished.resolve(performance.now())
    })
    const ended = await finished.promise
    await worker.close()
    await queue.close()
    return { rate: (count - Math.floor(count / 10)) / ((ended - began) / 1000) }
  },
})
