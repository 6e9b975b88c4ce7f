import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { until } from '../fixtures/until.ts'

const MANY = 30

describe('the numbers of a replay to a push', { timeout: 300_000 }, async () => {
  const receiver = { status: 200, pushes: 0 }
  const { url } = await serveHttp(async (request, response) => {
    await request.toArray()
    receiver.pushes++
    response.writeHead(receiver.status).end()
  })
  const site = openSite({
    routes: `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none }, from: data.body.email }
subscriptions:
  - { name: crm, topic: orders, url: "${url}", allow-private: true, secret: whsec_${'c2VjcmV0'.repeat(5)}, rate: 10/s }
  - { name: erp, topic: gateway-message, url: "${url}", allow-private: true, secret: whsec_${'c2VjcmV0'.repeat(5)}, retry: { delay: 1h, max-delay: 1h } }
routes: [{ name: all, match: { gateway: shop }, skill: echo, reply: none }]
`,
  })
  const daemon = await site.start()
  const shown = async (id: string) => Object(await daemon.invoke('job-show', { id }))
  const sumOf = (outcomes: Record<string, number>) =>
    Object.values(outcomes).reduce((sum, many) => sum + many, 0)

  test('add up to its total at any moment, and have its speed', async () => {
    for (let n = 0; n < MANY; n++) await daemon.invoke('event-emit', { topic: 'orders', data: { n } })
    await until(() => receiver.pushes === MANY, 'the first deliveries')
    const { job } = Object(await daemon.invoke('subscription-replay', { name: 'crm', since: 'all' }))
    const speeds: unknown[] = []
    await until(async () => {
      const { state, outcomes, speed, delivering } = await shown(job.id)
      if (state !== 'done' || !delivering) return state === 'done' && outcomes?.delivered === MANY
      assert.equal(sumOf(outcomes), MANY, JSON.stringify(outcomes))
      if (speed !== undefined) speeds.push(speed)
      return false
    }, 'the delivery of all')
    assert.ok(speeds.length > 0)
    assert.ok(speeds.every((speed) => Number(speed) > 0))
  })

  test('do not have those waiting that were erased since, while others wait', async () => {
    const before = receiver.pushes
    for (const name of ['ada', 'bob', 'bob'])
      await daemon.post('/shop', JSON.stringify({ text: 'hello', email: `${name}@example.com` }))
    await until(() => receiver.pushes === before + 3, 'the first deliveries')
    receiver.status = 503
    const { job } = Object(await daemon.invoke('subscription-replay', { name: 'erp', since: 'all' }))
    await until(() => receiver.pushes > before + 3, 'a failed attempt')
    await daemon.post('/shop', JSON.stringify({ text: 'hello', email: 'cleo@example.com' }))
    const erase = { identity: ['*:bob@example.com'], confirm: true, wait: 60_000 }
    assert.equal(Object(await daemon.invoke('person-erase', erase)).job.state, 'done')
    await until(async () => (await shown(job.id)).outcomes?.removed === 2, 'the erased ones')
    const { outcomes } = await shown(job.id)
    assert.deepEqual(outcomes, { delivered: 0, waiting: 1, dead: 0, removed: 2 })
    assert.match((await site.run(['job', 'list'])).out, /\t1 waiting \(receiver fails\), 2 removed since$/m)
  })
})
