import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

test('status and top say how many messages of dispatch are held by pauses', async () => {
  const site = openSite({
    routes: `
gateways: { shop: { transport: webhook, path: /shop, verify: { scheme: none }, from: data.by } }
routes: [{ name: orders, skill: echo }]
`,
  })
  const daemon = await site.start()
  await daemon.invoke('route-pause', { route: 'orders' })
  await fetch(`${daemon.url}/shop`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ by: 'ada', text: 'order 4711' }),
  })
  const status = await until(async () => {
    const { out } = await site.run(['status'])
    return out.includes('held by pauses') ? out : undefined
  }, 'a held message')
  assert.match(status, /^dispatch +1 .*waiting or running; 1 held by pauses$/m)
  assert.match((await site.run(['top'])).out, /^dispatch +1 waiting \(1 held by pauses\)/m)
})
