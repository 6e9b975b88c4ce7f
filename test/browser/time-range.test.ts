import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { goTo, openConsole, untilCopied } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /hooks/shop, verify: { scheme: none } }
routes:
  - { name: all, skill: echo, reply: none }
`

describe('the time range of the view Now', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: ROUTES })
  const daemon = await site.start()
  const { page, show, press, shots } = await openConsole(() => daemon)
  for (let n = 0; n < 3; n++) await daemon.post('/hooks/shop', JSON.stringify({ text: `number ${n}` }))
  const time = page.getByRole('combobox', { name: 'Time' })
  const bars = page.getByRole('figure', { name: 'Messages that came in' })
  const chart = (name: string) => page.getByRole('figure', { name: `Messages a second, ${name}` })

  test('is in the address, and is copied with it', async () => {
    await show('now')
    await chart('the last hour').locator('canvas').waitFor()
    assert.equal(await time.inputValue(), '1h')
    // The daemon has just started: its rates are not those of an hour.
    await chart('the last hour')
      .getByText(/^since \d\d:\d\d$/)
      .waitFor()
    assert.equal(await bars.count(), 0)
    await time.selectOption('24h')
    await bars.getByRole('slider').waitFor()
    await chart('last 24 hours').locator('canvas').waitFor()
    await page.getByText(/This daemon knows/).waitFor()
    assert.match(page.url(), /#\/now\?since=24h$/)
    assert.deepEqual(await faultsOf(page), [])
    await shots('now-24h')
    await press('Copy link')
    const link = await untilCopied(page, /since=24h/)
    await show('messages')
    await goTo(page, link)
    await chart('last 24 hours').waitFor()
    await page.reload()
    await chart('last 24 hours').waitFor()
    await time.selectOption('15m')
    await chart('the last 15 minutes').locator('canvas').waitFor()
    await show('now?since=3h&until=2h')
    await page.getByText('This daemon knows no rates of this time').waitFor()
    assert.equal(await time.inputValue(), 'custom')
  })

  test('a bar of a longer time leads to its messages', async () => {
    await show('now?since=6h')
    const slider = bars.getByRole('slider')
    await slider.focus()
    await page.keyboard.press('End')
    // The messages are in the last bars.
    const count = async () =>
      /: (\d+ messages?)$/.exec((await slider.getAttribute('aria-valuetext')) ?? '')?.[1]
    for (let bar = 0; bar < 10 && (await count()) === '0 messages'; bar++)
      await page.keyboard.press('ArrowLeft')
    const selected = String(await count())
    assert.match(selected, /^[123] messages?$/)
    await page.keyboard.press('Enter')
    await page.getByText(selected, { exact: true }).waitFor()
    assert.match(page.url(), /#\/messages\?since=.*until=/)
    const time = page.locator('.list a.message-row time').first()
    assert.match(String(await time.textContent()), /^(\d+ \w+ )?\d\d:\d\d$/)
  })

  test('is loaded once if it is in the past, and repeatedly if it still changes', async () => {
    const urls: string[] = []
    page.on('request', (request) => void urls.push(request.url()))
    const times = (part: string) => urls.filter((url) => url.includes(`/v1/history?${part}`)).length
    await page.clock.install()
    await page.reload()
    await show('now?since=2026-01-01T00:00:00Z&until=2026-01-02T00:00:00Z')
    await page.getByText('This daemon knows no rates of this time').waitFor()
    await page.clock.fastForward('00:31')
    await show('now?since=6h')
    await bars.getByRole('slider').waitFor()
    await page.clock.fastForward('00:31')
    await until(() => times('since=6h') > 1, 'another request')
    assert.equal(times('since=2026'), 1)
  })
})
