import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'

const NAMES = Array.from({ length: 9 }, (_, index) => `customer-relations-${index}`)
const ROUTES = `
gateways: { shop: { transport: webhook, path: /shop, verify: { scheme: none } } }
subscriptions:
${NAMES.map((name) => `  - { name: ${name}, topic: orders, url: "http://127.0.0.1:9/${name}", allow-private: true, secret: whsec_${'c2VjcmV0'.repeat(5)} }`).join('\n')}
routes: [{ name: all, skill: echo }]
`

const LONG = 'stocktaking in all four shops '.repeat(40).trim()

describe('Now', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: ROUTES })
  const daemon = await site.start()
  const { page, show, shots } = await openConsole(() => daemon)

  /** The number of troubles that nobody intends. */
  const troublesThatCount = async () => {
    const { troubles } = Object(await daemon.invoke('troubles', {}))
    return [troubles].flat().filter((each) => Object(each).severity !== 'info').length
  }

  test('shows the whole text of many warnings, on up to two lines, and leads to the push', async () => {
    for (const name of NAMES) await daemon.invoke('subscription-pause', { name })
    for (let n = 0; n < 3; n++) await daemon.invoke('event-emit', { topic: 'orders', data: n })
    await show('now')
    const troubles = page.getByRole('region', { name: 'What is wrong' }).getByRole('listitem')
    await troubles.nth(NAMES.length - 1).waitFor()
    await page
      .getByText(/3 events wait: 0 queued, 3 unread\./)
      .nth(NAMES.length - 1)
      .waitFor()
    for (const width of [1440, 1200, 1000, 390]) {
      await page.setViewportSize({ width, height: 900 })
      const cut = await page
        .locator('.trouble-text, .trouble .words')
        .evaluateAll((all) => all.filter((each) => each.scrollHeight > each.clientHeight + 1).length)
      assert.equal(cut, 0, `${cut} texts are cut off at ${width} px`)
      const outside = await page.locator('.chart:has(.legend)').evaluateAll(
        (all) =>
          all.flatMap((chart) => {
            const { right } = chart.getBoundingClientRect()
            return [...chart.querySelectorAll('.legend > span')].filter(
              (value) => value.getBoundingClientRect().right > right,
            )
          }).length,
      )
      assert.equal(outside, 0, `${outside} values are outside of their chart at ${width} px`)
    }
    await page.setViewportSize({ width: 1200, height: 900 })
    assert.deepEqual(await faultsOf(page), [])
    await shots('now')
    await page.setViewportSize({ width: 390, height: 844 })
    await show('messages')
    const menu = page.getByRole('button', { name: /^Messages/ })
    await menu.locator('.count').waitFor()
    const problems = await menu.locator('.count').textContent()
    assert.equal(Number(problems), await troublesThatCount())
    await menu.click()
    const inMenu = page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: /^Now/ })
    assert.equal(await inMenu.locator('.count').textContent(), problems)
    assert.equal(await menu.locator('.count').count(), 0)
    await page.setViewportSize({ width: 1200, height: 900 })
    await show('now')
    await page.getByRole('link', { name: 'See the push' }).first().click()
    await page.waitForURL(/queues\/orders\/customer-relations-\d$/)
  })

  test('nothing moves under the pointer while its button is pressed, also with a text that is cut off', async () => {
    await daemon.invoke('gateway-pause', {
      gateway: 'shop',
      reason: LONG,
    })
    await page.setViewportSize({ width: 1300, height: 900 })
    await show('now')
    const trouble = page.getByRole('listitem').filter({ hasText: 'Gateway shop is paused' })
    const text = trouble.locator('.trouble-text')
    const isCut = () => text.evaluate(({ scrollHeight, clientHeight }) => scrollHeight > clientHeight + 1)
    await trouble.waitFor()
    // The last part of the page.
    await page.getByRole('cell', { name: /^journal/ }).waitFor()
    assert.equal(await isCut(), true)
    const button = page.getByRole('button', { name: 'Resume shop' })
    await button.hover()
    const before = await button.boundingBox()
    await page.mouse.down()
    assert.deepEqual(await button.boundingBox(), before)
    await page.mouse.up()
    await page.getByText(/^The gateway shop is resumed\./).waitFor()
    await trouble.waitFor({ state: 'detached' })
  })

  test('on a phone, what is paused and the charts are folded below what fails', async () => {
    await daemon.invoke('gateway-pause', { gateway: 'shop', reason: 'stocktaking' })
    await page.setViewportSize({ width: 390, height: 844 })
    await show('now')
    await page.getByText('Paused 1', { exact: true }).waitFor()
    const paused = page.getByRole('link', { name: 'Gateway shop is paused' })
    const chart = page.getByRole('figure', { name: 'Messages a second' })
    assert.deepEqual([await paused.count(), await chart.count()], [0, 0])
    await page.getByText('Paused 1', { exact: true }).click()
    await paused.waitFor()
    await page.getByText('Charts and roads').click()
    await chart.waitFor()
    await page.getByRole('cell', { name: /^journal/ }).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await page.setViewportSize({ width: 1300, height: 900 })
    await page.getByText('Paused 1', { exact: true }).waitFor({ state: 'detached' })
    await daemon.invoke('gateway-resume', { gateway: 'shop' })
  })

  test('shows the cause of a warning whole, beside its actions', async () => {
    const reason = 'stocktaking in all four shops '.repeat(8).trim()
    await daemon.invoke('gateway-pause', { gateway: 'shop', reason })
    await page.setViewportSize({ width: 1440, height: 900 })
    await show('now')
    const text = page.locator('.trouble-text', { hasText: reason })
    await text.waitFor()
    assert.ok(await text.evaluate(({ scrollHeight, clientHeight }) => scrollHeight <= clientHeight + 1))
    await page.setViewportSize({ width: 1300, height: 900 })
  })

  test('shows a text in full, which is otherwise cut off, while it has the focus', async () => {
    await daemon.invoke('gateway-pause', {
      gateway: 'shop',
      reason: LONG,
    })
    const text = page.getByRole('listitem').filter({ hasText: LONG }).locator('.trouble-text')
    await text.waitFor()
    const cut = () => text.evaluate(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight)
    assert.ok((await cut()) > 1)
    await page.getByRole('region', { name: 'What is wrong' }).focus()
    for (let n = 0; n < 60 && (await cut()) > 1; n++) await page.keyboard.press('Tab')
    assert.ok((await cut()) <= 1)
  })
})
