import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { after, describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { bundledCommand } from '../../ops/tests/bundled-command.ts'
import { suiteWithDaemon } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

const BIN = await bundledCommand()
const SECRET = 'It is a secret to everybody'
const ROUTES = `
gateways:
  hub: { transport: webhook, path: /hub, verify: { scheme: github, secret: "${SECRET}" }, text: data.body.message, keep-original: true }
  plain: { transport: webhook, path: /plain, verify: { scheme: none } }
routes: []
`
/**
 * JSON that parsing and writing again would change: spaces, escapes, a number beyond 2^53
 * (probot/smee-client, issue 325).
 */
const RAW = '{ "message": "caf\\u00e9",\n  "id": 12345678901234567890, "emoji": "✓" }'

type Received = { request: IncomingMessage; body: Buffer }

/** Starts a program in development, which records its requests. */
async function startApp() {
  const received: Received[] = []
  let answer = 200
  const server = createServer(async (request, response) => {
    received.push({ request, body: await buffer(request) })
    response.writeHead(answer).end('ok')
  })
  const listening = async (port = 0) => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  await listening()
  const { port } = server.address() as AddressInfo
  return {
    received,
    url: `http://127.0.0.1:${port}/hook`,
    answerWith(status: number) {
      answer = status
    },
    stop: () => new Promise((resolve) => server.close(resolve)),
    restart: () => listening(port),
  }
}

for (const store of ['embedded', 'redis'] as const) {
  describe(`trivium listen, on ${store}`, { timeout: 300_000 }, () => {
    const suite = suiteWithDaemon({ routes: ROUTES, store, ownProcess: true })
    const children = new Set<ChildProcess>()
    after(() => {
      for (const child of children) child.kill('SIGKILL')
    })

    /** Runs `trivium listen` as a process. Resolves when it listens. */
    async function start(...args: string[]) {
      const env = {
        PATH: process.env.PATH ?? '',
        HOME: suite.site.dir,
        ...(store === 'redis' ? { REDIS_URL: suite.redis.url } : {}),
      }
      const child = spawn(process.execPath, [BIN, '--json', 'listen', ...args], { cwd: suite.site.dir, env })
      children.add(child)
      const output = { out: '', err: '' }
      child.stdout.on('data', (text) => (output.out += text))
      child.stderr.on('data', (text) => (output.err += text))
      await until(() => output.err.includes('Listening on') || child.exitCode !== null, 'a listener')
      const lines = (): { [key: string]: unknown }[] =>
        output.out
          .split('\n')
          .filter(Boolean)
          .map((line) => JSON.parse(line))
      return {
        output,
        lines,
        /** Waits for the line with this number, from 1. */
        line: (number: number) =>
          until(() => (lines().length >= number ? lines()[number - 1] : undefined), `line ${number}`),
        hasEnded: () => child.exitCode !== null,
        async end(signal: NodeJS.Signals = 'SIGINT', times = 1) {
          const closed = once(child, 'close')
          child.kill(signal)
          for (let more = 1; more < times; more++) {
            await setImmediate()
            child.kill(signal)
          }
          const [code] = await closed
          return code
        },
      }
    }
    const post = (text: string, path = '/plain') => suite.daemon.post(path, text)
    const sign = (body: string) => `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`
    const postSigned = () =>
      suite.daemon.post('/hub?source=test', RAW, {
        'content-type': 'application/json',
        'x-github-event': 'push',
        'x-github-delivery': crypto.randomUUID(),
        'x-hub-signature-256': sign(RAW),
        'x-gitlab-token': 'a shared secret',
      })
    const groups = async () => Object.keys(Object(await suite.daemon.get('/v1/status')).result.groups)

    test('forwards a webhook with its method, headers, signature and exact body', async () => {
      const app = await startApp()
      const listener = await start(
        '--forward',
        app.url,
        '--gateway',
        'hub',
        '--header',
        'X-Gitlab-Token: mine',
      )
      assert.equal((await postSigned()).status, 202)
      const line = await listener.line(1)
      assert.deepEqual(
        [line.status, line.outcome, line.source, line.event, line.attempt],
        [200, 'done', 'hub', 'push', 1],
      )
      const [{ request, body } = assert.fail('nothing came')] = app.received
      assert.equal(body.toString(), RAW)
      assert.equal(request.headers['x-hub-signature-256'], sign(body.toString()))
      assert.equal(request.headers['content-length'], String(Buffer.byteLength(RAW)))
      assert.equal(request.headers['x-github-event'], 'push')
      assert.equal(request.headers['x-gitlab-token'], 'mine')
      assert.equal(request.url, '/hook?source=test')
      assert.equal(request.method, 'POST')
      assert.equal(await listener.end(), 0)
      await app.stop()
    })

    test('notes once that a gateway does not keep the original, and forwards the body', async () => {
      const app = await startApp()
      const listener = await start('--forward', app.url, '--gateway', 'plain')
      await post(RAW)
      await post('{"n":2}')
      await listener.line(2)
      assert.deepEqual(
        app.received.map(({ body }) => body.toString()),
        [RAW, '{"n":2}'],
      )
      assert.equal(listener.output.err.split('keep-original').length, 2)
      await listener.end()
      await app.stop()
    })

    test('retries a failed event, also after the program was stopped', async () => {
      const app = await startApp()
      app.answerWith(500)
      const listener = await start('--forward', app.url, '--match', '{"gateway":"plain","text":"*fragile*"}')
      await post('"fragile"')
      await post('"other"')
      const first = await listener.line(1)
      assert.deepEqual([first.status, first.outcome, first.retryIn], [500, 'retry', 1_000])
      await app.stop()
      const second = await listener.line(2)
      assert.deepEqual([second.error, second.outcome, second.attempt], ['ECONNREFUSED', 'retry', 2])
      app.answerWith(204)
      await app.restart()
      const third = await listener.line(3)
      assert.deepEqual([third.status, third.outcome, third.attempt], [204, 'done', 3])
      await listener.end()
      await app.stop()
    })

    test('drops an event after `--attempts` attempts', async () => {
      const app = await startApp()
      app.answerWith(400)
      const listener = await start('--forward', app.url, '--gateway', 'plain', '--attempts', '2')
      await post('"bad"')
      const last = await listener.line(2)
      assert.deepEqual([last.status, last.outcome, last.attempt], [400, 'dropped', 2])
      await listener.end()
      await app.stop()
    })

    test('continues after a restart of the daemon', async () => {
      const app = await startApp()
      const listener = await start('--forward', app.url, '--gateway', 'plain')
      await post('"before"')
      await listener.line(1)
      await suite.restart('SIGKILL')
      await post('"after"')
      const line = await listener.line(2)
      assert.equal(line.status, 200)
      assert.equal(app.received.at(-1)?.body.toString(), '"after"')
      assert.match(listener.output.err, /does not answer; trying again/)
      await listener.end()
      await app.stop()
    })

    test('runs a command per event: exit code 0 acknowledges, 100 drops, and others retry', async () => {
      suite.site.write(
        'handle.sh',
        `#!/bin/sh
cat >> events.jsonl
echo "attempt $TRIVIUM_ATTEMPT"
case "$(tail -n 1 events.jsonl)" in
  *good*) exit 0 ;;
  *unwanted*) exit 100 ;;
  *) test "$TRIVIUM_ATTEMPT" -gt 1 ;;
esac
`,
      )
      const listener = await start('--exec', 'sh ./handle.sh', '--gateway', 'plain')
      for (const text of ['good', 'unwanted', 'flaky']) await post(`"${text}"`)
      await listener.line(4)
      const results = listener.lines().map(({ exit, outcome, attempt }) => [exit, outcome, attempt])
      assert.deepEqual(results, [
        [0, 'done', 1],
        [100, 'dropped', 1],
        [1, 'retry', 1],
        [0, 'done', 2],
      ])
      const events = readFileSync(join(suite.site.dir, 'events.jsonl'), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      assert.deepEqual(
        events.map(({ message }) => message.text),
        ['"good"', '"unwanted"', '"flaky"', '"flaky"'],
      )
      assert.equal(events[0].topic, 'gateway-message')
      assert.match(listener.output.err, /attempt 1/)
      await listener.end()
    })

    test('ends its command and deletes its group at Ctrl-C', async () => {
      const before = await groups()
      const listener = await start('--exec', 'echo $$ > pid; sleep 1000 & wait', '--gateway', 'plain')
      await post('"long"')
      const pid = await until(() => {
        try {
          return Number(readFileSync(join(suite.site.dir, 'pid'), 'utf8').trim()) || undefined
        } catch {
          return undefined
        }
      }, 'the command')
      assert.notDeepEqual(await groups(), before)
      assert.equal(await listener.end(), 0)
      assert.deepEqual(await groups(), before)
      assert.throws(() => process.kill(pid, 0), /ESRCH/)
    })

    test('gives an event back if Ctrl-C interrupts its last attempt', async () => {
      const args = ['--gateway', 'plain', '--group', 'patient', '--attempts', '1']
      const first = await start(...args, '--exec', 'touch began; sleep 1000 & wait')
      await post('"kept"')
      await until(() => existsSync(join(suite.site.dir, 'began')), 'the command')
      assert.equal(await first.end(), 0)
      assert.deepEqual(
        first.lines().map(({ outcome }) => outcome),
        ['retry'],
      )
      const second = await start(...args, '--exec', 'grep -q kept', '--max', '1')
      assert.equal((await second.line(1)).outcome, 'done')
      await until(second.hasEnded, 'the end after one event')
      await suite.daemon.invoke('event-unsubscribe', { topic: 'gateway-message', queue: 'patient' })
    })

    test('ends normally if `timeout` and a launcher send the same signal three times', async () => {
      const before = await groups()
      const listener = await start('--exec', 'cat', '--gateway', 'plain')
      assert.notDeepEqual(await groups(), before)
      assert.equal(await listener.end('SIGTERM', 3), 0)
      assert.deepEqual(await groups(), before)
    })

    test('keeps a named group, which collects events while no listener runs', async () => {
      const app = await startApp()
      const args = ['--forward', app.url, '--gateway', 'plain', '--group', 'mine', '--max', '1']
      const first = await start(...args)
      await post('"one"')
      await first.line(1)
      await until(first.hasEnded, 'the end after one event')
      await post('"two"')
      await start(...args)
      await until(() => app.received.length === 2, 'the second')
      assert.equal(app.received[1]?.body.toString(), '"two"')
      await suite.daemon.invoke('event-unsubscribe', { topic: 'gateway-message', queue: 'mine' })
      await app.stop()
    })

    test('forwards events of another topic as JSON', async () => {
      const app = await startApp()
      const listener = await start('--forward', app.url, '--topic', 'work')
      await suite.daemon.invoke('event-emit', { topic: 'work', type: 'made', data: { a: 1 } })
      const line = await listener.line(1)
      assert.equal(line.event, 'made')
      const { type, data } = JSON.parse(String(app.received[0]?.body))
      assert.deepEqual([type, data], ['made', { a: 1 }])
      assert.equal(app.received[0]?.request.headers['content-type'], 'application/json')
      await listener.end()
      await app.stop()
    })
  })
}

describe('trivium listen refuses', () => {
  const suite = suiteWithDaemon({ routes: ROUTES })
  for (const [fault, args, reason] of [
    ['no target', [], /either --forward URL or --exec/],
    ['two targets', ['--forward', '3000', '--exec', 'true'], /either --forward URL or --exec/],
    ['an invalid URL', ['--forward', 'http://'], /--forward takes a URL/],
    ['a scheme other than http', ['--forward', 'ftp://x'], /only supports http and https, not ftp/],
    ['an unknown gateway', ['--forward', '3000', '--gateway', 'plian'], /Did you mean plain\?/],
    ['a match that is not JSON', ['--forward', '3000', '--match', 'x'], /--match must be a JSON object/],
    ['a match with an unknown key', ['--forward', '3000', '--match', '{"frm":"x"}'], /unknown key "frm"/],
    [
      'two gateways',
      ['--forward', '3000', '--gateway', 'a', '--match', '{"gateway":"b"}'],
      /give either --gateway/,
    ],
    ['a header without a value', ['--forward', '3000', '--header', 'x'], /--header must be/],
    ['an invalid timeout', ['--forward', '3000', '--timeout', 'soon'], /--timeout must be a duration/],
  ] as const) {
    test(fault, async () => {
      const { code, err } = await suite.site.run(['listen', ...args])
      assert.notEqual(code, 0)
      assert.match(err, reason)
    })
  }
})
