import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { launchChromium } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  demo: { transport: webhook, path: /hooks/demo, verify: { scheme: none } }
routes:
  - { name: all, match: { gateway: demo }, skill: quiet }
`
const QUIET = `export default { description: 'does nothing', run() { return { ok: true } } }`
/** Messages before the first test. */
const SEEDED = 5_000
const MODERATE = { perSecond: 20, ms: 60_000 }
const HEAVY = { perSecond: 1_000, ms: 20_000 }
/** Duration (ms) of heavy traffic before the memory of the page is measured. */
const WARM_UP_MS = 5_000
/** Maximum growth (bytes) of the page under heavy traffic. */
const MAX_GROWTH = 4 * 1024 * 1024
/** A position (px) in the middle of the list, from which the new messages are not visible. */
const MIDDLE = 44_000

/**
 * Records in the page: the layout shift without user input, and the ms between a key and its effect
 * on the screen. Keys with an effect within 16 ms are not recorded, as browsers measure no shorter
 * times.
 */
const WATCH = `
  window.moved = 0
  window.answers = []
  new PerformanceObserver((list) => {
    for (const { hadRecentInput, value } of list.getEntries()) if (!hadRecentInput) moved += value
  }).observe({ type: 'layout-shift' })
  new PerformanceObserver((list) => {
    for (const { name, duration } of list.getEntries()) if (name === 'keydown') answers.push(duration)
  }).observe({ type: 'event', durationThreshold: 16 })
`

describe('the console under load', { timeout: 600_000 }, async () => {
  const site = openSite({ ownProcess: true, routes: ROUTES, skills: { quiet: QUIET } })
  let daemon = await site.start()
  const browser = await launchChromium()
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  const devtools = await page.context().newCDPSession(page)
  const list = page.locator('.list')
  const rows = page.getByRole('list', { name: 'Messages' }).getByRole('listitem')

  let sent = 0
  const post = async (count: number) => {
    const texts = Array.from({ length: count }, () => `number ${++sent}`)
    await Promise.all(texts.map((text) => daemon.post('/hooks/demo', JSON.stringify({ text }))))
  }
  /**
   * Sends up to `perSecond` messages per second for `ms`, as fast as the machine allows. Returns
   * their number.
   */
  const traffic = async (perSecond: number, ms: number) => {
    const before = sent
    const batch = Math.max(1, Math.round(perSecond / 20))
    for (const start = performance.now(); performance.now() - start < ms; ) {
      const due = ((performance.now() - start) * perSecond) / 1_000
      if (sent - before < due) await post(batch)
      else await new Promise((resolve) => setTimeout(resolve, 5))
    }
    return sent - before
  }
  const heap = async () => {
    await devtools.send('HeapProfiler.collectGarbage')
    // `performance.memory` of the page is rounded and minutes old.
    return (await devtools.send('Runtime.getHeapUsage')).usedSize
  }
  const count = async () => Number(await rows.first().getAttribute('aria-setsize'))

  test('a list of 5,000 messages scrolls to its end, with only the visible rows in the page', async () => {
    await post(1)
    while (sent < SEEDED) await post(Math.min(50, SEEDED - sent))
    await page.goto(`${daemon.control}/#token=${daemon.token}`)
    await page.getByText('Live', { exact: true }).waitFor()
    await page.goto(`${daemon.control}/#/messages`)
    await rows.first().waitFor()
    await until(async () => {
      await list.evaluate((box) => box.scrollTo(0, box.scrollHeight))
      return (await count()) === SEEDED
    }, 'all messages')
    await list.evaluate((box) => box.scrollTo(0, box.scrollHeight))
    await rows.filter({ hasText: /number 1\D/ }).waitFor()
    assert.ok((await rows.count()) < 80)
  })

  test('the focused row and the scroll position stay during a minute of traffic', async () => {
    await page.evaluate(WATCH)
    await list.evaluate((box, top) => box.scrollTo(0, top), MIDDLE)
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    const position = () =>
      page.evaluate(`(() => {
        const row = document.activeElement.closest('[data-key]')
        return [row.dataset.key, row.getBoundingClientRect().top, document.querySelector('.list').scrollTop]
      })()`)
    const before = await position()
    const end = AbortSignal.timeout(MODERATE.ms)
    const sending = traffic(MODERATE.perSecond, MODERATE.ms)
    while (!end.aborted) {
      assert.deepEqual(await position(), before)
      await new Promise((resolve) => setTimeout(resolve, 1_000))
    }
    const fresh = await sending
    const moved = Number(await page.evaluate('moved'))
    assert.ok(moved < 0.01, `a layout shift of ${moved}`)
    await page.getByRole('button', { name: `${fresh} new` }).click()
    await rows
      .first()
      .filter({ hasText: `number ${sent}` })
      .waitFor()
  })

  test('with 1,000 messages per second, the page reacts to keys within 100 ms, and its memory stays flat', async () => {
    await page.mouse.move(5, 5)
    await page.reload()
    await rows.first().waitFor()
    await traffic(HEAVY.perSecond, WARM_UP_MS)
    await page.evaluate(WATCH)
    const before = await heap()
    const sending = traffic(HEAVY.perSecond, HEAVY.ms)
    const end = AbortSignal.timeout(HEAVY.ms)
    while (!end.aborted) {
      await page.keyboard.press('?')
      await page.getByRole('heading', { name: 'Keys' }).waitFor()
      await page.keyboard.press('Escape')
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
    const received = await sending
    await rows.filter({ hasText: `number ${sent}` }).waitFor()
    const answers = Object(await page.evaluate('answers')).toSorted((a: number, b: number) => a - b)
    const p95 = answers[Math.floor(answers.length * 0.95)] ?? 0
    const growth = (await heap()) - before
    const figures = `${received} messages, ${answers.length} slow keys, p95 ${p95} ms, ${Math.round(growth / 1024)} KB more`
    console.log(figures)
    assert.ok(received > HEAVY.perSecond * (HEAVY.ms / 1_000) * 0.5, figures)
    assert.ok(p95 <= 100, figures)
    assert.ok(growth < MAX_GROWTH, figures)
  })

  test('shows within a second that the daemon died, and then all messages since', async () => {
    // A changed filter starts the list again, at its top.
    await page.goto(`${daemon.control}/#/messages?event=none`)
    await page.getByText('Nothing matches.').waitFor()
    await page.goto(`${daemon.control}/#/messages`)
    await rows.first().waitFor()
    await daemon.end('SIGKILL')
    await page.getByText('The daemon has not answered').waitFor({ timeout: 1_000 })
    daemon = await site.start({ TRIVIUM_CONTROL_LISTEN: new URL(daemon.control).host })
    const first = sent + 1
    await post(10)
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByText('The daemon has not answered').waitFor({ state: 'detached' })
    for (const number of [first, sent]) await rows.filter({ hasText: `number ${number}` }).waitFor()
  })
})
