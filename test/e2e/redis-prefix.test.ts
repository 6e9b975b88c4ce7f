import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'

const ROUTES = `
gateways:
  demo: { transport: webhook, path: /hooks/demo, verify: { scheme: none } }
routes: []
`

test('two installations with prefixes of their own share a Redis and never see each other’s messages', async (t) => {
  const redis = await startRedisServer()
  t.after(() => redis.stop())
  const start = async (prefix: string) => {
    const site = openSite({
      routes: ROUTES,
      env: { REDIS_URL: redis.url, TRIVIUM_REDIS_PREFIX: prefix },
    })
    const daemon = await site.start()
    t.after(() => daemon.end())
    return daemon
  }
  const [live, staging] = [await start('live'), await start('staging')]
  assert.equal((await live.post('/hooks/demo', '{"text":"for live"}')).status, 202)
  const take = { gateway: 'demo', timeout: 0 }
  assert.equal(await staging.invoke('gateway-receive', take), null)
  assert.equal(Object(await live.invoke('gateway-receive', take)).gateway, 'demo')
})
