import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /hooks/shop, verify: { scheme: none } }
routes:
  - { name: all, skill: echo }
`
const [BATCH, FIRST, LAST] = [100, 2_300, 4_600]
/** Bytes that a page may grow by while thousands of messages pass. */
const GROWTH = 6_000_000

describe('a page that is open for long', { timeout: 240_000 }, async () => {
  const site = openSite({ routes: ROUTES })
  const daemon = await site.start()
  const { page, show } = await openConsole(() => daemon)

  test('stays small while thousands of messages pass', async (t) => {
    const line = await page.context().newCDPSession(page)
    await show('messages')
    const text = 'x'.repeat(150)
    let sent = 0
    const pass = async (upTo: number) => {
      while (sent < upTo) {
        const bodies = Array.from({ length: BATCH }, () =>
          JSON.stringify({ text: `number ${++sent}. ${text}` }),
        )
        await Promise.all(bodies.map((body) => daemon.post('/hooks/shop', body)))
      }
      // Alone: messages that come in together are in any order.
      await daemon.post('/hooks/shop', JSON.stringify({ text: `the last of ${upTo}.` }))
      await page.mouse.move(2, 2)
      const row = page.getByRole('listitem').filter({ hasText: `the last of ${upTo}.` })
      await row.waitFor({ timeout: 90_000 })
    }
    const measure = async () => {
      const nodes = Number(await page.evaluate('document.querySelectorAll("*").length'))
      await line.send('HeapProfiler.collectGarbage')
      const { usedSize } = await line.send('Runtime.getHeapUsage')
      return { nodes, heap: usedSize }
    }
    await pass(FIRST)
    const before = await measure()
    await pass(LAST)
    const after = await measure()
    t.diagnostic(`${FIRST}: ${JSON.stringify(before)}, ${LAST}: ${JSON.stringify(after)}`)
    assert.ok(after.nodes < before.nodes + 200, `${before.nodes} elements, then ${after.nodes}`)
    assert.ok(after.heap < before.heap + GROWTH, `${before.heap} bytes, then ${after.heap}`)
    const footer = page.locator('.under')
    await until(
      async () => /^[12],\d{3}\+ messages/.test((await footer.textContent()) ?? ''),
      'a bounded list',
    )
  })
})
