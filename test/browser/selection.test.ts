import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { leaveLists, openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { intercept } from '../fixtures/intercept.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none } }
routes:
  - { name: charges, match: { gateway: shop, text: "*charge*" }, skill: charge, retry: { attempts: 1 } }
  - { name: rest, match: { gateway: shop }, skill: echo }
`
const CHARGE = `export default { description: 'charges', run({ message }) { throw new Error('no money for ' + message.text.replace(/\\D/g, '').padStart(2, '0') + ' today') } }`

describe('rows of messages and dead letters in the console', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: { charge: CHARGE } })
  const daemon = await site.start()
  const { page, show, press, answer } = await openConsole(() => daemon)
  for (const number of [1, 2, 3]) await daemon.post('/shop', JSON.stringify({ text: `charge ${number}` }))
  await daemon.post('/shop', JSON.stringify({ text: 'hello' }))
  const letters = async (): Promise<{ id: string; retriedAt?: number }[]> =>
    [await daemon.invoke('dead-letter-list', {})].flat().map((each) => Object(each))
  await until(async () => (await letters()).length === 3, 'three dead letters')
  await page.setViewportSize({ width: 1440, height: 900 })
  const rows = page.getByRole('listitem').filter({ has: page.locator('.message-row') })
  const rowOf = (text: string) => rows.filter({ hasText: text })
  const countRetried = async () => (await letters()).filter(({ retriedAt }) => retriedAt !== undefined).length

  test('show the route, the duration, the error, and that the reply was not sent', async () => {
    await show('messages')
    await rowOf('hello').getByText('reply not sent', { exact: true }).waitFor()
    await rowOf('hello').getByText('rest', { exact: true }).waitFor()
    await rowOf('hello')
      .locator('.run-time')
      .getByText(/^\d.* m?s$/)
      .waitFor()
    await rowOf('charge 2').getByText('no money for 02 today').waitFor()
  })

  test('have their causes above them only if the causes can be filtered in the same way', async () => {
    const causes = page.getByRole('list', { name: 'Why they failed' })
    for (const other of [
      'event=push',
      'conversation=c',
      'transport=cli',
      'sender=nobody',
      'gateway=nowhere',
    ]) {
      await show('messages?outcome=dead')
      await causes.waitFor()
      await show(`messages?outcome=dead&${other}`)
      await page.getByText('Nothing matches.').waitFor()
      assert.equal(await causes.count(), 0, other)
    }
  })

  test('can be selected and retried together', async () => {
    await show('messages?outcome=dead')
    await page
      .getByRole('list', { name: 'Why they failed' })
      .getByText(/no money for … today/)
      .waitFor()
    await rowOf('charge 3').getByRole('checkbox').click()
    await rowOf('charge 1')
      .getByRole('checkbox')
      .click({ modifiers: ['Shift'] })
    await page.getByText('3 selected').waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await page.getByText('2 selected').waitFor()
    await press('Retry 2 failed')
    await page.getByRole('dialog').getByText('Retry 2 dead letters?').waitFor()
    await answer('Retry')
    await page.getByText('Retried, and failed again: 2 dead letters.').waitFor()
    assert.equal(await countRetried(), 2)
  })

  test('can be run again together, if they have ended, and show in the histogram how many failed', async () => {
    await show('messages?search=charge')
    const bars = page.getByRole('slider', { name: /^Messages over time/ })
    await bars.getByText(/^3 messages in all, 3 failed/).waitFor()
    assert.ok((await bars.locator('.bar-of.bad').count()) > 0)
    await show('messages')
    await rowOf('hello').getByRole('checkbox').click()
    await press('Run 1 again …')
    await page.getByRole('dialog').getByText('Run 1 message again?').waitFor()
    await answer('Run 1 message again')
    await page.getByText('1 message runs again.').waitFor()
    await leaveLists(page)
    await until(async () => (await rowOf('hello').count()) === 2, 'the new message')
    // After a failure, only those that were not accepted stay selected: another try runs none twice.
    let calls = 0
    const restore = await intercept(page, '**/v1/skills/message-resend', (route) => {
      if (++calls === 1) return route.continue()
      return route.fulfill({
        status: 503,
        json: { error: { code: 'store_unavailable', message: 'no store' } },
      })
    })
    for (const at of [0, 1]) await rowOf('hello').nth(at).getByRole('checkbox').click()
    await press('Run 2 again …')
    await answer('Run 2 messages again')
    await page.getByText('1 of 2 runs again; the next one failed: no store').waitFor()
    await restore()
    await page.getByText('1 selected').waitFor()
    await press('Run 1 again …')
    await answer('Run 1 message again')
    await leaveLists(page)
    await until(async () => (await rowOf('hello').count()) === 4, 'both new messages')
  })

  test('that are JSON have a monospaced text', async () => {
    await show('messages')
    await rowOf('hello').first().locator('a').click()
    const text = page.getByLabel('Text', { exact: true })
    assert.match(await text.evaluate((one) => String(one.computedStyleMap().get('font-family'))), /mono/)
  })

  test('have a button to retry, and show that a dead letter failed again', async () => {
    await show('dead-letters')
    await page
      .locator('.group')
      .getByText(/Retried .* ago by .*, and failed again/)
      .waitFor()
    await page.getByRole('link', { name: 'charges' }).click()
    const fresh = rows.filter({ hasNotText: 'failed again' })
    await until(async () => (await fresh.count()) === 1, 'the letter that nobody has retried')
    const number = /\d/.exec((await fresh.locator('.text').textContent()) ?? '')?.[0]
    // The heading has the rest of the error, which all have in common.
    assert.equal(await fresh.locator('.reason').textContent(), `0${number}`)
    const title = await fresh.locator('.reason mark').getAttribute('title')
    assert.equal(title, `Skill charge failed: no money for 0${number} today`)
    await fresh.hover()
    await fresh.getByRole('button', { name: /^Retry/ }).click()
    await until(async () => (await countRetried()) === 3, 'the retry')
    await leaveLists(page)
    await until(async () => (await rows.getByText(/retried .* ago, failed again/).count()) === 3, 'all rows')
  })

  test('of one cause are moved through, selected and opened by keys', async () => {
    await show('dead-letters')
    await page.getByRole('link', { name: 'charges' }).click()
    await until(async () => (await rows.count()) > 1, 'the letters')
    const focused = page.locator('[data-key]:focus-within')
    await page.keyboard.press('j')
    await focused.waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await page.getByText('1 selected').waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Attempts' }).waitFor()
  })

  test('of one cause show on a phone what differs in their errors, and can be retried there', async () => {
    await show('dead-letters')
    await page.getByRole('link', { name: 'charges' }).click()
    await page.setViewportSize({ width: 390, height: 800 })
    await rowOf('charge 2').locator('.reason mark').getByText('02', { exact: true }).waitFor()
    const retry = rowOf('charge 2').getByRole('button', { name: /^Retry/ })
    assert.equal(await retry.evaluate((button) => String(button.computedStyleMap().get('opacity'))), '1')
    await page.setViewportSize({ width: 1440, height: 900 })
  })

  test('are no longer selected after Escape, which only then leaves the page', async () => {
    for (const view of ['messages', 'dead-letters?group=charges&pattern=']) {
      await show(
        view.replace(
          'pattern=',
          `pattern=${encodeURIComponent('Skill charge failed: no money for # today')}`,
        ),
      )
      await rowOf('charge 1').first().getByRole('checkbox').click()
      await page.getByText('1 selected').waitFor()
      await page.keyboard.press('Escape')
      await page.getByText('1 selected').waitFor({ state: 'detached' })
      await rowOf('charge 1').first().waitFor()
    }
    await page.keyboard.press('Escape')
    await page.getByRole('heading', { name: 'Dead letters', exact: true }).waitFor()
  })

  test('of one cause are dropped together, with a reason for the audit log', async () => {
    await show('dead-letters')
    await page.getByRole('link', { name: 'charges' }).click()
    for (const number of [1, 2]) await rowOf(`charge ${number}`).getByRole('checkbox').click()
    await press('Drop 2 …')
    await page.getByLabel('Reason (optional)').fill('charged by hand')
    await answer('Drop')
    await page.getByText('2 dead letters dropped.').waitFor()
    assert.equal((await letters()).length, 1)
    const { entries } = Object(await daemon.invoke('audit-list', { action: 'dead-letter-drop' }))
    assert.deepEqual([...new Set([entries].flat().map(({ reason }) => reason))], ['charged by hand'])
  })
})
