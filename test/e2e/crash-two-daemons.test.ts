import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { type DaemonProcess, openSite } from '../fixtures/daemon.ts'
import { assertPrompt } from '../fixtures/in-time.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  work: { transport: webhook, path: /hooks/work, verify: { scheme: none }, conversation: data.body.conversation }
  idle: { transport: webhook, path: /hooks/idle, verify: { scheme: none } }
  chat: { transport: websocket, path: /ws }
routes:
  - name: idle
    match: { gateway: idle }
    skill: echo
    reply: none
  - name: rest
    skill: work
`

/**
 * Logs its process. With `hold`, it waits for the file `go`: meanwhile the process can be killed.
 */
const WORK = `
import { appendFileSync, existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
export default {
  description: 'works',
  async run({ message, signal }) {
    const { n, hold } = message.transport === 'websocket' ? message.data : message.data.body
    appendFileSync('log', 'start ' + n + ' ' + process.pid + '\\n')
    while (hold && !existsSync('go')) await pause(10, undefined, { signal })
    appendFileSync('log', 'end ' + n + ' ' + process.pid + '\\n')
    return 'done ' + n
  },
}`

/** A claim expires 10 s after its last renewal; this has a margin for a busy machine. */
const TAKE_OVER = 20_000

describe('a daemon that dies or hangs', { concurrency: true, timeout: 300_000 }, () => {
  for (const signal of ['SIGKILL', 'SIGSTOP'] as const)
    describe(`two daemons on one Redis, one of which gets ${signal}`, { concurrency: 1 }, async () => {
      const redis = await startRedisServer()
      after(() => redis.stop())
      const site = openSite({
        ownProcess: true,
        routes: ROUTES,
        skills: { work: WORK },
        env: { REDIS_URL: redis.url },
      })
      site.write('log', '')
      const daemons = [await site.start(), await site.start({ TRIVIUM_DATA_DIR: '.trivium-2' })]

      const lines = (start: string) =>
        readFileSync(join(site.dir, 'log'), 'utf8')
          .split('\n')
          .filter((line) => line.startsWith(start))
      const post = (daemon: DaemonProcess, path: string, body: object) =>
        daemon.post(path, JSON.stringify(body))
      /** Kills or freezes a daemon and returns the other one. */
      const strike = async (pid: number) => {
        const victim = daemons.find((daemon) => daemon.pid === pid)
        const survivor = daemons.find((daemon) => daemon.pid !== pid)
        assert.ok(victim && survivor)
        if (signal === 'SIGKILL') await victim.end(signal)
        else process.kill(pid, signal)
        return survivor
      }

      test('the other takes over its runs, leases and events, in order and once', async () => {
        const [one, two] = daemons
        assert.ok(one && two)
        const client = await one.chat()
        const lane = (n: string, hold: boolean) => post(two, '/hooks/work', { conversation: 'lane', n, hold })
        assert.equal((await lane('first', true)).status, 202)
        assert.equal((await lane('second', false)).status, 202)
        const running = await until(() => lines('start first')[0], 'a running skill')
        const pid = Number(running.split(' ')[2])
        const doomed = daemons.find((daemon) => daemon.pid === pid)
        assert.ok(doomed)

        await post(two, '/hooks/idle', { n: 'leased' })
        const lease = { gateway: 'idle', timeout: 30_000, lease: 2_000 }
        const received = Object(await doomed.invoke('gateway-receive', lease))
        await doomed.invoke('event-subscribe', { topic: 'news', queue: 'readers' })
        const { id } = Object(await doomed.invoke('event-emit', { topic: 'news', data: 1 }))
        const read = { topic: 'news', queue: 'readers', ack: false, lease: 2_000, timeout: 10_000 }
        assert.equal(Object(await doomed.invoke('event-wait', read))[0].id, id)

        const survivor = await strike(pid)
        const began = performance.now()
        assert.equal(
          Object(await survivor.invoke('gateway-receive', { ...lease, timeout: 10_000 })).id,
          received.id,
        )
        assert.equal(Object(await survivor.invoke('event-wait', read))[0].id, id)
        site.write('go', '')
        await until(() => lines('end second')[0], 'the next run of the lane', TAKE_OVER)
        await assertPrompt('the take-over', performance.now() - began, TAKE_OVER)
        assert.deepEqual(lines('end'), [`end first ${survivor.pid}`, `end second ${survivor.pid}`])
        assert.deepEqual(await survivor.invoke('dead-letter-list'), [])

        client.close()
        const [welcome] = client.all('welcome')
        const again = await survivor.chat(`/ws?conversation=${welcome?.conversation}&after=0`)
        again.send({ id: 'a', text: 'hello', n: 'chat' })
        const reply = await again.next('message')
        assert.deepEqual([reply.text, reply.seq], ['done chat', 1])
        again.close()
      })
    })
})
