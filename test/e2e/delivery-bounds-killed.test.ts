import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'

const MOST = 4
const ROUTES = `
gateways:
  orders: { transport: webhook, path: /orders, verify: { scheme: none }, text: data.body.text, receive: { max-deliveries: ${MOST} } }
`
const TEXTS = Array.from({ length: 24 }, (_, n) => (n % 3 === 0 ? `poison ${n}` : `healthy ${n}`))
const WORKERS = 4
/** After how many deliveries the daemon is killed, round by round. */
const KILLS = [5, 11, 3, 17]

type Taken = { text: string; receipt: string }

for (const kind of ['embedded', 'redis'] as const) {
  test(`kills between receive, extend, nack and ack on ${kind} lose no message, repeat none and exceed no bound`, {
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
    const handle = async ({ text, receipt }: Taken) => {
      assert.ok(!done.has(text), `${text} came again after its acknowledgement`)
      const count = (deliveries.get(text) ?? 0) + 1
      assert.ok(count <= MOST, `${text} was delivered ${count} times`)
      deliveries.set(text, count)
      if (text.startsWith('poison')) {
        // Given back at once, after an extension, or left until its lease ends.
        if (count % 3 === 1) await call('gateway-extend', { receipt, lease: 20_000 })
        if (count % 3 !== 2) await call('gateway-nack', { receipt })
        return
      }
      await call('gateway-extend', { receipt, lease: 10_000 })
      if ((await call('gateway-ack', { receipt })).ok === true) done.add(text)
    }
    /** Takes messages until `isEnough`, or until the daemon is gone. */
    const work = async (isEnough: () => boolean) => {
      while (!isEnough()) {
        const taken = await call('gateway-receive', { gateway: 'orders', timeout: 100, lease: 400 }).catch(
          () => undefined,
        )
        if (!taken) return
        if (taken.text === undefined) continue
        await handle(Object(taken)).catch((error) => {
          if (error instanceof assert.AssertionError) throw error
        })
      }
    }
    const together = (isEnough: () => boolean) =>
      Promise.all(Array.from({ length: WORKERS }, () => work(isEnough)))
    const seen = () => [...deliveries.values()].reduce((sum, count) => sum + count, 0)

    for (const kill of KILLS) {
      const enough = seen() + kill
      let hasEnded = false
      const working = together(() => hasEnded)
      await until(() => seen() >= enough || isOver(), `${kill} deliveries`)
      const killed = daemon.end('SIGKILL')
      hasEnded = true
      await Promise.all([killed, working])
      daemon = await site.start()
    }

    let isSettled = false
    const rest = together(() => isSettled)
    const stateOf = async (text: string): Promise<string> =>
      (await call('message-show', { id: ids.get(text) })).receive.state
    const states = async () =>
      new Map(await Promise.all(TEXTS.map(async (text) => [text, await stateOf(text)] as const)))
    // The answer of an acknowledgement may be lost with the daemon; the message has its state all the same.
    // A message that exceeds the bound is acknowledged first, and then dead.
    const isAtEnd = ([text, state]: [string, string]) =>
      state === 'dead' || (state === 'acknowledged' && !text.startsWith('poison'))
    await until(async () => [...(await states())].every(isAtEnd), 'every message to end')
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
      return done.size + TEXTS.filter((text) => (deliveries.get(text) ?? 0) >= MOST).length >= TEXTS.length
    }
  })
}
