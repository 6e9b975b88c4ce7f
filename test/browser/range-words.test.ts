import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { DAY, HOUR, MINUTE } from '../../src/core/units.ts'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole, untilCopied } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until as eventually } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /hooks/shop, verify: { scheme: none } }
routes: [{ name: all, skill: echo, reply: none }]
`

describe('a custom range of time', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: ROUTES })
  const daemon = await site.start()
  const { page, show, shots } = await openConsole(() => daemon)
  const time = page.getByRole('combobox', { name: 'Time' })
  const from = page.getByRole('textbox', { name: 'From' })
  const until = page.getByRole('textbox', { name: 'Until' })
  const write = async (field: typeof from, words: string) => {
    await field.fill(words)
    await field.press('Enter')
  }
  /** The end of the range in the address, in Unix ms. */
  const inAddress = (name: string) =>
    Date.parse(new URLSearchParams(page.url().split('?')[1]).get(name) ?? 'none')
  const midnight = () => page.evaluate(() => new Date().setHours(0, 0, 0, 0))
  const begin = async () => (await from.inputValue()).replace(' ', 'T')

  test('begins with the current one, and says in which time zone', async () => {
    await show('messages')
    await time.selectOption('6h')
    await page.waitForURL(/since=6h/)
    await time.selectOption('custom')
    await from.waitFor()
    const begun = await page.evaluate((text) => new Date(text).getTime(), await begin())
    assert.ok(Math.abs(Date.now() - 6 * HOUR - begun) < MINUTE)
    assert.equal(await until.inputValue(), 'now')
    const zone = await page.evaluate(() => Intl.DateTimeFormat().resolvedOptions().timeZone)
    await page.getByText(`In the time of this browser (${zone}).`).waitFor()
    assert.match(page.url(), /since=6h$/)
    assert.deepEqual(await faultsOf(page), [])
    await shots('range-words')
  })

  test('is copied with the times that its ages and words mean now', async () => {
    await show('messages?since=6h')
    await page.getByRole('button', { name: 'Copy link' }).click()
    const ends = new URLSearchParams((await untilCopied(page, /since=20.*until=20/)).split('?')[1])
    const [since, until] = ['since', 'until'].map((name) => Date.parse(ends.get(name) ?? 'none'))
    assert.equal(Number(until) - Number(since), 6 * HOUR)
    await show(`messages?${new URLSearchParams({ search: 'gateway:shop after:"yesterday 18-24"' })}`)
    await page.getByRole('button', { name: 'Copy link' }).click()
    await untilCopied(
      page,
      /search=gateway%3Ashop\+after%3A20\S+T18%3A00%3A00Z\+before%3A20\S+T00%3A00%3A00Z$/,
    )
    await show('messages?since=6h')
    await time.selectOption('custom')
    await from.waitFor()
  })

  test('takes the words of the search, in the time of the browser', async () => {
    await write(from, 'yesterday')
    await page.waitForURL(/since=20/)
    const yesterday = (await midnight()) - DAY
    assert.ok(
      Math.abs(inAddress('since') - yesterday) <= HOUR,
      'an hour more or less at a change of the clock',
    )
    await eventually(
      async () => /^20\d\d-\d\d-\d\d 00:00$/.test(await from.inputValue()),
      'the field to show the time that its words mean',
    )
    await write(from, 'yesterday 10:00')
    await write(until, '14:00')
    await page.waitForURL(/until=20/)
    assert.equal(inAddress('until') - inAddress('since'), 4 * HOUR)
    await write(from, 'yesterday 8-9:30')
    await write(until, 'now')
    await page.waitForURL((url) => !url.href.includes('until='))
    await write(from, 'yesterday 8-9:30')
    await page.waitForURL(/until=20/)
    assert.equal(inAddress('until') - inAddress('since'), 1.5 * HOUR)
    await write(until, '')
    await write(from, 'all')
    await page.waitForURL((url) => !url.href.includes('since='))
  })

  test('keeps what is typed into one end right after the other was read', async () => {
    await show('messages?since=2026-11-20T10:00:00Z')
    await from.waitFor()
    await page.evaluate(`{
      const [from, until] = document.querySelectorAll('.range-ends input[type="text"]')
      from.value = 'yesterday 8-9:30'
      for (const name of ['input', 'change']) from.dispatchEvent(new Event(name, { bubbles: true }))
      until.value = '9:15'
      until.dispatchEvent(new Event('input', { bubbles: true }))
    }`)
    await page.waitForURL(/until=20/)
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    assert.equal(await until.inputValue(), '9:15')
    await until.dispatchEvent('change')
    await page.waitForURL(() => inAddress('until') - inAddress('since') === 1.25 * HOUR)
  })

  test('says at a field what is wrong with it, and keeps the range', async () => {
    await show('messages?since=2026-11-20T10:00:00Z')
    const before = page.url()
    const faults: [typeof from, string, RegExp][] = [
      [from, 'soonish', /“soonish” is not a time\. Examples: 14:00/],
      [from, '2125-01-01 10:00', /is in the future/],
      [until, 'whenever', /“whenever” is not a time/],
      [until, '2026-11-20 01:00', /Until is not after From/],
    ]
    for (const [field, words, why] of faults) {
      const [since, end] = [await from.inputValue(), await until.inputValue()]
      await write(field, words)
      const text = field.locator('xpath=ancestor::div[1]').getByText(why)
      await text.waitFor()
      assert.equal(await field.getAttribute('aria-invalid'), 'true')
      assert.equal(page.url(), before)
      assert.deepEqual(await faultsOf(page), [])
      await write(field, field === from ? since : end)
      await text.waitFor({ state: 'detached' })
    }
  })
})
