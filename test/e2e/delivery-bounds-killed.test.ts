import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'

const MAX_DELIVERIES = 4
const ROUTES = `
gateways:
  orders: { transport: webhook, path: /orders, verify: { scheme: none }, text: data.body.text, receive: { max-deliveries: ${MAX_DELIVERIES} } }
`
const TEXTS = Array.from({ length: 24 }, (_, n) => (n % 3 === 0 ? `poison ${n}` : `healthy ${n}`))
const WORKERS = 4
/** An extended lease (ms). It delays the end of the test if the daemon is killed before the acknowledgement. */
const EXTENDED = 2_000
/** The number of deliveries in each round before the daemon is killed. */
const KILLS = [5, 11, 3, 17]

type Received = { text: string; receipt: string }

for (const kind of ['embedded', 'redis'] as const) {
  test(`after kills between receive, extend, nack and ack on ${kind}, each message is acknowledged once or dead`, {
    timeout: 300_000,
  }, async (t) => {
    const redis = kind === 'redis' ? await startRedisServer() : undefined
    if (redis) t.after(() => redis.stop())
    const site = openSite({
      ownProcess: true,
      routes: ROUTES,
      env: redis ? { REDIS_URL: redis.url } : {},
    })
    let daemon = await site.start()
    const ids = new Map<string, string>()
    for (const text of TEXTS) {
      const { status, body } = await daemon.post('/orders', JSON.stringify({ text }))
      assert.equal(status, 202)
      ids.set(text, String(Object(body).id))
    }

    const deliveries = new Map<string, number>()
    const done = new Set<string>()
    const call = async (skill: string, args: object) => Object(await daemon.invoke(skill, args))
    const handle = async ({ text, receipt }: Received) => {
      assert.ok(!done.has(text), `${text} was delivered after its acknowledgement`)
      const count = (deliveries.get(text) ?? 0) + 1
      assert.ok(count <= MAX_DELIVERIES, `${text} was delivered ${count} times`)
      deliveries.set(text, count)
      if (text.startsWith('poison')) {
        // In turn: returned after an extension, left until its lease ends, returned at once.
        if (count % 3 === 1) await call('gateway-extend', { receipt, lease: EXTENDED })
        if (count % 3 !== 2) await call('gateway-nack', { receipt })
        return
      }
      await call('gateway-extend', { receipt, lease: EXTENDED })
      if ((await call('gateway-ack', { receipt })).ok === true) done.add(text)
    }
    /** Receives messages until `isStopped` returns true or the daemon has ended. */
    const work = async (isStopped: () => boolean) => {
      while (!isStopped()) {
        const message = await call('gateway-receive', { gateway: 'orders', timeout: 100, lease: 400 }).catch(
          () => undefined,
        )
        if (!message) return
        if (message.text === undefined) continue
        await handle(Object(message)).catch((error) => {
          if (error instanceof assert.AssertionError) throw error
        })
      }
    }
    const startWorkers = (isStopped: () => boolean) =>
      Promise.all(Array.from({ length: WORKERS }, () => work(isStopped)))
    const deliveryCount = () => [...deliveries.values()].reduce((sum, count) => sum + count, 0)

    for (const kill of KILLS) {
      const wanted = deliveryCount() + kill
      let hasEnded = false
      const working = startWorkers(() => hasEnded)
      await until(() => deliveryCount() >= wanted || isOver(), `${kill} deliveries`)
      const killed = daemon.end('SIGKILL')
      hasEnded = true
      await Promise.all([killed, working])
      daemon = await site.start()
    }

    let isSettled = false
    const rest = startWorkers(() => isSettled)
    const stateOf = async (text: string): Promise<string> =>
      (await call('message-show', { id: ids.get(text) })).receive.state
    const states = async () =>
      new Map(await Promise.all(TEXTS.map(async (text) => [text, await stateOf(text)] as const)))
    // The answer to an acknowledgement may be lost with the daemon, so the stored state counts.
    // A message over the bound is first acknowledged, and then dead.
    const isAtEnd = async (text: string) => {
      const state = await stateOf(text)
      return state === 'dead' || (state === 'acknowledged' && !text.startsWith('poison'))
    }
    for (const text of TEXTS) await until(() => isAtEnd(text), `the end of ${text}`)
    isSettled = true
    await rest
    const last = await states()
    for (const text of done) assert.equal(last.get(text), 'acknowledged')
    const poison = TEXTS.filter((text) => text.startsWith('poison'))
    assert.deepEqual(new Set(poison.map((text) => last.get(text))), new Set(['dead']))
    const letters = Object(await daemon.invoke('dead-letter-list', { queue: 'receive', limit: 100 }))
    assert.deepEqual(
      letters.map(({ message }: { message: { text: string } }) => message.text).toSorted(),
      TEXTS.filter((text) => last.get(text) === 'dead').toSorted(),
    )

    function isOver(): boolean {
      return (
        done.size + TEXTS.filter((text) => (deliveries.get(text) ?? 0) >= MAX_DELIVERIES).length >=
        TEXTS.length
      )
    }
  })
}
