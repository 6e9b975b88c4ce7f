import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Locator } from 'playwright-core'
import { openConsole, untilCopied } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none } }
routes:
  - { name: labels, match: { text: "*label*" }, skill: label, retry: { attempts: 1 } }
  - { name: parcels, match: { text: "*parcel*" }, skill: parcel, retry: { attempts: 3, delay: 10ms } }
  - { name: rest, skill: echo, reply: none }
`
const ERROR = 'the carrier answered 500 Internal Server Error for order 46930'
const LABEL = `export default { description: 'labels', run() { throw new Error('${ERROR}') } }`
const PARCEL = `let n = 0
export default { description: 'sends', run() { if (n++ === 0) throw new Error('502 Bad Gateway') } }`
const TEXT = 'a label for the lamp that goes to a customer in the second house on the left of the road'

/** The width in px that the search needs for its placeholder. */
const NEEDED = `(() => {
  const box = document.querySelector('input[type="search"]')
  const { font, paddingLeft, paddingRight } = getComputedStyle(box)
  const pen = document.createElement('canvas').getContext('2d')
  pen.font = font
  return pen.measureText(box.placeholder).width + parseFloat(paddingLeft) + parseFloat(paddingRight)
})()`

/** Whether a text fits without being cut. */
const isWhole = (text: Locator) => text.evaluate((box) => box.scrollWidth <= box.clientWidth)

describe('the list of messages', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: { label: LABEL, parcel: PARCEL } })
  const daemon = await site.start()
  const { page, show } = await openConsole(() => daemon, { width: 1440 })
  await daemon.post('/shop', JSON.stringify({ text: TEXT }))
  await daemon.post('/shop', JSON.stringify({ text: 'the blue lamp' }))
  const dead = async (): Promise<unknown[]> =>
    Object(await daemon.invoke('message-search', { outcome: 'dead' })).messages
  await until(async () => (await dead()).length === 1, 'a dead letter')
  const failed = page.getByRole('listitem').filter({ hasText: TEXT })
  const search = page.getByRole('combobox', { name: 'Search messages' })
  const time = page.getByRole('combobox', { name: 'Time' })

  test('shows the whole error of a message that failed, below its text and within its row', async () => {
    await show('messages')
    const cause = failed.getByText(ERROR)
    for (const width of [1440, 1200, 390]) {
      await page.setViewportSize({ width, height: 844 })
      await cause.waitFor()
      assert.ok(width < 1440 || (await isWhole(cause)), 'the error is whole')
      const [row, text, error] = await Promise.all(
        [failed, failed.locator('.text').first(), cause].map((each) => each.boundingBox()),
      )
      assert.ok(row && text && error)
      assert.ok(error.y >= text.y + text.height - 1, `${width}: the error is below the text`)
      assert.ok(text.y >= row.y && error.y + error.height <= row.y + row.height, `${width}: within the row`)
    }
    await page.setViewportSize({ width: 1440, height: 900 })
  })

  test('has its causes above it for every word that means failed', async () => {
    const causes = page.getByRole('list', { name: 'Why they failed' })
    for (const words of ['status:failed', 'status:dead,undelivered']) {
      await show(`messages?${new URLSearchParams({ search: words })}`)
      await causes.getByText(ERROR).waitFor()
      await show('messages')
      await causes.waitFor({ state: 'detached' })
    }
  })

  test('leads from the words of an error to the messages that had it, and marks those that were tried again', async () => {
    await daemon.post('/shop', JSON.stringify({ text: 'parcel 7 for ada' }))
    const isDone = async () => {
      const { messages } = Object(await daemon.invoke('message-search', { search: 'parcel status:done' }))
      return messages.length === 1
    }
    await until(isDone, 'the second attempt')
    await show(`messages?${new URLSearchParams({ search: 'gateway:shop Bad Gateway' })}`)
    await page.getByText('Words are not searched in errors.', { exact: false }).waitFor()
    await page.getByRole('link', { name: '1 gateway:shop error:"Bad Gateway"' }).click()
    const row = page.getByRole('listitem').filter({ hasText: 'parcel 7 for ada' })
    await row.getByText('2 attempts', { exact: true }).waitFor()
    await show('messages?search=status:dead Bad Gateway')
    await page.getByRole('link', { name: '1 error:"Bad Gateway"' }).waitFor()
    await show('messages?search=blue lamp')
    const other = page.getByRole('listitem').filter({ hasText: 'the blue lamp' })
    await other.getByText('done', { exact: true }).waitFor()
    assert.equal(await other.getByText(/attempts/).count(), 0)
    await show('messages')
  })

  test('shows the time of the search in its menu, which can replace it', async () => {
    await show(`messages?${new URLSearchParams({ search: 'status:failed after:"today 0-24"' })}`)
    const chosen = time.locator('option:checked')
    await chosen.getByText('today 0-24').waitFor({ state: 'attached' })
    await time.selectOption('last hour')
    await page.waitForURL((url) => /since=1h/.test(url.hash) && !/after/.test(url.hash))
    await show('messages?search=after:1h')
    await chosen.getByText('last hour').waitFor({ state: 'attached' })
    await time.selectOption('any time')
    await page.waitForURL((url) => !/after|since/.test(url.hash))
    await chosen.getByText('any time').waitFor({ state: 'attached' })
    await show('messages')
  })

  test('closes the fields of a custom time when Messages is opened again', async () => {
    const from = page.getByRole('textbox', { name: 'From' })
    const messages = page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Messages' })
    await show('messages')
    for (const words of ['', 'lamp']) {
      await time.selectOption('custom')
      await from.waitFor()
      if (words) {
        await search.fill(words)
        await page.waitForURL(/search=lamp/)
        assert.equal(await from.isVisible(), true, 'open while somebody types')
      }
      await messages.click()
      await from.waitFor({ state: 'detached' })
      assert.equal(await time.inputValue(), '')
    }
  })

  test('has on a phone a search that can be read, folded filters and a link to copy', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    await show('messages?since=6h')
    await page.getByRole('button', { name: 'Copy link' }).click()
    await untilCopied(page, /messages\?since=20/)
    await show('messages')
    await time.waitFor({ state: 'detached' })
    const needed = await page.evaluate<number>(NEEDED)
    const { width } = (await search.boundingBox()) ?? { width: 0 }
    assert.ok(needed <= width, `the placeholder needs ${needed} of ${width} px`)
    await page.getByRole('button', { name: 'Filter' }).click()
    await page.getByRole('combobox', { name: 'Outcome' }).selectOption('failed')
    await page.waitForURL(/outcome=failed/)
    await page.getByRole('button', { name: 'Filter 1' }).waitFor()
  })
})
