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

  const connection = { url: redis.url }
  /** Adds a job as a program does; `value` waits for its result. */
  const add = async (name: string, data: unknown, options: JobsOptions = {}) => {
    const queue = new Queue(name, { connection })
    // All events from now on: a quick job may be done before the first read.
    const events = new QueueEvents(name, { connection, lastEventId: `${Date.now()}-0` })
    open.push(queue, events)
    await events.waitUntilReady()
    const job = await queue.add('order', data, options)
    return { queue, job, value: () => job.waitUntilFinished(events, 40_000) }
  }

  test('shortens a long job id to a key, as webhooks do, and accepts the job once', async () => {
    const { value } = await add('incoming', { text: 'long' }, { jobId: `order-${'9'.repeat(1_000)}` })
    const { id } = await value()
    const { key } = Object(await daemon.invoke('message-show', { id })).message
    assert.match(key, /^order-9+…sha256:/)
    assert.ok(key.length <= 255, `${key.length} characters`)
  })

  test('accepts a job as a message, and completes it with the id of the message', async () => {
    const { value } = await add('incoming', {
      text: 'new order',
      sender: 'shop',
      conversation: 'c7',
      subject: 'O',
      data: { total: 3 },
      urgent: true,
    })
    const { id } = await value()
    const message = Object(await daemon.invoke('message-show', { id })).message
    assert.equal(message.text, 'new order')
    assert.deepEqual([message.from.id, message.conversation, message.subject], ['shop', 'incoming:c7', 'O'])
    assert.deepEqual(message.data, { total: 3, urgent: true, event: 'order' })
  })

  test('recognises a job that is added again by the id that the program gave it', async () => {
    const first = await add('incoming', { text: 'x' }, { jobId: 'order-7' })
    const { id } = await first.value()
    await first.job.remove()
    const second = await add('incoming', { text: 'x' }, { jobId: 'order-7' })
    assert.deepEqual(await second.value(), { id, duplicate: true })
  })

  test('accepts a job whose number was used before the queue was wiped', async () => {
    const before = await add('incoming', { text: 'y' })
    const { id } = await before.value()
    await before.queue.obliterate({ force: true })
    const value = Object(await (await add('incoming', { text: 'y' })).value())
    assert.equal(value.duplicate, undefined)
    assert.notEqual(value.id, id)
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

  test('keeps numbers that are too large or too small for a double', async () => {
    const { job, value } = await add('incoming', { text: 'x', data: {} }, { delay: 60_000 })
    const client = new Redis(redis.url)
    await client.hset(
      `bull:incoming:${job.id}`,
      'data',
      '{"text":"x","data":{"total":1e400,"list":[-1E+999,1e-400]}}',
    )
    client.disconnect()
    await job.promote()
    const { message } = Object(await daemon.invoke('message-show', { id: (await value()).id }))
    assert.deepEqual([message.data.total, message.data.list], ['1e400', ['-1E+999', '1e-400']])
  })

  test('fails a job whose data is not a message, without another attempt', async () => {
    for (const data of [[1], null, { text: 7 }, { text: 'x', data: { replyTarget: {} } }]) {
      const { job, queue, value } = await add('incoming', data, { attempts: 5 })
      await assert.rejects(value(), /is not a message such as \{"text":"hi"/)
      assert.equal((await queue.getJob(job.id ?? ''))?.attemptsMade, 1)
    }
  })

  test('completes a job with the reply if the gateway has `respond: result`', async () => {
    assert.equal(await (await add('asked', { text: 'hello' })).value(), 'You said: hello')
    await assert.rejects((await add('asked', { text: 'broken' })).value(), /became a dead letter/)
    await assert.rejects((await add('hasty', { text: 'slow' })).value(), /not within 200ms/)
  })

  for (const signal of ['SIGKILL', 'SIGTERM'] as const)
    test(`completes a job once if the daemon gets ${signal} meanwhile and starts again`, async () => {
      const { job, value } = await add('asked', { text: `slow ${signal}` })
      await until(async () => (await job.getState()) === 'active', 'the start of the job')
      const messages = async () =>
        JSON.stringify(await daemon.invoke('message-list', { gateway: 'asked', limit: 100 }))
      await until(async () => (await messages()).includes(signal), 'the message')
      await daemon.end(signal)
      daemon = await site.start()
      assert.equal(await value(), `slow ${signal}`)
      assert.equal((await messages()).split(`"slow ${signal}"`).length, 2, 'it is in one message')
    })
})
