import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { after, describe, test } from 'node:test'
import { chromium } from 'playwright-core'
import { openSite } from '../fixtures/daemon.ts'

const ROUTES = `
gateways:
  demo: { transport: webhook, path: /hooks/demo, verify: { scheme: none } }
routes:
  - { name: all, match: { gateway: demo }, skill: fail, retry: { attempts: 1 } }
`
const FAIL = `export default { description: 'fails', run() { throw new Error('<b>no</b>') } }`
const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync)

describe('the operator console', { timeout: 90_000 }, async () => {
  assert.ok(CHROMIUM, 'Chromium is needed: apt-get install chromium')
  const site = openSite({ routes: ROUTES, skills: { fail: FAIL } })
  const daemon = await site.start()
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  })
  const page = await browser.newPage({ viewport: { width: 1200, height: 900 } })
  after(() => browser.close())

  test('without the token it shows nothing but the form, and says when the token is wrong', async () => {
    await page.goto(daemon.control)
    assert.equal(await page.locator('#console').isVisible(), false)
    await page.fill('#token', 'wrong')
    await page.click('#sign-in button')
    await page.getByText('That is not the control token.').waitFor()
  })

  test('it shows messages and dead letters as text, never as markup, and drives a dead letter again', async () => {
    const { body } = await daemon.post('/hooks/demo', '{"hello":"<i>world</i>"}')
    const id = String(Object(body).id)
    await page.fill('#token', daemon.token)
    await page.click('#sign-in button')
    await page.locator('#dead').getByText('<b>no</b>').waitFor()
    assert.equal(await page.locator('#dead b, #messages i').count(), 0)
    await page.locator('#messages').getByTitle(id).first().click()
    await page.locator('dialog').getByText('"hello": "<i>world</i>"').waitFor()
    await page.locator('dialog').getByLabel('close').click()
    page.on('dialog', (dialog) => dialog.accept())
    await page.locator('#dead').getByText('drop').click()
    await page.locator('#dead').getByText('None.').waitFor()
    assert.deepEqual(await daemon.invoke('dead-letter-list'), [])
  })
})
