import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'

for (const kind of ['embedded', 'redis'] as const) {
  test(`a pause of a route, a gateway or a skill ends after its time, on ${kind}`, async (t) => {
    const redis = kind === 'redis' ? await startRedisServer() : undefined
    if (redis) t.after(() => redis.stop())
    const site = openSite({
      routes: `
gateways: { shop: { transport: webhook, path: /shop, verify: { scheme: none } } }
routes: [{ name: all, skill: echo, reply: none }]
`,
      env: redis ? { REDIS_URL: redis.url } : {},
    })
    const daemon = await site.start()
    const outcomeOf = async (id: string) =>
      String(Object(await daemon.invoke('message-show', { id })).outcome)
    for (const [what, name] of [
      ['route', 'all'],
      ['gateway', 'shop'],
      ['skill', 'echo'],
    ] as const) {
      const { pause } = Object(await daemon.invoke(`${what}-pause`, { [what]: name, for: '1s' }))
      assert.equal(pause.until - pause.since, 1_000)
      const { body } = await daemon.post('/shop', `{"text":"during the pause of the ${what}"}`)
      await until(
        async () => (await outcomeOf(String(Object(body).id))) === 'done',
        `the message after the pause of the ${what}`,
        30_000,
      )
      assert.deepEqual(await daemon.invoke('pause-list', {}), [])
      await assert.rejects(daemon.invoke(`${what}-pause`, { [what]: name, for: '30d' }), /1s to 24d/)
    }
  })
}
