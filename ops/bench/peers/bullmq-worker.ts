// The baseline of dispatch: a BullMQ worker that does nothing with each job.
import { randomUUID } from 'node:crypto'
import { Queue, QueueEvents, Worker } from 'bullmq'
import { z } from 'zod'
import { githubBody } from '../lib/github-webhook.ts'
import { sampleMessage } from '../lib/sample-message.ts'
import { redisOptions, servePeer } from '../lib/serve-peer.ts'

const schema = z.object({ count: z.number() })
const body = JSON.parse(githubBody())
/** How long (s) and how many finished jobs stay in Redis, as for the jobs of a route. */
const RETENTION = { age: 7 * 86_400, count: 1_000 }
/** The job options of a route. */
const OPTIONS = {
  attempts: 3,
  backoff: { type: 'exponential', delay: 1_000 },
  removeOnComplete: RETENTION,
  removeOnFail: { age: RETENTION.age },
}
const CONCURRENCY = 64
const ADD_BATCH = 500
let round = 0

const queueSchema = schema.extend({ queue: z.string() })

/** Processes `count` incoming jobs; the first tenth warms up and does not count. */
async function work(params: unknown) {
  const { count, queue } = queueSchema.parse(params)
  const { promise: end, resolve } = Promise.withResolvers<number>()
  const warmUp = Math.floor(count / 10)
  let done = 0
  // Replaced after the warm-up; fewer than ten jobs have none.
  let start = performance.now()
  const worker = new Worker(queue, async () => 'done', {
    connection: redisOptions(),
    concurrency: CONCURRENCY,
  })
  worker.on('completed', () => {
    done++
    if (done === warmUp) start = performance.now()
    if (done === count) resolve(performance.now())
  })
  const seconds = ((await end) - start) / 1000
  await worker.close()
  return { rate: (count - warmUp) / seconds }
}

servePeer({
  work,
  /** Adds `count` messages and waits for the result of each, 64 at a time, as a route does. */
  async add(params) {
    const { count, queue: name } = queueSchema.parse(params)
    const queue = new Queue(name, { connection: redisOptions() })
    // From the start of the stream: a job may end before the first read.
    const events = new QueueEvents(name, { connection: redisOptions(), lastEventId: '0-0' })
    const onCompleted = new Map<string, () => void>()
    events.on('completed', ({ jobId }) => onCompleted.get(jobId)?.())
    await events.waitUntilReady()
    let added = 0
    const addInTurn = async () => {
      while (added++ < count) {
        const jobId = randomUUID()
        const done = new Promise<void>((resolve) => onCompleted.set(jobId, resolve))
        const message = { ...sampleMessage(jobId), id: jobId, conversation: jobId, receivedAt: Date.now() }
        await queue.add('all', message, { ...OPTIONS, jobId })
        await done
        onCompleted.delete(jobId)
      }
    }
    await Promise.all(Array.from({ length: CONCURRENCY }, addInTurn))
    await Promise.all([queue.close(), events.close()])
    return {}
  },
  /** Adds `count` jobs, then processes them; the first tenth warms up and does not count. */
  async drain(params) {
    const { count } = schema.parse(params)
    const name = `drain-${round++}`
    const queue = new Queue(name, { connection: redisOptions() })
    for (let added = 0; added < count; added += ADD_BATCH) {
      const size = Math.min(ADD_BATCH, count - added)
      await queue.addBulk(Array.from({ length: size }, () => ({ name: 'push', data: body })))
    }
    await queue.close()
    return work({ count, queue: name })
  },
})
