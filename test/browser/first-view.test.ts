import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { launchChromium } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'

/** Bytes a second of a slow phone. */
const RATE = 40_000
/**
 * The most that may be loaded before the first view. `bytes`: with headers, without the events of
 * the stream; less than one second at `RATE`.
 * `uncached`: the number of responses that did not come from the cache.
 */
const MAXIMUM = { bytes: 34_000, uncached: 7 }
/** Loaded after the first view: other views, charts, and the points of an hour. */
const LATER = /later-|uPlot|v1\/history/

describe('the console on a slow line', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: 'routes: [{ name: all, skill: echo }]' })
  const daemon = await site.start()
  const browser = await launchChromium()
  const context = await browser.newContext()
  const headers = { authorization: `Bearer ${daemon.token}` }
  assert.equal((await context.request.post(`${daemon.control}/v1/session`, { headers })).status(), 200)

  /** Opens the console and counts the bytes and uncached responses until its first view. */
  const open = async (latency: number, clear = false) => {
    const page = await context.newPage()
    page.setDefaultTimeout(60_000)
    const line = await context.newCDPSession(page)
    await line.send('Network.enable')
    if (clear) await line.send('Network.clearBrowserCache')
    const limits = { downloadThroughput: RATE, uploadThroughput: RATE, latency, offline: false }
    await line.send('Network.emulateNetworkConditions', limits)
    let bytes = 0
    const uncached = new Set<string>()
    let untilFirstView: { bytes: number; uncached: string[] } | undefined
    line.on('Network.requestWillBeSent', ({ request }) => {
      if (LATER.test(request.url)) untilFirstView ??= { bytes, uncached: [...uncached] }
    })
    const streams = new Set<string>()
    line.on('Network.responseReceived', ({ requestId, response }) => {
      if (response.fromDiskCache) return
      if (response.mimeType === 'text/event-stream') streams.add(requestId)
      uncached.add(new URL(response.url).pathname)
      bytes += response.encodedDataLength
    })
    line.on('Network.dataReceived', ({ requestId, encodedDataLength }) => {
      // A slow machine gets more events before the next request.
      if (!streams.has(requestId)) bytes += encodedDataLength
    })
    const began = performance.now()
    await page.goto(daemon.control)
    await page.getByText('All is well.').waitFor()
    const ms = Math.round(performance.now() - began)
    await page.getByRole('figure', { name: 'Messages a second' }).locator('canvas').waitFor()
    await page.getByRole('link', { name: 'Audit' }).click()
    await page.getByRole('heading', { name: 'Audit', level: 1 }).waitFor()
    await page.close()
    assert.ok(untilFirstView, 'more was loaded after the first view')
    return { ...untilFirstView, ms }
  }

  test('shows its first view after few bytes and few responses, and caches its files', async (t) => {
    for (const latency of [0, 100]) {
      const first = await open(latency, true)
      const { length } = first.uncached
      t.diagnostic(`${latency} ms away: ${first.bytes} bytes, ${length} responses, ${first.ms} ms`)
      assert.ok(first.bytes > 20_000, 'the bytes were counted')
      assert.ok(first.bytes < MAXIMUM.bytes, `${first.bytes} bytes`)
      assert.ok(length <= MAXIMUM.uncached, first.uncached.join())
    }
    const second = await open(100)
    t.diagnostic(`second view: ${second.bytes} bytes, ${second.ms} ms`)
    assert.deepEqual(
      second.uncached.filter((path) => path.startsWith('/console/')),
      [],
    )
  })
})
