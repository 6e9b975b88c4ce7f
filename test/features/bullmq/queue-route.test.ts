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
  - { name: nobody, match: { text: nobody }, queue: unattended, timeout: 300ms, retry: { attempts: 2, delay: 10ms } }
  - { name: invoices, queue: invoices, timeout: 60s, retry: { attempts: 2, delay: 10ms } }
`

test('the worker of docs/queues.md answers as it stands there, to a daemon that learns of its first queue as it runs', {
  timeout: 60_000,
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

test('a URL of queues that is none is said to be theirs', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES('redis://127.0.0.1:1/0?password=x') })
  const { err } = await site.run(['start'])
  assert.match(err, /the `redis` of queues has an unknown parameter "password"/)
})

describe('a route to a BullMQ queue', { timeout: 300_000 }, async () => {
  const redis = await startRedisServer({ appendfsync: 'always' })
  const site = openSite({ ownProcess: true, routes: ROUTES(redis.url) })
  after(redis.stop)
  let daemon = await site.start()

  const worker = async (t: TestContext) => {
    const made = await startQueueWorker(redis.url, 'invoices')
    t.after(made.kill)
    return made
  }
  const queueOf = (t: TestContext) => {
    const queue = new Queue('invoices', { connection: { url: redis.url } })
    queue.on('error', () => {})
    t.after(() => queue.close())
    return queue
  }
  /** Says something in a conversation of its own, and gives the id of the message and what comes back. */
  const say = async (t: TestContext, text: string) => {
    const chat = await daemon.chat()
    t.after(chat.close)
    chat.send({ text })
    return { chat, id: String((await chat.next('ack')).messageId) }
  }
  const reply = async ({ chat }: { chat: { next(type: string): Promise<object> } }) =>
    Object(await chat.next('message'))
  const begun = (worker: QueueWorker, id: string) => worker.begun().filter((each) => each === id).length
  const deadLetter = async (id: string) => {
    const ask = () => daemon.invoke('dead-letter-show', { id }).catch(() => undefined)
    return Object(await until(ask, `the dead letter of ${id}`))
  }

  test('makes a job of the message with its id, answers with what that returns, and shows its progress', async (t) => {
    await worker(t)
    const asked = await say(t, 'progress')
    assert.deepEqual((await asked.chat.next('progress')).progress, { pages: 3 })
    assert.equal((await reply(asked)).text, 'did progress')
    const job = await queueOf(t).getJob(asked.id)
    assert.deepEqual([job?.data.id, job?.data.text, job?.opts.attempts], [asked.id, 'progress', 2])
    const whole = await reply(await say(t, 'object'))
    assert.deepEqual([whole.text, whole.data], ['booked', { total: 3 }])
  })

  test('keeps the digits of ids in what a worker in another language returns', async (t) => {
    await worker(t)
    const { data } = await reply(await say(t, 'digits'))
    assert.deepEqual(data, { id: '7615917337495251231' })
  })

  test('leaves retries to BullMQ, keeps its reason and its stack in the dead letter, and has that retried with fresh ones', async (t) => {
    const working = await worker(t)
    assert.equal((await reply(await say(t, 'once more'))).text, 'did once more')
    const asked = await say(t, 'fail')
    const letter = await deadLetter(asked.id)
    const [error] = letter.errors
    assert.match(error.message, /there is no such invoice/)
    assert.equal(error.code, 'job_failed')
    assert.match(error.stack, /queue-worker/)
    assert.equal(begun(working, asked.id), 2)
    const { id } = asked
    assert.equal((await site.run(['dead-letter', 'retry', id])).code, 0)
    await until(() => begun(working, id) === 4, 'two more attempts')
    await deadLetter(id)
  })

  test('keeps the order within a conversation, and lets others pass', async (t) => {
    const working = await worker(t)
    const first = await say(t, 'wait for it')
    await until(() => begun(working, first.id) === 1, 'the first job')
    first.chat.send({ text: 'second' })
    assert.equal((await reply(await say(t, 'elsewhere'))).text, 'did elsewhere')
    assert.equal(first.chat.all('message').length, 0)
    working.go()
    assert.equal((await reply(first)).text, 'did wait for it')
    assert.equal((await reply(first)).text, 'did second')
  })

  test('says of a job whether nobody took it in time, or somebody removed it', async (t) => {
    const unwanted = await say(t, 'unwanted')
    const queue = queueOf(t)
    await until(() => queue.getJob(unwanted.id), 'the job')
    // It says 1 of one that is not there, too.
    await queue.remove(unwanted.id)
    assert.match((await deadLetter(unwanted.id)).errors[0].message, /somebody removed it/)
    const { id } = await say(t, 'nobody')
    const { errors } = await deadLetter(id)
    assert.deepEqual(
      errors.map(({ code }: { code: string }) => code),
      ['job_timeout', 'job_timeout'],
    )
    assert.match(errors[0].message, /it was removed/)
  })

  test('says of a job that is too slow that a worker has it, and takes its result when it is retried', async (t) => {
    const working = await worker(t)
    const asked = await say(t, 'wait late')
    const { errors } = await deadLetter(asked.id)
    assert.match(errors.at(-1).message, /a worker is still running it/)
    const queue = queueOf(t)
    await until(async () => {
      working.go()
      return (await queue.getJobState(asked.id)) === 'completed'
    }, 'the result')
    assert.equal((await site.run(['dead-letter', 'retry', asked.id])).code, 0)
    assert.equal((await reply(asked)).text, 'did wait late')
    assert.equal(begun(working, asked.id), 1)
  })

  test('answers once where the worker is killed in the middle', async (t) => {
    const first = await worker(t)
    const asked = await say(t, 'wait for the second worker')
    await until(() => begun(first, asked.id) === 1, 'the job with the first worker')
    await first.kill()
    const second = await worker(t)
    await until(() => begun(second, asked.id) === 1, 'the job with the second worker')
    second.go()
    assert.equal((await reply(asked)).text, 'did wait for the second worker')
  })

  for (const [what, isDone] of [
    ['was killed, and the job is still running', false],
    ['was killed, and the job was done meanwhile', true],
    ['was stopped, which waits for no job', false],
  ] as const) {
    test(`finds its job again where the daemon ${what}`, async (t) => {
      const working = await worker(t)
      const asked = await say(t, 'wait for the daemon')
      const conversation = asked.chat.all('welcome')[0]?.conversation
      await until(() => begun(working, asked.id) === 1, 'the job')
      const queue = queueOf(t)
      const isCompleted = async () => (await queue.getJobState(asked.id)) === 'completed'
      const began = performance.now()
      await daemon.end(what.includes('killed') ? 'SIGKILL' : 'SIGTERM')
      await assertPrompt('a stop within the grace', performance.now() - began, 8_000)
      if (isDone) {
        working.go()
        await until(isCompleted, 'the result')
      }
      daemon = await site.start()
      const events = new QueueEvents('invoices', { connection: { url: redis.url }, lastEventId: '0-0' })
      t.after(() => events.close())
      // The daemon has come to it again.
      if (!isDone)
        await new Promise((resolve) => events.on(`duplicated:${asked.id}` as 'duplicated', resolve))
      if (!isDone) working.go()
      const chat = await daemon.chat(`/ws?conversation=${conversation}&after=0`)
      t.after(chat.close)
      assert.equal((await reply({ chat })).text, 'did wait for the daemon')
      assert.equal(begun(working, asked.id), 1)
      assert.equal(chat.all('message').length, 1)
    })
  }

  test('waits while the queue server is away, says so, and goes on', async (t) => {
    const working = await worker(t)
    const asked = await say(t, 'wait for Redis')
    await until(() => begun(working, asked.id) === 1, 'the job')
    assert.match((await site.run(['doctor'])).out, /queues: Redis: eviction/)
    await redis.kill()
    const waiting = await say(t, 'later')
    const isRed = async () => /Queue invoices.*FAILING.*queue server/.test((await site.run(['status'])).out)
    await until(isRed, 'the red queue')
    await redis.start()
    await until(() => begun(working, waiting.id) === 1, 'the other job')
    assert.equal((await reply(waiting)).text, 'did later')
    // Its lock ran out meanwhile, so that BullMQ may begin it once more.
    await until(
      () => {
        working.go()
        return asked.chat.all('message').length > 0
      },
      'the first answer',
      20_000,
    )
    assert.equal(await isRed(), false)
    assert.deepEqual(
      [asked, waiting].map(({ chat }) => chat.all('message').length),
      [1, 1],
    )
  })
})
