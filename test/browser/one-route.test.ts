import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const LONG =
  'the ERP answered 503: the document is locked by user K-4711 while the nightly closing runs, see https://erp.example.com/locks/4711 and try again after the closing has ended'
const ROUTES = `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none } }
  desk: { transport: webhook, path: /desk, verify: { scheme: none } }
  bank: { transport: webhook, path: /bank, verify: { scheme: github, secret: "secret-of-the-bank" } }
  post:
    transport: email
    address: post@shop.example
    imap: { host: 127.0.0.1, port: 1, tls: none, user: clerk, pass: closed }
    smtp: { host: 127.0.0.1, port: 1, tls: none }
routes:
  - { name: orders, match: { gateway: shop }, skill: confirm, retry: { attempts: 3, backoff: fixed, delay: 1h } }
  - { name: again, match: { gateway: desk }, skill: confirm, retry: { attempts: 2, backoff: fixed, delay: 10ms } }
  - { name: payments, match: { gateway: bank }, skill: echo }
  - { name: mail, match: { gateway: post }, skill: echo }
`
const CONFIRM = `export default {
  description: 'Confirms an order',
  run({ message }) {
    if (/ok/.test(message.text)) return 'confirmed'
    throw new Error(${JSON.stringify(LONG)})
  },
}`

describe('the routes in the console', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: { confirm: CONFIRM } })
  const daemon = await site.start()
  const { page, show, shots } = await openConsole(() => daemon, { width: 1440 })
  const post = (text: string) => daemon.post('/shop', text, { 'content-type': 'text/plain' })
  const rowOf = (name: string) =>
    page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) })

  test('a gateway that refuses or does not work says why and since when, in the list and on the page', async () => {
    const signature = createHmac('sha256', 'another').update('{}').digest('hex')
    const headers = { 'x-github-event': 'ping', 'x-hub-signature-256': `sha256=${signature}` }
    for (let count = 0; count < 12; count++) await daemon.post('/bank', '{}', headers)
    await show('routes')
    await rowOf('payments')
      .getByText(/^bank refuses every delivery for \d+ \w+: signature_invalid$/)
      .waitFor()
    await rowOf('mail')
      .getByText(/^post does not work for \d+ \w+: .*ECONNREFUSED/)
      .waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('routes')
    await rowOf('payments').getByRole('link', { name: 'payments', exact: true }).click()
    await page
      .getByText(/^Its gateway bank refuses every delivery for \d+ \w+\. 12 of 12 .* \(signature_invalid\)/)
      .waitFor()
    await show('configuration/mail')
    await page.getByText(/^Its gateway post does not work for \d+ \w+\. .*ECONNREFUSED/).waitFor()
    const { out } = await site.run(['route', 'list'])
    assert.match(
      out,
      /^payments\t.*\tgateway bank refuses every delivery since 20\S+Z \(signature_invalid\)$/m,
    )
    assert.match(out, /^mail\t.*\tgateway post does not work since 20\S+Z \(.*ECONNREFUSED.*\)$/m)
  })

  test('the errors of messages that are tried again are counted, and can be read to the end', async () => {
    for (const text of ['a lamp', 'ok', 'a chair']) await post(text)
    const isFailed = async () => Object(await daemon.invoke('skill-usage', { name: 'confirm' })).runs === 3
    await until(isFailed, 'the first attempts')
    await show('routes/orders')
    const cause = page.getByRole('list', { name: 'Why attempts failed' }).getByRole('listitem')
    await cause.getByText('2', { exact: true }).waitFor()
    await cause.getByText(/^the next again in /).waitFor()
    const error = cause.getByText(LONG)
    for (const [width, height] of [
      [1440, 900],
      [390, 844],
    ] as const) {
      await page.setViewportSize({ width, height })
      await error.waitFor()
      const isWhole = (element: {
        scrollHeight: number
        clientHeight: number
        scrollWidth: number
        clientWidth: number
      }) => element.scrollHeight <= element.clientHeight && element.scrollWidth <= element.clientWidth
      assert.equal(await error.evaluate(isWhole), true, `${width} px`)
    }
    await shots('route')
    await page.setViewportSize({ width: 1440, height: 900 })
    // No message has failed for good, but an attempt has.
    const figure = (name: string) => page.locator('.figure').filter({ hasText: new RegExp(`^${name}`) })
    await figure('Messages3arrived in this time').waitFor()
    await figure('Failed0of these').waitFor()
    await figure('Failed attempts2 \\(67 %\\)in this time, whenever their messages arrived').waitFor()
    assert.equal(await figure('More than one attempt').getByRole('link').count(), 0)
    assert.equal(await page.getByText(LONG).count(), 1, 'one error once')
    await show('configuration/orders')
    await cause.getByText(LONG).waitFor()
    assert.deepEqual(await faultsOf(page), [])
  })

  test('the messages with more than one attempt are found by their number', async () => {
    for (const text of ['a lamp', 'ok']) await daemon.post('/desk', text, { 'content-type': 'text/plain' })
    const isOver = async () => {
      const { messages } = Object(
        await daemon.invoke('message-search', { route: 'again', outcome: 'done,dead' }),
      )
      return messages.length === 2
    }
    await until(isOver, 'both messages')
    await show('configuration/again?since=1h')
    const figure = page.locator('.figure').filter({ hasText: 'More than one attempt' })
    await figure.getByRole('link', { name: '1 (50 %)' }).click()
    const list = page.getByRole('list', { name: 'Messages' })
    await list.getByText('a lamp').waitFor()
    assert.equal(await list.getByRole('listitem').count(), 1)
    assert.match(page.url(), /search=attempts(:|%3A)(>|%3E)1/)
    const ids = async (...args: string[]) =>
      JSON.parse((await site.run(['message', 'list', '--route', 'again', ...args, '--json'])).out).messages
        .length
    assert.equal(await ids('--attempts', '>1'), 1)
    assert.equal(await ids('--search', 'attempts:<2'), 1)
    assert.equal(await ids('--attempts', '3'), 0)
    const wrong = await site.run(['message', 'list', '--attempts', 'many'])
    assert.match(wrong.err, /expected a number of attempts, such as 2, >1, >=3 or <2/)
  })

  test('the list has the messages of a chosen time, and how many of them failed', async () => {
    await show('routes')
    const cells = rowOf('again').getByRole('cell')
    await cells.nth(3).getByText('2', { exact: true }).waitFor()
    await cells.nth(4).getByText('1 (50 %)', { exact: true }).waitFor()
    await cells.nth(5).getByText('2 (67 %)', { exact: true }).waitFor()
    await page.getByRole('combobox', { name: 'Time' }).selectOption('last 15 minutes')
    await until(() => page.url().endsWith('routes?since=15m'), 'the range in the address')
    await cells.nth(3).getByText('2', { exact: true }).waitFor()
    assert.equal(await page.getByText('is no parameter of').count(), 0)
    await shots('routes-range')
    assert.deepEqual(await faultsOf(page), [])
    await show('routes?since=2020-01-01T00:00:00Z&until=2020-01-02T00:00:00Z')
    await cells.nth(3).getByText('0', { exact: true }).waitFor()
    await cells
      .nth(6)
      .getByText(/^\d+ (?:s|min)$/)
      .waitFor()
    await show('routes?since=15m')
    await cells.nth(4).getByRole('link').click()
    await page.getByRole('list', { name: 'Messages' }).getByText('a lamp').waitFor()
    assert.match(page.url(), /route=again/)
  })

  test('the list is sorted by its failed attempts, and back in the order in which routes are tried', async () => {
    await show('routes?since=1h')
    const names = page.getByRole('region', { name: 'All routes' }).locator('td:first-child')
    const first = async (name: string) => (await names.first().textContent())?.trim() === name
    await until(() => first('orders'), 'the order of the file')
    const sorter = page.getByRole('button', { name: /^failed attempts/ })
    await sorter.click()
    await until(() => page.url().includes('sort=attempts'), 'the order in the address')
    const count = async (name: string) =>
      Number.parseInt((await rowOf(name).getByRole('cell').nth(5).textContent()) ?? '', 10)
    await until(async () => (await count('orders')) > 0 && (await count('again')) > 0, 'the counts')
    const worst = (await count('again')) > (await count('orders')) ? 'again' : 'orders'
    await until(() => first(worst), 'the worst first')
    await sorter.click()
    await until(() => first('orders'), 'the order of the file')
  })

  test('a phone has the button to pause at the end of the name of each route', async () => {
    const size = page.viewportSize() ?? { width: 1440, height: 900 }
    await page.setViewportSize({ width: 390, height: 844 })
    await show('routes')
    for (const name of ['orders', 'again', 'payments', 'mail']) {
      const isAtEnd = async () => {
        const [row, button] = await Promise.all([
          rowOf(name).boundingBox(),
          rowOf(name)
            .getByRole('button', { name: /^Pause/ })
            .boundingBox(),
        ])
        if (!row || !button) return false
        return button.y - row.y < 30 && row.x + row.width - button.x - button.width < 30
      }
      await until(isAtEnd, `the button of ${name} in the first line, at the right`)
    }
    await shots('routes-on-a-phone')
    await page.setViewportSize(size)
  })
})
