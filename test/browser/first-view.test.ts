import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { launchChromium } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'

/** Bytes a second of a slow phone, and how long (s) its user waits for the first view. */
const [RATE, PATIENCE] = [40_000, 3]

describe('the console on a slow line', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: 'routes: [{ name: all, skill: echo }]' })
  const daemon = await site.start()
  const browser = await launchChromium()
  const context = await browser.newContext()
  const headers = { authorization: `Bearer ${daemon.token}` }
  assert.equal((await context.request.post(`${daemon.control}/v1/session`, { headers })).status(), 200)

  /** Opens the console and counts the bytes that come over the line until it shows that all is well. */
  const open = async () => {
    const page = await context.newPage()
    page.setDefaultTimeout(60_000)
    const line = await context.newCDPSession(page)
    await line.send('Network.enable')
    const limits = { downloadThroughput: RATE, uploadThroughput: RATE, latency: 50, offline: false }
    await line.send('Network.emulateNetworkConditions', limits)
    let bytes = 0
    const fresh: string[] = []
    line.on('Network.responseReceived', ({ response }) => {
      if (!response.fromDiskCache) fresh.push(new URL(response.url).pathname)
    })
    line.on('Network.dataReceived', ({ encodedDataLength }) => {
      bytes += encodedDataLength
    })
    const began = performance.now()
    await page.goto(daemon.control)
    await page.getByText('All is well.').waitFor()
    const told = { bytes, fresh: [...fresh], ms: Math.round(performance.now() - began) }
    await page.getByRole('figure', { name: 'Messages a second' }).locator('canvas').waitFor()
    await page.close()
    return told
  }

  test('shows its first view from no more than comes in three seconds, and keeps its files', async (t) => {
    const first = await open()
    t.diagnostic(`first view: ${first.bytes} bytes, ${first.fresh.length} answers, ${first.ms} ms`)
    assert.ok(first.bytes > 20_000, 'the bytes were counted')
    assert.ok(first.bytes < RATE * PATIENCE * 0.8, `${first.bytes} bytes`)
    const second = await open()
    t.diagnostic(`second view: ${second.bytes} bytes, ${second.ms} ms`)
    assert.deepEqual(
      second.fresh.filter((path) => path.startsWith('/console/')),
      [],
    )
  })
})
