import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'

const routesWith = (url: string) => `
gateways:
  hook: { transport: webhook, path: /hook, verify: { scheme: none } }
subscriptions:
  - { name: crm, topic: orders, url: "${url}", allow-private: true, secret: whsec_${'c2VjcmV0'.repeat(5)}, retry: { delay: 1h, max-delay: 1h } }
`
const MANY = 400

for (const kind of ['embedded', 'redis'] as const) {
  test(`a kill while a replay is withdrawn loses no other event on the ${kind} store`, {
    timeout: 300_000,
  }, async (t) => {
    const redis = kind === 'redis' ? await startRedisServer() : undefined
    if (redis) t.after(() => redis.stop())
    const receiver = { status: 200, got: [] as unknown[] }
    const { url } = await serveHttp(async (request, response) => {
      const { data } = JSON.parse((await request.toArray()).join(''))
      receiver.got.push(data.n)
      response.writeHead(receiver.status).end()
    })
    const env = redis ? { REDIS_URL: redis.url } : {}
    const site = openSite({ ownProcess: true, routes: routesWith(url), env })
    let daemon = await site.start()
    const emit = (n: unknown) =>
      daemon.invoke('event-emit', { topic: 'orders', data: { n, conversation: `c${n}` } })
    const group = async () => Object(await daemon.invoke('event-groups', { topic: 'orders' }))[0]
    const shown = async (id: string) => Object(await daemon.invoke('job-show', { id }))
    for (let n = 0; n < MANY; n++) await emit(n)
    await until(async () => receiver.got.length === MANY && (await group()).lag === 0, 'the deliveries')
    for (const reads of [0, 1, 3, 8]) {
      receiver.status = 503
      const { job } = Object(await daemon.invoke('subscription-replay', { name: 'crm', to: 'f' }))
      await until(async () => (await shown(job.id)).delivering, 'a replay that delivers')
      const own = `own ${reads}`
      await emit(own)
      const cancelled = daemon.invoke('job-cancel', { id: job.id }).catch(() => undefined)
      await until(async () => (await shown(job.id)).state === 'cancelled', 'the request')
      // Some requests later, the withdrawal has come further.
      for (let read = 0; read < reads; read++) await shown(job.id)
      await daemon.end('SIGKILL')
      await cancelled
      daemon = await site.start()
      const { withdrawn, interrupted = 0 } = await until(async () => {
        const { result, withdrawing } = await shown(job.id)
        return withdrawing ? undefined : result
      }, 'the end of the withdrawal')
      assert.equal(withdrawn + interrupted, (await shown(job.id)).result.events)
      receiver.status = 200
      receiver.got.length = 0
      await daemon.invoke('subscription-retry', { name: 'crm' })
      const waiting = async () => Object(await daemon.invoke('subscription-list', {}))[0].waiting
      await until(async () => (await waiting()) === 0, 'an empty queue')
      assert.deepEqual(receiver.got, [own])
    }
  })
}
