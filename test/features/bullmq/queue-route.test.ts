import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { after, describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Queue, QueueEvents } from 'bullmq'
import { Redis } from 'ioredis'
import { openSite } from '../../fixtures/daemon.ts'
import { assertPrompt } from '../../fixtures/in-time.ts'
import { type QueueWorker, startQueueWorker } from '../../fixtures/queue-worker.ts'
import { startRedisServer } from '../../fixtures/redis-server.ts'
import { until } from '../../fixtures/until.ts'

const ROUTES = (url: string) => `
queues: { redis: "${url}" }
gateways:
  chat: { transport: websocket, path: /ws }
routes:
  - { name: slow, match: { text: "wait late*" }, queue: invoices, timeout: 300ms, retry: { attempts: 5, delay: 10ms } }
  - { name: unattended, match: { text: nobody }, queue: unattended, timeout: 300ms, retry: { attempts: 2, delay: 10ms } }
  - { name: unwanted, match: { text: unwanted }, queue: unattended, timeout: 60s, retry: { attempts: 1 } }
  - { name: invoices, queue: invoices, timeout: 60s, retry: { attempts: 2, delay: 10ms } }
`

test('the worker of docs/queues.md answers a daemon that gets its first queue by a reload', {
  timeout: 300_000,
}, async (t) => {
  const [routes = '', code = ''] = ['yaml', 'js'].map((language) => {
    const text = readFileSync(new URL('../../../docs/queues.md', import.meta.url), 'utf8')
    return new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(text)?.[1]
  })
  const redis = await startRedisServer()
  t.after(redis.stop)
  const site = openSite({ routes: 'routes: [{ name: rest, skill: echo }]' })
  const root = fileURLToPath(new URL('../../..', import.meta.url))
  const worker = spawn(process.execPath, ['--input-type=module', '-e', code], {
    cwd: root,
    env: { REDIS_URL: redis.url },
    stdio: 'inherit',
  })
  t.after(() => worker.kill('SIGKILL'))
  await site.start()
  site.write('routes.yaml', routes.replace(/redis:\/\/[^"]+/, redis.url))
  assert.equal((await site.run(['reload'])).code, 0)
  const { out } = await site.run(['message', 'cli', 'invoice 7'])
  assert.match(out, /Booked: invoice 7/)
})

test('the rights in docs/stores.md are enough for queues on the Redis of the store', {
  timeout: 300_000,
}, async (t) => {
  const text = readFileSync(new URL('../../../docs/stores.md', import.meta.url), 'utf8')
  const [, rules = ''] = /ACL SETUSER trivium on (.*)/.exec(text) ?? []
  const [, keys = ''] = /^\| \[BullMQ queues\].*?`(~[^`]+)`/m.exec(text) ?? []
  const redis = await startRedisServer()
  t.after(redis.stop)
  const admin = new Redis(redis.url)
  await admin.call('ACL', 'SETUSER', 'trivium', 'on', ...rules.split(' '), keys)
  admin.disconnect()
  const url = redis.url.replace('//', '//trivium:secret@')
  const site = openSite({ routes: 'routes: [{ name: all, queue: invoices }]', env: { REDIS_URL: url } })
  const worker = await startQueueWorker(url, 'invoices')
  t.after(worker.kill)
  await site.start()
  assert.match((await site.run(['message', 'cli', 'progress'])).out, /did progress/)
})

test('the error about an invalid `redis` names the key of queues', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES('redis://127.0.0.1:1/0?password=x') })
  const { err } = await site.run(['start'])
  assert.match(err, /the `redis` of queues has an unknown parameter "password"/)
})

describe('a route to a BullMQ queue', { timeout: 300_000 }, async () => {
  const redis = await startRedisServer({ appendfsync: 'always' })
  const site = openSite({ ownProcess: true, routes: ROUTES(redis.url) })
  after(redis.stop)
  let daemon = await site.start()

  let worker = await startQueueWorker(redis.url, 'invoices')
  after(() => worker.kill())
  const queueOf = (t: TestContext, name = 'invoices') => {
    const queue = new Queue(name, { connection: { url: redis.url } })
    queue.on('error', () => {})
    t.after(() => queue.close())
    return queue
  }
  /** Sends a message in a conversation of its own. */
  const say = async (t: TestContext, text: string) => {
    const chat = await daemon.chat()
    t.after(chat.close)
    chat.send({ text })
    return { chat, id: String((await chat.next('ack')).messageId) }
  }
  const reply = async ({ chat }: { chat: { next(type: string): Promise<object> } }) =>
    Object(await chat.next('message'))
  /** How often a worker has started the job of a message. */
  const starts = (worker: QueueWorker, id: string) => worker.begun().filter((each) => each === id).length
  const deadLetter = async (id: string) => {
    const show = () => daemon.invoke('dead-letter-show', { id }).catch(() => undefined)
    return Object(await until(show, `the dead letter of ${id}`))
  }

  test('adds a job with the id of the message, passes its progress on, and replies with its result', async (t) => {
    const asked = await say(t, 'progress')
    assert.deepEqual((await asked.chat.next('progress')).progress, { pages: 3 })
    assert.equal((await reply(asked)).text, 'did progress')
    const job = await queueOf(t).getJob(asked.id)
    assert.deepEqual([job?.data.id, job?.data.text, job?.opts.attempts], [asked.id, 'progress', 2])
  })

  test('replies with the text and data of a result that is an object', async (t) => {
    const { text, data } = await reply(await say(t, 'object'))
    assert.deepEqual([text, data], ['booked', { total: 3 }])
  })

  test('keeps the digits of ids in the result of a worker in another language', async (t) => {
    const { data } = await reply(await say(t, 'digits'))
    assert.deepEqual(data, { id: '7615917337495251231' })
  })

  test('leaves retries to BullMQ; a dead letter has its error, and gets new attempts when retried', async (t) => {
    assert.equal((await reply(await say(t, 'once more'))).text, 'did once more')
    const { id } = await say(t, 'fail')
    const [error] = (await deadLetter(id)).errors
    assert.match(error.message, /there is no such invoice/)
    assert.equal(error.code, 'job_failed')
    assert.match(error.stack, /queue-worker/)
    assert.equal(starts(worker, id), 2)
    // It fails again.
    assert.equal((await site.run(['dead-letter', 'retry', id, '--no-wait'])).code, 0)
    await until(() => starts(worker, id) === 4, 'two more attempts')
    await deadLetter(id)
  })

  test('keeps the order within a conversation, and does not delay others', async (t) => {
    const first = await say(t, 'wait for it')
    await until(() => starts(worker, first.id) === 1, 'the first job')
    first.chat.send({ text: 'second' })
    assert.equal((await reply(await say(t, 'elsewhere'))).text, 'did elsewhere')
    assert.equal(first.chat.all('message').length, 0)
    worker.go()
    assert.equal((await reply(first)).text, 'did wait for it')
    assert.equal((await reply(first)).text, 'did second')
  })

  test('reports that a job was removed by somebody', async (t) => {
    const { id } = await say(t, 'unwanted')
    const queue = queueOf(t, 'unattended')
    // `remove` also succeeds for a job that does not exist.
    await until(() => queue.getJob(id), 'the job')
    await queue.remove(id)
    assert.match((await deadLetter(id)).errors[0].message, /somebody removed it/)
  })

  test('removes a job that no worker has started in time, and reports that', async (t) => {
    const { id } = await say(t, 'nobody')
    const { errors } = await deadLetter(id)
    assert.deepEqual(
      errors.map(({ code }: { code: string }) => code),
      ['job_timeout', 'job_timeout'],
    )
    assert.match(errors[0].message, /it was removed/)
  })

  test('reports that a worker is still running a slow job; a retry uses the result of that run', async (t) => {
    const asked = await say(t, 'wait late')
    const { errors } = await deadLetter(asked.id)
    assert.match(errors.at(-1).message, /a worker is still running it/)
    worker.go()
    const queue = queueOf(t)
    await until(async () => (await queue.getJobState(asked.id)) === 'completed', 'the result')
    assert.equal((await site.run(['dead-letter', 'retry', asked.id])).code, 0)
    assert.equal((await reply(asked)).text, 'did wait late')
    assert.equal(starts(worker, asked.id), 1)
  })

  test('replies once if the worker is killed and another one runs the job', async (t) => {
    const first = worker
    const asked = await say(t, 'wait for the second worker')
    await until(() => starts(first, asked.id) === 1, 'the job with the first worker')
    await first.kill()
    worker = await startQueueWorker(redis.url, 'invoices')
    await until(() => starts(worker, asked.id) === 1, 'the job with the second worker')
    worker.go()
    assert.equal((await reply(asked)).text, 'did wait for the second worker')
  })

  for (const { what, signal, isDone } of [
    { what: 'was killed, while the job is still running', signal: 'SIGKILL', isDone: false },
    { what: 'was killed, and the job was done meanwhile', signal: 'SIGKILL', isDone: true },
    { what: 'was stopped, while the job is still running', signal: 'SIGTERM', isDone: false },
  ] as const) {
    test(`finds its job again after the daemon ${what}`, async (t) => {
      const asked = await say(t, 'wait for the daemon')
      const conversation = asked.chat.all('welcome')[0]?.conversation
      await until(() => starts(worker, asked.id) === 1, 'the job')
      const began = performance.now()
      await daemon.end(signal)
      await assertPrompt('a stop, which does not wait for the job', performance.now() - began, 8_000)
      if (isDone) {
        worker.go()
        const queue = queueOf(t)
        await until(async () => (await queue.getJobState(asked.id)) === 'completed', 'the result')
      }
      daemon = await site.start()
      if (!isDone) {
        // The daemon adds the job again, which BullMQ reports as a duplicate.
        const events = new QueueEvents('invoices', { connection: { url: redis.url }, lastEventId: '0-0' })
        t.after(() => events.close())
        await new Promise((resolve) => events.on(`duplicated:${asked.id}` as 'duplicated', resolve))
        worker.go()
      }
      const chat = await daemon.chat(`/ws?conversation=${conversation}&after=0`)
      t.after(chat.close)
      assert.equal((await reply({ chat })).text, 'did wait for the daemon')
      assert.equal(starts(worker, asked.id), 1)
      assert.equal(chat.all('message').length, 1)
    })
  }

  test('waits while the queue server is down, reports that, and continues', async (t) => {
    const asked = await say(t, 'wait for Redis')
    await until(() => starts(worker, asked.id) === 1, 'the job')
    assert.match((await site.run(['doctor'])).out, /queues: Redis: eviction/)
    await redis.kill()
    const waiting = await say(t, 'later')
    const isFailing = async () =>
      /Queue invoices.*FAILING.*queue server/.test((await site.run(['status'])).out)
    await until(isFailing, 'the failing queue')
    await redis.start()
    await until(() => starts(worker, waiting.id) === 1, 'the other job')
    assert.equal((await reply(waiting)).text, 'did later')
    // The lock of the first job expired meanwhile: BullMQ may start it once more, which needs
    // another `go`.
    await until(() => {
      worker.go()
      return asked.chat.all('message').length > 0
    }, 'the first reply')
    assert.equal(await isFailing(), false)
    for (const { chat } of [asked, waiting]) assert.equal(chat.all('message').length, 1)
  })
})
