import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop:
    transport: webhook
    path: /shop
    verify: { scheme: none }
    event: data.body.event
    from: data.body.from
routes:
  - { name: orders, skill: ship, match: { text: "*order*" }, retry: { attempts: 1 } }
  - { name: gifts, skill: ship, match: { text: "*gift*" }, retry: { attempts: 1 } }
  - { name: returns, skill: ship, retry: { attempts: 2, delay: 1h } }
`
const SHIP = `import { existsSync } from 'node:fs'
export default { description: 'orders a label', run({ args }) {
  const isOpen = existsSync(new URL('../../open', import.meta.url))
  if (args.text.includes('bulky') && !isOpen) throw new Error('the carrier answered 500')
} }`

describe('the page of one cause', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: { ship: SHIP } })
  const daemon = await site.start()
  const { page, show, shots } = await openConsole(() => daemon)
  const main = page.getByRole('main')
  const send = (rest: object) => daemon.post('/shop', JSON.stringify(rest))
  const count = async (outcome: string) =>
    Object(await daemon.invoke('message-search', { outcome })).messages?.length
  const order = { event: 'order', from: 'renee@example.com' }
  await send({ ...order, text: 'bulky' })
  await until(async () => (await count('dead')) === 1, 'a dead letter')
  await send({ ...order, from: 'ana@example.com' })
  await until(async () => (await count('done')) === 1, 'an order that is done')
  await send({ ...order, from: 'lea@example.com', text: 'bulky' })
  await until(async () => (await count('dead')) === 2, 'two dead letters')
  await send({ event: 'return', from: 'zoe@example.com', text: 'bulky' })
  await until(async () => (await count('retrying')) === 1, 'one that is tried again')

  test('says when it failed, who waits, that not all fail, and what comes next', async () => {
    await show('dead-letters')
    const card = page.locator('.groups .card')
    await card.getByText('2 people wait', { exact: true }).waitFor()
    await card.getByText(/^Not all fail: orders handled 1 message of the same event \(order\)/).waitFor()
    await card.getByText(/^Also fails: 1 message of returns is tried again/).waitFor()
    await card.getByText(/^newest: /).waitFor()
    await card.getByRole('link', { name: 'orders', exact: true }).click()
    await main.getByText(/^2 dead letters[,;].* ago\)$/).waitFor()
    await main.getByText('2 people wait', { exact: true }).waitFor()
    await main.getByText(/^Not all fail: orders handled 1 message/).waitFor()
    await main
      .getByText(/^1 message of returns is tried again, the next one at .*\. 1 person waits\.$/)
      .waitFor()
    assert.doesNotMatch((await main.textContent()) ?? '', /✓/)
    assert.deepEqual(await faultsOf(page), [])
    await shots('one-cause')
    await main.getByRole('link', { name: 'renee@example.com', exact: true }).click()
    await page.getByRole('heading', { name: 'Timeline' }).waitFor()
    await page.goBack()
  })

  test('a retry of the oldest one proves that the others can succeed', async () => {
    site.write('open', '')
    await main.getByRole('button', { name: 'Retry the oldest' }).click()
    await main.getByText(/^✓ 1 message of this cause was retried and is done/).waitFor()
    await main.getByText('A message of this cause is done since the last failure.').waitFor()
    await main.getByRole('button', { name: 'Retry it …' }).waitFor()
    assert.equal(
      Object(await daemon.invoke('message-search', { sender: 'renee', outcome: 'done' })).messages.length,
      1,
    )
  })

  test('the next step is a button on its page and on Now', async () => {
    await show('now')
    const trouble = main.getByRole('listitem').filter({ hasText: /^1 dead letter of orders/ })
    await trouble.getByText(/^✓ 1 message of this cause retried, .* ago: done\./).waitFor()
    await trouble.getByRole('button', { name: 'Retry it …' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Retry', exact: true }).click()
    await until(async () => (await count('dead')) === 0, 'no dead letter')
    await trouble.waitFor({ state: 'detached' })
  })

  test('of several routes has a next step and successes, too', async () => {
    rmSync(join(site.dir, 'open'))
    for (const event of ['order', 'gift']) await send({ ...order, event, text: 'bulky' })
    await until(async () => (await count('dead')) === 2, 'two dead letters')
    await show('now')
    await main.getByRole('link', { name: /^2 dead letters of (orders and gifts|gifts and orders)/ }).click()
    await main.getByText('No message that came to gifts after the last failure').waitFor()
    site.write('open', '')
    await main.getByRole('button', { name: 'Retry the oldest' }).click()
    await until(async () => (await count('dead')) === 1, 'the retry of the oldest')
  })
})
