import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none } }
  cli: { transport: cli }
routes:
  - { name: charges, match: { gateway: shop, text: "*charge*" }, skill: charge, retry: { attempts: 1 } }
  - { name: parcels, match: { gateway: shop, text: "*parcel*" }, skill: charge, retry: { attempts: 1 } }
  - { name: refunds, match: { gateway: shop }, skill: refund, approval: true }
  - { name: rest, match: { gateway: cli }, skill: echo }
`
const FAIL = `export default { description: 'charges', run() { throw new Error('no money today') } }`
const REFUND = `export default { description: 'pays back', run() {} }`

/** Each list: its address, its search field, a word that is found, and the row with the focus then. */
const LISTS = [
  { at: 'messages', label: 'Search messages', word: 'parcel', row: '[data-key] a[href^="#/messages/"]' },
  {
    at: 'conversations',
    label: 'Search in what they wrote',
    word: 'hello',
    row: '[data-key] a[href="#/conversations/cli/desk"]',
  },
  { at: 'approvals', label: 'Search in the requests', word: 'refund', row: '[data-request]' },
  {
    at: 'dead-letters',
    label: 'Search dead letters',
    word: 'parcel',
    row: '.groups a[href*="group=parcels"]',
  },
  {
    at: 'audit',
    label: 'Search the audit log',
    word: 'action:dead-letter-bulk',
    row: 'a[href^="#/audit/"]',
  },
  { at: 'skills', label: 'Search skills', word: 'refund', row: 'a[href^="#/skills/refund"]' },
  { at: 'routes', label: 'Search routes', word: 'refunds', row: 'a[href^="#/routes/refunds"]' },
] as const

describe('the search of a list', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: { charge: FAIL, refund: REFUND } })
  const daemon = await site.start()
  const { page, show } = await openConsole(() => daemon, { width: 1440 })
  for (const text of ['charge 1', 'parcel 1', 'refund 1', 'refund 2'])
    await daemon.post('/shop', JSON.stringify({ text }))
  await fetch(`${daemon.control}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ gateway: 'cli', conversation: 'desk', from: 'ada', text: 'hello' }),
  })
  const many = async (skill: string, args: object) => [await daemon.invoke(skill, { ...args })].flat().length
  await until(async () => (await many('dead-letter-list', {})) === 2, 'two dead letters')
  await until(async () => (await many('approval-list', { status: 'pending' })) === 2, 'two requests')
  // A job of another cause is above the causes.
  await daemon.invoke('dead-letter-bulk', { do: 'retry', group: 'charges' })
  await until(async () => (await many('dead-letter-retries', {})) === 1, 'the job')
  const hasFocus = (selector: string) =>
    page.evaluate(`document.activeElement?.matches(${JSON.stringify(selector)}) ?? false`)

  for (const { at, label, word, row } of LISTS)
    test(`${at}: Enter goes to the first row; Escape empties it and leaves it`, async () => {
      await show(at)
      const field = page.getByLabel(label, { exact: true })
      await page.locator(row).first().waitFor()
      await page.keyboard.press('/')
      await until(() => hasFocus('[type=search]'), 'the focus on the field')
      await page.keyboard.type(word)
      await page.keyboard.press('Enter')
      await until(() => hasFocus(row), 'the focus on the first row')
      assert.equal(await field.inputValue(), word)
      await page.keyboard.press('/')
      await until(() => hasFocus('[type=search]'), 'the focus on the field again')
      await page.keyboard.press('Escape')
      await until(async () => (await field.inputValue()) === '', 'the empty field')
      assert.equal(await hasFocus('[type=search]'), false)
      // The next key is one of the page.
      await page.locator(row).first().waitFor()
      await page.keyboard.press('?')
      await page.getByRole('dialog').getByText('this help').waitFor()
      await page.keyboard.press('Escape')
      assert.equal(await field.inputValue(), '')
    })
})
