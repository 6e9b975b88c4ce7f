import { randomUUID } from 'node:crypto'
import { Queue, QueueEvents, Worker } from 'bullmq'
import { z } from 'zod'
import { githubBody } from '../lib/github-webhook.ts'
import { sampleMessage } from '../lib/sample-message.ts'
import { redisOptions, servePeer } from '../lib/serve-peer.ts'

// The yardstick of dispatch: a worker of BullMQ that does nothing with each job.
const schema = z.object({ count: z.number() })
const body = JSON.parse(githubBody())
/** As a route hands its messages over: tried again, and kept for a while. */
const KEPT = { age: 7 * 86_400, count: 1_000 }
const OPTIONS = {
  attempts: 3,
  backoff: { type: 'exponential', delay: 1_000 },
  removeOnComplete: KEPT,
  removeOnFail: { age: KEPT.age },
}
let round = 0

const named = schema.extend({ queue: z.string() })

/** Works off so many jobs that come in; the first tenth warms up and does not count. */
async function work(params: unknown) {
  const { count, queue } = named.parse(params)
  const finished = Promise.withResolvers<number>()
  const first = Math.floor(count / 10)
  let done = 0
  let began = 0
  const worker = new Worker(queue, async () => 'done', { connection: redisOptions(), concurrency: 64 })
  worker.on('completed', () => {
    done++
    if (done === first) began = performance.now()
    if (done === count) finished.resolve(performance.now())
  })
  const ended = await finished.promise
  await worker.close()
  return { rate: (count - first) / ((ended - began) / 1000) }
}

servePeer({
  work,
  /** Adds so many messages and waits for what each returns, 64 at once, as who hands them over does. */
  async add(params) {
    const { count, queue: name } = named.parse(params)
    const queue = new Queue(name, { connection: redisOptions() })
    const events = new QueueEvents(name, { connection: redisOptions(), lastEventId: '0-0' })
    const waiting = new Map<string, () => void>()
    events.on('completed', ({ jobId }) => waiting.get(jobId)?.())
    await events.waitUntilReady()
    let added = 0
    const one = async () => {
      while (added++ < count) {
        const jobId = randomUUID()
        const done = new Promise<void>((resolve) => waiting.set(jobId, resolve))
        const message = { ...sampleMessage(jobId), id: jobId, conversation: jobId, receivedAt: Date.now() }
        await queue.add('all', message, { ...OPTIONS, jobId })
        await done
        waiting.delete(jobId)
      }
    }
    await Promise.all(Array.from({ length: 64 }, one))
    await Promise.all([queue.close(), events.close()])
    return {}
  },
  /** Adds the jobs, then works them off; the first tenth warms up and does not count. */
  async drain(params) {
    const { count } = schema.parse(params)
    const name = `drain-${round++}`
    const queue = new Queue(name, { connection: redisOptions() })
    for (let done = 0; done < count; done += 500) {
      const size = Math.min(500, count - done)
      await queue.addBulk(Array.from({ length: size }, () => ({ name: 'push', data: body })))
    }
    await queue.close()
    return work({ count, queue: name })
  },
})
