import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pathGet } from '../../src/core/json.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways: { shop: { transport: webhook, path: /shop, verify: { scheme: none } } }
routes: [{ name: all, skill: echo }]
`

test('gateway show and gateway list say that the last reload failed, and why', async () => {
  const site = openSite({ routes: ROUTES })
  const daemon = await site.start()
  const run = async (...args: string[]) => {
    const { out, err } = await site.run(args)
    return out + err
  }
  assert.doesNotMatch(await run('gateway', 'list'), /reload/)
  site.write('routes.yaml', ROUTES.replace('transport: webhook', 'transport: webhok'))
  await until(async () => {
    const troubles = pathGet(await daemon.invoke('troubles', {}), 'troubles')
    return JSON.stringify(troubles).includes('"configuration"')
  }, 'a failed reload')
  for (const args of [['show', 'shop'], ['list']]) {
    const text = await run('gateway', ...args)
    assert.match(text, /The last reload failed: The last good configuration stays in force\. .*webhok/s)
  }
})
