import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { goTo, openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /hooks/shop, verify: { scheme: none }, event: data.body.type }
routes:
  - { name: orders, match: { gateway: shop, event: order.paid }, skill: ship, retry: { attempts: 1 } }
  - { name: all, match: { gateway: shop }, skill: echo }
`
const SHIP = `export default { description: 'ships', run({ message: { data: { body } } }) {
  throw new Error(body.reason ?? 'The warehouse has no stock of order ' + body.order + ' in Rotterdam, as it says')
} }`

describe('texts in lists and dialogs of the console', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: { ship: SHIP } })
  const daemon = await site.start()
  const { page } = await openConsole(() => daemon, { height: 700 })
  const post = (body: object) => daemon.post('/hooks/shop', JSON.stringify(body))
  const row = (text: string) => page.getByRole('listitem').filter({ hasText: text })

  test('a row of a webhook summarises the event without its id', async () => {
    const charge = {
      id: 'ch_3MtwBwLkdIwHu7ix',
      object: 'charge',
      amount: 4200,
      currency: 'eur',
      status: 'failed',
    }
    await post({
      id: 'evt_1NG8Du2eZvKYlo2C',
      object: 'event',
      type: 'charge.failed',
      data: { object: charge },
    })
    await goTo(page, `${daemon.control}/#/messages`)
    await row('charge.failed').getByText('amount: 4200 · status: failed · currency: eur').waitFor()
    assert.equal(await page.getByText('evt_1NG8Du2eZvKYlo2C').count(), 0)
    await page.getByText('1 message', { exact: true }).waitFor()
    await goTo(page, `${daemon.control}/#/conversations?show=all`)
    await row('amount: 4200').waitFor()
    await page.getByText('1 conversation', { exact: true }).waitFor()
  })

  test('dead letters are grouped by the texts of their errors', async () => {
    for (const order of ['A-17', 'B-18', 'B-18', 'C-19']) await post({ type: 'order.paid', order })
    await post({ type: 'order.paid', reason: 'no such shop' })
    await goTo(page, `${daemon.control}/#/dead-letters`)
    const kinds = page.getByRole('listitem').filter({ has: page.getByRole('button', { name: 'Retry' }) })
    await until(async () => (await kinds.count()) === 4, 'four kinds')
    await goTo(page, `${daemon.control}/#/dead-letters?error=warehouse`)
    await page.getByText('4 in 3 kinds, most people first · most letters first').waitFor()
    // The error of a card can be selected; a click opens the card.
    const error = page.locator('.group .error').first()
    const box = await error.boundingBox()
    const [x, y] = [Number(box?.x), Number(box?.y) + 8]
    await page.mouse.move(x + 2, y)
    await page.mouse.down()
    await page.mouse.move(x + 120, y)
    await page.mouse.up()
    assert.match(await page.evaluate('String(getSelection())'), /\w/)
    assert.match(page.url(), /#\/dead-letters\?error=warehouse$/)
    await page.getByRole('link', { name: 'most letters first' }).click()
    await page.getByText('4 in 3 kinds, most letters first · most people first').waitFor()
    assert.equal(await page.locator('.group .many').first().textContent(), '2')
  })

  test('a group shows what its errors have in common, its rows what differs, and a dialog each error with its count', async () => {
    for (const order of ['31', '32', '32', '33']) await post({ type: 'order.paid', order })
    const found = async () => [await daemon.invoke('dead-letter-list', { error: 'order 3' })].flat().length
    // The list does not change under the mouse.
    await until(async () => (await found()) === 4, 'four dead letters')
    await goTo(page, `${daemon.control}/#/dead-letters?error=order+3`)
    const kind = page.locator('.group')
    await kind.getByText('The warehouse has no stock of order … in Rotterdam').waitFor()
    const counts = () => kind.locator('.many').allTextContents()
    await until(async () => (await counts()).join() === '4', 'one kind, four of it')
    // The whole card leads to the cause.
    const error = await kind.locator('.error').boundingBox()
    await page.mouse.click(Number(error?.x) + 5, Number(error?.y) + 5)
    await page.getByText('The warehouse has no stock of order … in Rotterdam, as it says').waitFor()
    await page.getByText(/^4 dead letters[,;].* ago\)$/).waitFor()
    // The texts of the rows have what differs in their errors.
    const texts = await page.locator('.letter .text').allTextContents()
    assert.deepEqual(
      texts.map((each) => /order: (\d+)/.exec(each)?.[1]),
      ['33', '32', '32', '31'],
    )
    assert.equal(await page.locator('.reason mark').count(), 0)
    // A wide window has titles: the age is that of the failure.
    assert.match(String(await page.locator('.list-head').textContent()), /^failed/)
    await page.getByRole('button', { name: 'Retry all …' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('4 dead letters of “orders”:').waitFor()
    const reasons = await dialog.locator('.reasons li').allTextContents()
    assert.equal(reasons.length, 3)
    assert.equal(
      reasons[0],
      '2 × Skill ship failed: The warehouse has no stock of order 32 in Rotterdam, as it says',
    )
    await dialog.getByRole('button', { name: 'Cancel' }).click()
  })
})
