import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { suiteWithDaemon } from '../fixtures/suite.ts'

const GATEWAY = `gateways: { orders: { transport: webhook, path: /orders, verify: { scheme: none } } }`
const withGroups = (...groups: string[]) => `${GATEWAY}
topics: { gateway-message: { groups: { ${groups.map((name) => `${name}: { match: { gateway: orders } }`).join(', ')} } } }
`

for (const store of ['embedded', 'redis'] as const) {
  describe(`consumer groups of routes.yaml, on ${store}`, { timeout: 300_000 }, () => {
    const suite = suiteWithDaemon({ routes: withGroups('billing'), store })
    const read = async (queue: string) => {
      const topic = 'gateway-message'
      const events = await suite.daemon.invoke('event-wait', { topic, queue, timeout: 0 })
      return Array.isArray(events) ? events.map((event) => Object(event).data.body.order) : events
    }

    test('get messages from before their first reader', async () => {
      await suite.daemon.post('/orders', JSON.stringify({ order: 1 }))
      assert.deepEqual(await read('billing'), [1])
      assert.deepEqual(await read('undeclared'), [])
    })

    test('exist as soon as a reload has added them', async () => {
      suite.site.write('routes.yaml', withGroups('billing', 'shipping'))
      assert.equal((await suite.site.run(['reload'])).code, 0)
      await suite.daemon.post('/orders', JSON.stringify({ order: 2 }))
      assert.deepEqual(await read('shipping'), [2])
      assert.deepEqual(await read('billing'), [2])
    })
  })
}
