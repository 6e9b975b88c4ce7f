import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Redis } from 'ioredis'
import { type Chat, createSite, type DaemonProcess, type HttpAnswer, type Site } from '../fixtures/daemon.ts'
import { assertPrompt } from '../fixtures/in-time.ts'
import type { RedisServer } from '../fixtures/redis-server.ts'
import { suiteWithDaemon } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  demo: { transport: webhook, path: /hooks/demo, verify: { scheme: none } }
  chat: { transport: websocket, path: /ws }
routes:
  - name: chat
    match: { gateway: chat }
    skill: echo
`

/** Limit for an answer (ms). A command that Redis does not answer fails after 2 s. */
const ANSWER_LIMIT = 5_000

const outages: Record<string, { begin(redis: RedisServer): unknown; end(redis: RedisServer): unknown }> = {
  frozen: { begin: (redis) => redis.freeze(), end: (redis) => redis.resume() },
  killed: { begin: (redis) => redis.kill(), end: (redis) => redis.start() },
}

for (const [state, outage] of Object.entries(outages)) {
  describe(`while Redis is ${state}`, { timeout: 300_000 }, () => {
    const suite = suiteWithDaemon({ routes: ROUTES, store: 'redis' })
    let chat: Chat
    before(async () => {
      chat = await suite.daemon.chat()
      assert.equal((await post('before')).status, 202)
      await outage.begin(suite.redis)
    })
    after(() => chat.close())

    const post = (key: string) =>
      suite.daemon.post('/hooks/demo', `{"key":"${key}"}`, {
        'content-type': 'application/json',
        'webhook-id': key,
      })
    const say = (id: string) => chat.send({ id, text: id })
    const findFrame = (type: string, id: string) => () => chat.all(type).find((one) => one.id === id)

    test('a webhook delivery is promptly answered 503 with Retry-After', async () => {
      for (const key of ['one', 'two', 'three']) {
        const began = performance.now()
        const answer = await post(key)
        await assertPrompt('the answer', performance.now() - began, ANSWER_LIMIT)
        assert.equal(answer.status, 503)
        assert.ok(Number(answer.headers.get('retry-after')) > 0)
        assert.equal(errorOf(answer), 'store_unavailable')
      }
    })

    test('a WebSocket gets an error frame for its message, and stays open', async () => {
      say('one')
      const error = await until(findFrame('error', 'one'), 'the error frame')
      assert.equal(error.code, 'store_unavailable')
      assert.equal(error.retryable, true)
      assert.equal(chat.socket.readyState, chat.socket.OPEN)
    })

    test('/readyz and a skill report the store, and /healthz is green', async () => {
      const ready = await fetch(`${suite.daemon.control}/readyz`)
      assert.equal(ready.status, 503)
      const { ok, detail } = Object(await ready.json())
      assert.equal(ok, false)
      assert.match(detail.store.reason, /cannot be reached/)
      assert.equal((await fetch(`${suite.daemon.control}/healthz`)).status, 200)
      assert.equal((await fetch(`${suite.daemon.control}/metrics`)).status, 200)
      await assert.rejects(suite.daemon.invoke('gateway-receive', { timeout: 0 }), /store_unavailable/)
    })

    test('the daemon recovers, and repeated deliveries are accepted once per key', async () => {
      await outage.end(suite.redis)
      await until(async () => (await post('one')).status < 300, 'an accepted delivery')
      for (const key of ['one', 'two', 'three']) assert.ok((await post(key)).status < 300)
      await until(async () => (await fetch(`${suite.daemon.control}/readyz`)).ok, 'a green /readyz')
      say('one')
      const ack = await until(findFrame('ack', 'one'), 'the ack')
      await until(() => chat.all('message').find((one) => one.inReplyTo === ack.messageId), 'the reply')
      const messages = Object.values(
        Object(await suite.daemon.invoke('message-list', { gateway: 'demo', limit: 100 })),
      )
      assert.deepEqual(messages.map((one) => Object(one).key).sort(), ['before', 'one', 'three', 'two'])
    })
  })
}

describe('while the disk of the embedded store is full', { timeout: 300_000, skip: whyNoMount() }, () => {
  let site: Site
  let daemon: DaemonProcess
  let disk: string
  const accepted: string[] = []

  before(async () => {
    site = createSite({ ownProcess: true, routes: ROUTES, env: { TRIVIUM_DATA_DIR: 'disk' } })
    disk = join(site.dir, 'disk')
    mkdirSync(disk)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', disk])
    daemon = await site.start()
  })
  after(async () => {
    await daemon?.end('SIGKILL')
    execFileSync('umount', [disk])
    await site.remove()
  })

  const post = async () => {
    const answer = await daemon.post('/hooks/demo', JSON.stringify({ fill: 'x'.repeat(50_000) }))
    if (answer.status === 202) accepted.push(String(Object(answer.body).id))
    return answer
  }

  test('/readyz turns red before a message is refused, and names the free space', async () => {
    const notReady = await until(async () => {
      const ready = await fetch(`${daemon.control}/readyz`)
      if (ready.status === 503) return ready
      assert.equal((await post()).status, 202, 'a ready daemon accepts messages')
      return undefined
    }, 'a red /readyz')
    assert.match(await notReady.text(), /almost full: \d+ KiB free, less than 4 MiB/)
    const { code, out } = await site.run(['status'])
    assert.equal(code, 1)
    assert.match(out, /almost full/)
  })

  test('a webhook delivery is answered 503 with Retry-After, and /healthz is green', async () => {
    const refused = await until(async () => {
      const answer = await post()
      return answer.status !== 202 && answer
    }, 'a refusal')
    assert.equal(Object(refused).status, 503)
    assert.ok(accepted.length > 10)
    for (let round = 0; round < 20; round++) {
      const answer = await post()
      if (answer.status === 202) continue
      assert.equal(answer.status, 503)
      assert.ok(Number(answer.headers.get('retry-after')) > 0)
      assert.equal(errorOf(answer), 'store_unavailable')
    }
    assert.equal((await fetch(`${daemon.control}/healthz`)).status, 200)
  })

  test('/readyz and the metrics report the store while nothing can be written', async () => {
    const rest = openSync(join(disk, 'rest'), 'w')
    const page = Buffer.alloc(4096)
    assert.throws(() => {
      for (;;) writeSync(rest, page)
    }, /ENOSPC/)
    closeSync(rest)
    const answer = await until(async () => {
      await post()
      const ready = await fetch(`${daemon.control}/readyz`)
      return ready.status === 503 ? ready : undefined
    }, 'a red /readyz')
    assert.match(await answer.text(), /database or disk is full|its disk is almost full/)
    const metrics = await (await fetch(`${daemon.control}/metrics`)).text()
    assert.match(metrics, /^trivium_store_up 0$[\s\S]*^trivium_depth\{road="receive"\} [1-9]/m)
    rmSync(join(disk, 'rest'))
  })

  test('with free space the daemon accepts messages again, and has all accepted ones, also after a crash', async () => {
    execFileSync('mount', ['-o', 'remount,size=64m', disk])
    await until(async () => (await post()).status === 202, 'an accepted message')
    assert.equal((await fetch(`${daemon.control}/readyz`)).status, 200)
    for (const crash of [false, true]) {
      if (crash) {
        await daemon.end('SIGKILL')
        daemon = await site.start()
      }
      for (const id of accepted) await daemon.invoke('message-show', { id })
    }
  })
})

function errorOf(answer: HttpAnswer): string {
  return Object(Object(answer.body).error).code
}

/** The reason why a small file system cannot be mounted; false if it can. */
function whyNoMount(): string | false {
  const site = createSite({ routes: '' })
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', site.dir], { stdio: 'pipe' })
    execFileSync('umount', [site.dir])
    return false
  } catch (error) {
    return `a small file system cannot be mounted here: ${error instanceof Error ? error.message.split('\n')[0] : error}`
  } finally {
    void site.remove()
  }
}

describe('while Redis is out of memory', { timeout: 300_000 }, () => {
  const suite = suiteWithDaemon({ routes: ROUTES, store: 'redis' })

  test('`status` reports that nothing is accepted, and exits with 1', async () => {
    assert.equal((await suite.site.run(['status'])).code, 0)
    const admin = new Redis(suite.redis.url)
    await admin.config('SET', 'maxmemory', '1')
    const { code, out } = await suite.site.run(['status'])
    assert.match(out, /STORE TAKES NO MESSAGES.*: .*maxmemory/)
    assert.equal(code, 1)
    const { store } = JSON.parse((await suite.site.run(['status', '--json'])).out)
    assert.equal(store.ok, false)
    await admin.config('SET', 'maxmemory', '0')
    admin.disconnect()
    assert.equal((await suite.site.run(['status'])).code, 0)
  })
})
