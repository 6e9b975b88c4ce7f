import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { type JobsOptions, Queue, QueueEvents } from 'bullmq'
import { Redis } from 'ioredis'
import { openSite } from '../../fixtures/daemon.ts'
import { startRedisServer } from '../../fixtures/redis-server.ts'
import { until } from '../../fixtures/until.ts'

const ROUTES = `
gateways:
  incoming: { transport: bullmq, queue: incoming }
  asked: { transport: bullmq, queue: asked, respond: result, timeout: 20s }
  hasty: { transport: bullmq, queue: hasty, respond: result, timeout: 200ms }
routes:
  - { name: slow, match: { text: slow* }, skill: slow }
  - { name: broken, match: { text: broken }, skill: broken, retry: { attempts: 1 } }
  - { name: rest, match: { gateway: [asked, hasty] }, skill: echo }
`
const SLOW = `
import { setTimeout as pause } from 'node:timers/promises'
export default { description: 'is slow', run: ({ message }) => pause(2_500, message.text) }`
const BROKEN = `export default { description: 'fails', run() { throw new Error('no') } }`

describe('a bullmq gateway', { timeout: 300_000 }, async () => {
  const open: { close(): Promise<void> }[] = []
  after(() => Promise.all(open.map((each) => each.close())))
  const redis = await startRedisServer({ appendfsync: 'always' })
  const skills = { slow: SLOW, broken: BROKEN }
  const site = openSite({ ownProcess: 'first', routes: ROUTES, env: { REDIS_URL: redis.url }, skills })
  after(redis.stop)
  let daemon = await site.start()

  const connection = () => ({ url: redis.url })
  /** Adds a job as a program does, and gives it with the wait for its value. */
  const add = async (name: string, data: unknown, options: JobsOptions = {}) => {
    const queue = new Queue(name, { connection: connection() })
    // From now: its first read may come after a quick job is over.
    const events = new QueueEvents(name, { connection: connection(), lastEventId: `${Date.now()}-0` })
    open.push(queue, events)
    await events.waitUntilReady()
    const job = await queue.add('order', data, options)
    return { queue, job, value: () => job.waitUntilFinished(events, 40_000) }
  }

  test('takes a job as a message, and is done with it once that is durable', async () => {
    const said = {
      text: 'new order',
      sender: 'shop',
      conversation: 'c7',
      subject: 'O',
      data: { total: 3 },
      urgent: true,
    }
    const { value } = await add('incoming', said)
    const { id } = await value()
    const message = Object(await daemon.invoke('message-show', { id })).message
    assert.equal(message.text, 'new order')
    assert.deepEqual([message.from.id, message.conversation, message.subject], ['shop', 'incoming:c7', 'O'])
    assert.deepEqual(message.data, { total: 3, urgent: true, event: 'order' })
  })

  test('takes a job once by its id, and one of a queue that was wiped anew', async () => {
    const first = await add('incoming', { text: 'x' }, { jobId: 'order-7' })
    const { id } = await first.value()
    await first.job.remove()
    const again = await add('incoming', { text: 'x' }, { jobId: 'order-7' })
    assert.deepEqual(await again.value(), { id, duplicate: true })
    const numbered = await add('incoming', { text: 'y' })
    const one = await numbered.value()
    await numbered.queue.obliterate({ force: true })
    const other = await add('incoming', { text: 'y' })
    assert.equal(Object(await other.value()).duplicate, undefined)
    assert.notEqual(Object(await other.value()).id, one.id)
  })

  test('keeps the digits of ids that another language wrote as numbers', async () => {
    const { job, value } = await add('incoming', { text: 'x', data: {} }, { delay: 60_000 })
    const client = new Redis(redis.url)
    const data = '{"text":"x","sender":7615917337495251231,"data":{"id":7615917337495251232,"total":3}}'
    await client.hset(`bull:incoming:${job.id}`, 'data', data)
    client.disconnect()
    await job.promote()
    const { id } = await value()
    const message = Object(await daemon.invoke('message-show', { id })).message
    assert.deepEqual([message.from.id, message.data.id], ['7615917337495251231', '7615917337495251232'])
    assert.equal(message.data.total, 3)
  })

  test('fails a job for good whose data is no message', async () => {
    for (const data of [[1], null, { text: 7 }, { text: 'x', data: { replyTarget: {} } }]) {
      const { job, queue, value } = await add('incoming', data, { attempts: 5 })
      await assert.rejects(value(), /is not a message such as \{"text":"hi"/)
      assert.equal((await queue.getJob(job.id ?? ''))?.attemptsMade, 1)
    }
  })

  test('gives the reply as the value of the job with `respond: result`', async () => {
    assert.equal(await (await add('asked', { text: 'hello' })).value(), 'You said: hello')
    await assert.rejects((await add('asked', { text: 'broken' })).value(), /became a dead letter/)
    await assert.rejects((await add('hasty', { text: 'slow' })).value(), /not within 200ms/)
  })

  test('gives one answer where the daemon is killed in the middle, or stopped', async () => {
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      const { job, value } = await add('asked', { text: `slow ${signal}` })
      await until(async () => (await job.getState()) === 'active', 'the job to be taken')
      const messages = async () =>
        JSON.stringify(await daemon.invoke('message-list', { gateway: 'asked', limit: 100 }))
      await until(async () => (await messages()).includes(signal), 'the message')
      await daemon.end(signal)
      daemon = await site.start()
      assert.equal(await value(), `slow ${signal}`)
      assert.equal((await messages()).split(`"slow ${signal}"`).length, 2)
    }
  })
})
