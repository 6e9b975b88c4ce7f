import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { assertPrompt } from '../fixtures/in-time.ts'
import { suiteWithDaemon } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

const GRACE = 1_000
/** Time that a drain may take in addition to its grace. */
const MARGIN = 2_000

const ROUTES = `
gateways:
  work: { transport: webhook, path: /hooks/work, verify: { scheme: none } }
  ask: { transport: webhook, path: /hooks/ask, verify: { scheme: none }, respond: result }
  chat: { transport: websocket, path: /ws }
routes:
  - name: once
    match: { data.body.attempts: "once" }
    skill: work
    retry: { attempts: 1 }
  - name: more
    skill: work
    retry: { attempts: 3, delay: 10ms }
`

/**
 * Runs for `ms`, or until the file `until` exists, also after an abort if `deaf` is set. Logs its
 * start and end.
 */
const WORK = `
import { appendFileSync, existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
export default {
  description: 'works',
  async run({ message, signal }) {
    const { n, ms = 0, until, deaf } = message.data.body
    appendFileSync('log', 'start ' + n + '\\n')
    if (ms) await pause(ms)
    while (until && !existsSync(until)) await pause(10, undefined, deaf ? {} : { signal })
    appendFileSync('log', 'end ' + n + '\\n')
  },
}`

describe('a drain', { concurrency: true, timeout: 300_000 }, () => {
  for (const store of ['embedded', 'redis'] as const) {
    describe(`on ${store}`, { concurrency: 1 }, () => {
      const suite = suiteWithDaemon({
        ownProcess: true,
        routes: ROUTES,
        skills: { work: WORK },
        store,
        env: { TRIVIUM_GRACE: `${GRACE}ms` },
      })
      before(() => suite.site.write('log', ''))

      const log = () => readFileSync(join(suite.site.dir, 'log'), 'utf8').split('\n')
      const count = (line: string) => log().filter((one) => one === line).length
      const accept = async (body: object) => {
        // On a busy machine, Redis may be slower than the limit for a command. The sender then
        // repeats the delivery.
        const answer = await until(async () => {
          const answer = await suite.daemon.post('/hooks/work', JSON.stringify(body))
          return answer.status === 503 ? undefined : answer
        }, 'the store')
        assert.equal(answer.status, 202)
        return String(Object(answer.body).id)
      }
      /** The history of a message after its acceptance. */
      const history = async (id: string) =>
        Object.values(Object(Object(await suite.daemon.invoke('message-show', { id })).history))
          .slice(1)
          .map((note) => Object(note))
      const drain = async () => {
        const began = performance.now()
        const code = await suite.daemon.end('SIGTERM')
        return { code, took: performance.now() - began }
      }

      test('lets a skill finish within the grace, and does not run it again', async () => {
        const id = await accept({ n: 'short', ms: 300, attempts: 'once' })
        await until(() => count('start short'), 'a running skill')
        assert.equal((await drain()).code, 0)
        assert.equal(count('end short'), 1)
        await suite.restart()
        assert.deepEqual(
          (await history(id)).map(({ what }) => what),
          ['done'],
        )
        assert.equal(count('start short'), 1)
      })

      test('ends after the grace, answers waiting senders, and runs unfinished skills again without a further attempt', async () => {
        const id = await accept({ n: 'long', until: 'go', attempts: 'once' })
        await accept({ n: 'deaf', until: 'go', deaf: true })
        const { closed } = await suite.daemon.chat()
        const held = suite.daemon.post('/hooks/ask', JSON.stringify({ n: 'held', until: 'go' }))
        for (const n of ['long', 'deaf', 'held']) await until(() => count(`start ${n}`), 'a running skill')
        const { code, took } = await drain()
        assert.equal(code, 0)
        assert.ok(took >= GRACE * 0.9, `it took ${took} ms`)
        await assertPrompt('the end', took, GRACE + MARGIN)
        assert.equal((await held).status, 202)
        assert.equal(await closed, 1001)
        assert.equal(count('end long'), 0)
        suite.site.write('go', '')
        await suite.restart()
        for (const n of ['long', 'deaf', 'held'])
          await until(() => count(`end ${n}`), 'the skill to be run again')
        await until(async () => (await history(id)).length, 'a note')
        assert.deepEqual(
          (await history(id)).map(({ what, detail }) => [what, detail.attempt]),
          [['done', 1]],
        )
      })

      test('is cut short by a second signal, and unfinished skills are run again', async () => {
        await suite.restart('SIGTERM', { TRIVIUM_GRACE: '20s' })
        await accept({ n: 'cut', until: 'go-cut' })
        await until(() => count('start cut'), 'a running skill')
        const exit = drain()
        // Signals within half a second count as one, since under npm one Ctrl-C arrives twice.
        const signals = setInterval(() => process.kill(suite.daemon.pid, 'SIGTERM'), 100)
        const { code, took } = await exit.finally(() => clearInterval(signals))
        assert.equal(code, 143)
        await assertPrompt('the end', took, 5_000)
        suite.site.write('go-cut', '')
        await suite.restart()
        await until(() => count('end cut'), 'the skill to be run again')
      })

      test('refuses new deliveries, so that no acknowledged message is lost', async () => {
        const accepted: string[] = []
        const statuses = new Set<number>()
        let draining = true
        const sender = async (name: string) => {
          for (let n = 0; draining; n++) {
            const answer = await suite.daemon
              .post('/hooks/work', JSON.stringify({ n: `${name}${n}` }))
              .catch(() => undefined)
            if (!answer) return
            statuses.add(answer.status)
            if (answer.status === 202) accepted.push(String(Object(answer.body).id))
          }
        }
        const senders = [sender('a'), sender('b'), sender('c')]
        await until(() => accepted.length > 50, 'some load')
        assert.equal((await drain()).code, 0)
        draining = false
        await Promise.all(senders)
        for (const status of statuses) assert.ok([202, 503].includes(status), `status ${status}`)
        await suite.restart()
        await until(async () => {
          const { stats } = Object(Object(await suite.daemon.get('/v1/status')).result)
          return (
            stats.dispatch.unpumped === 0 &&
            Object.values(stats.jobs).every((one) => Object(one).waiting === 0)
          )
        }, 'the end of all jobs')
        for (const id of accepted)
          assert.ok(
            (await history(id)).some(({ what }) => what === 'done'),
            id,
          )
      })
    })
  }

  describe('with a drain-delay', () => {
    const suite = suiteWithDaemon({
      ownProcess: true,
      routes: ROUTES,
      skills: { work: WORK },
      env: { TRIVIUM_DRAIN_DELAY: '3s' },
    })

    test('turns /readyz red at once, and accepts messages without keep-alive until the delay is over', async () => {
      const { daemon } = suite
      const post = async (n: string) => {
        const init = { method: 'POST', body: JSON.stringify({ n }) }
        const { status, headers } = await fetch(`${daemon.url}/hooks/work`, init)
        return [status, headers.get('connection')]
      }
      assert.deepEqual(await post('before'), [202, 'keep-alive'])
      const began = performance.now()
      const exit = daemon.end('SIGTERM')
      await until(async () => (await fetch(`${daemon.control}/readyz`)).status === 503, 'a red /readyz')
      assert.deepEqual(await post('meanwhile'), [202, 'close'])
      const { socket, next } = await daemon.chat()
      socket.send('{"type":"message","id":"1","text":"hello"}')
      await next('ack')
      assert.equal(await exit, 0)
      assert.ok(performance.now() - began >= 2_900)
    })
  })
})
