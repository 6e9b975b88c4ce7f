import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none } }
routes:
  - { name: returns, match: { gateway: shop }, skill: answer, retry: { attempts: 1 } }
`
const ANSWER = `export default { description: 'answers', run: ({ manager }) => manager.invoke('refund', {}) }`
const REFUND = `export default { description: 'pays back', run: () => 'paid' }`

describe('test messages whose skill calls others', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: { answer: ANSWER, refund: REFUND } })
  const daemon = await site.start()
  const { page, dialog, show, press, answer, shots } = await openConsole(() => daemon)

  test('say before they are sent that a called skill is paused', async () => {
    await daemon.post('/shop', 'a lamp', { 'content-type': 'text/plain' })
    const called = async () => Object(await daemon.invoke('skill-usage', { name: 'refund' })).runs === 1
    await until(called, 'a call of refund')
    await daemon.invoke('skill-pause', { skill: 'refund' })
    await show('compose?gateway=shop')
    await page.getByLabel('text').fill('a chair')
    const waits =
      'the skill answer runs, and waits if it calls skill refund, which is paused (until it is resumed).'
    await page.locator('.verdict.warn').getByText(waits).waitFor()
    await press('Send test message')
    await dialog.getByText(waits).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('test-calls-paused')
    await answer('Cancel')
    const { out } = await site.run(['message', 'send', 'shop', 'a chair', '--explain'])
    assert.match(
      out.replaceAll(/\s+/g, ' '),
      /would wait if the skill answer calls the skill refund, which is paused until somebody resumes it\. `trivium skill resume refund` resumes it\./,
    )
    // The page asks again when what it knows of pauses changes.
    await page.getByRole('link', { name: 'Paused 1', exact: true }).waitFor()
    await daemon.invoke('skill-resume', { skill: 'refund' })
    await page.locator('.verdict.good').getByText('returns answers: the skill answer runs.').waitFor()
  })
})
