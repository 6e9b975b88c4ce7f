import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Locator } from 'playwright-core'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { intercept } from '../fixtures/intercept.ts'
import { phoneFaults } from '../fixtures/phone.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  hub: { transport: webhook, path: /hub, verify: { scheme: github, secret: a-secret-of-the-hub } }
  shop: { transport: webhook, path: /shop, verify: { scheme: none }, from: data.body.email, conversation: data.body.order }
routes:
  - { name: paid, match: { gateway: shop, event: order.paid }, skill: flaky, retry: { attempts: 1 } }
  - { name: sent, match: { gateway: shop, event: order.sent }, skill: flaky }
  - { name: later, match: { gateway: shop, event: order.later }, skill: flaky, retry: { attempts: 4, delay: 4m } }
  - { name: refunds, match: { gateway: shop, event: order.back }, skill: flaky, approval: { title: Refund } }
`
const FLAKY = `export default { description: 'fails', run() { throw new Error('out of stock') } }`

describe('the form of test messages', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: { flaky: FLAKY } })
  const daemon = await site.start()
  const { page, dialog, show, press, answer, shots } = await openConsole(() => daemon)
  const text = page.getByLabel('text', { exact: false }).first()
  const start = page.getByLabel('start from')
  const came = page.locator('.came')
  const rows = page.getByRole('region', { name: 'Tests of this browser' }).locator('tbody tr')
  const outcomes = async () =>
    Object(await daemon.invoke('message-search', { gateway: 'shop' })).messages.map(
      ({ outcome }: { outcome: string }) => outcome,
    )

  test('begins with a sample of the provider', async () => {
    await show('compose?gateway=hub')
    await until(async () => /refs\/heads\/main/.test(await text.inputValue()), 'the sample')
    assert.equal(await start.inputValue(), 'sample 0')
    await text.fill('{}')
    assert.equal(await start.locator('option:checked').textContent(), 'your own text')
  })

  test('indents JSON, and keeps the digits of its numbers', async () => {
    await show('compose?gateway=shop')
    await page.getByText(/^Written for hub/).waitFor()
    await text.fill('{"type":"order.open","id":820982911946154508,"email":"ada@example.com"}')
    await press('Format')
    assert.equal(
      await text.inputValue(),
      '{\n  "type": "order.open",\n  "id": 820982911946154508,\n  "email": "ada@example.com"\n}',
    )
    await page.getByRole('button', { name: 'Format' }).waitFor({ state: 'detached' })
  })

  test('has the sender that a delivery would have, and finds an earlier message by its text', async () => {
    await page.getByText('Without it: ada@example.com, from data.body.email, as in a delivery.').waitFor()
    await press('Send test message')
    await answer('Send test message')
    await came.getByText('No route matches it, so no skill ran.').waitFor()
    const [sent] = Object(await daemon.invoke('message-search', { gateway: 'shop' })).messages
    assert.equal(sent.from.id, 'ada@example.com')
    await text.fill('Hello')
    const find = page.getByLabel('Find an earlier message')
    await find.fill('no such order')
    await page.getByText('No message at shop has it.').waitFor()
    await find.fill('820982911946154508')
    const found = page.locator('.found-messages').getByRole('button')
    await found.getByText('test', { exact: true }).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await found.click()
    await until(async () => /"id": 820982911946154508/.test(await text.inputValue()), 'its body')
    await text.fill('Hello')
    // Enter comes before the hits.
    await find.fill('820982911946154508')
    await find.press('Enter')
    await until(async () => /"id": 820982911946154508/.test(await text.inputValue()), 'its body, by Enter')
    assert.equal(await find.inputValue(), '')
  })

  test('goes to the conversation that a delivery would go to', async () => {
    await text.fill('{"type":"order.open","order":5031}')
    await page.getByText('Without it: shop:5031, as in a delivery.').waitFor()
    await page.getByLabel('conversation').fill('mine')
    await page.getByText('Without it: a new one.').waitFor()
    await page.getByLabel('conversation').fill('')
    await page.getByText('Without it: shop:5031').waitFor()
    await press('Send test message')
    await came.getByRole('link', { name: 'shop:5031' }).waitFor()
    const [sent] = Object(await daemon.invoke('message-search', { gateway: 'shop' })).messages
    assert.equal(sent.conversation, 'shop:5031')
  })

  test('is not submitted by Enter in the field that finds a message', async () => {
    const form = page.locator('form.form')
    await form.evaluate((element) => {
      element.addEventListener('submit', () => element.setAttribute('data-submitted', ''))
    })
    await page.getByLabel('Find an earlier message').press('Enter')
    assert.equal(await form.getAttribute('data-submitted'), null)
  })

  test('is led by Enter to the first of several messages that are found', async () => {
    const find = page.getByLabel('Find an earlier message')
    await find.fill('order.open')
    await find.press('Enter')
    const first = page.locator('.found-messages button').first()
    await page.locator('.found-messages button:focus').waitFor()
    await first.press('Enter')
    await until(async () => /5031/.test(await text.inputValue()), 'the newest')
  })

  test('has all digits of a sender that is a number', async () => {
    await text.fill('{"email":820982911946154508}')
    await page.getByText('Without it: 820982911946154508, from data.body.email').waitFor()
  })

  test('has the error of a dead test in the list, with its result, and drops it', async () => {
    // It is the one of the message that was found.
    await page.getByLabel('event').fill('')
    await text.fill('{"type": "order.paid"}')
    await page.locator('.verdict').getByText('paid answers').waitFor()
    await press('Send test message')
    await answer('Send test message')
    await rows.first().getByText('out of stock').waitFor()
    await page.reload()
    await rows.first().getByText('out of stock').waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('test-dead')
    await rows.first().getByRole('button', { name: 'See result' }).click()
    await came.getByText(/^at shop, sent .* ago$/).waitFor()
    await came.getByText('type: order.paid').waitFor()
    await rows.first().getByRole('button', { name: 'Drop' }).click()
    await rows.first().getByText('dropped').waitFor()
    assert.equal((await outcomes())[0], 'dropped')
  })

  test('stops a test that is tried again, without a dead letter', async () => {
    await text.fill('{"type": "order.sent"}')
    await press('Send test message')
    await answer('Send test message')
    await came.getByText('retrying', { exact: true }).first().waitFor()
    const toast = page.locator('.toast')
    const restore = await intercept(page, '**/v1/skills/run-cancel', (route) =>
      route.fulfill({ json: { ok: true, cancelled: false, outcome: 'running' } }),
    )
    await came.getByRole('button', { name: 'Stop' }).click()
    await toast.getByText('The test was not stopped; it is running.').waitFor()
    await restore()
    await came.getByRole('button', { name: 'Stop' }).click()
    await toast.getByText('The test ends without another attempt.').waitFor()
    await came
      .getByText('given up by control token: the test is no longer needed. Nothing more happens.')
      .waitFor()
    await rows.first().getByText('dropped').waitFor()
    assert.equal((await outcomes())[0], 'dropped')
  })

  test('says when a test ends whose attempts would take longer', async () => {
    await text.fill('{"type": "order.later", "order": 5032}')
    await press('Send test message')
    await dialog.getByText('shop:5032. Its later messages wait until this one ends.').waitFor()
    await dialog.getByText('Its reply is only shown here; its other effects are real.').waitFor()
    await answer('Send test message')
    await came
      .getByText(/Attempt 1 of up to 4 failed: .*This test ends at \d\d:\d\d:\d\d: no attempt/)
      .waitFor()
    await came.getByRole('button', { name: 'Stop' }).click()
    await rows.first().getByText('dropped').waitFor()
  })

  test('shows the result on a phone as soon as the test is sent, and leads back to the form', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    await show('now')
    await show('compose?gateway=shop')
    const isInView = async (what: Locator) => {
      const { y = -1, height = 0 } = Object(await what.boundingBox())
      return y >= 0 && y + height <= 844
    }
    const form = page.getByLabel('start from')
    await until(() => isInView(form), 'the beginning of the form')
    assert.equal(await page.getByLabel('headers').isVisible(), false)
    await text.fill('{"type": "order.paid"}')
    await press('Send test message')
    await answer('Send test message')
    await came.getByText('out of stock').first().waitFor()
    await until(() => isInView(came.getByRole('heading', { name: 'Result' })), 'the result')
    await until(() => isInView(came.getByText('out of stock').first()), 'the error')
    const took = came.getByLabel('What took it')
    await took.getByText("route paid by event 'order.paid'").waitFor()
    await took.getByText(/^skill flaky/).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    assert.deepEqual(await phoneFaults(page), [])
    await came.getByRole('button', { name: 'Edit' }).click()
    await until(() => isInView(form), 'the form again')
    await came.getByRole('button', { name: 'Drop' }).click()
    await rows.first().getByText('dropped').waitFor()
  })

  test('leads to routing and result on a phone', async () => {
    const bar = page.locator('.send-bar')
    for (const name of ['Routing', 'Result']) {
      await bar.getByRole('button', { name }).click()
      const heading = page.locator('.would').getByRole('heading', { name, exact: true })
      await until(async () => {
        const { x = -1, y = -1 } = Object(await heading.boundingBox())
        // Below the form, not beside it.
        return x < 100 && y >= 0 && y < 844
      }, `the heading ${name}`)
    }
    assert.deepEqual(await faultsOf(page), [])
    await shots('test-phone')
  })

  test('stops a test that waits for a pause, behind another one, or for an approval', async () => {
    await show('now')
    await show('compose?gateway=shop')
    const toast = page.locator('.toast')
    const send = async (type: string) => {
      await text.fill(`{"type": "${type}", "order": 5040}`)
      await press('Send test message')
    }
    const stop = async (said: string) => {
      await came.getByRole('button', { name: 'Stop' }).click()
      await toast.getByText(said).waitFor()
      await rows.first().getByText('dropped').waitFor()
      await came.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' })
    }
    await send('order.back')
    await answer('Send test message')
    await came.getByText('It waits for a decision').waitFor()
    await stop('The test ends. Its request is denied.')
    const [request] = [await daemon.invoke('approval-list', {})].flat().map(Object)
    assert.deepEqual(
      [request.status, request.reason, request.run],
      ['denied', 'the test is no longer needed', undefined],
    )
    await daemon.invoke('gateway-pause', { gateway: 'shop' })
    await send('order.paid')
    await answer('Send test message')
    await came.getByText('It runs when gateway shop is resumed.').waitFor()
    await rows.first().getByText('waiting').waitFor()
    await daemon.invoke('event-subscribe', { topic: 'gateway-message', queue: 'archive' })
    // Behind the first one, which stays.
    await send('order.sent')
    await answer('Send test message')
    await rows.nth(1).getByText('waiting').waitFor()
    await stop('The test ends. No skill ran for it.')
    await came.getByText('It is not tried again. Its event still goes to group archive.').waitFor()
    await rows.nth(1).getByRole('button', { name: 'Stop' }).click()
    await rows.nth(1).getByText('dropped').waitFor()
    assert.deepEqual(await faultsOf(page), [])
    const { body } = await daemon.post('/shop', '{"type": "order.paid", "order": 5041}')
    const { id } = Object(body)
    await show(`messages/${id}`)
    await press('Give up …')
    await dialog.getByText('No skill runs for it, and its sender gets no answer.').waitFor()
    await answer('Give up')
    await page.getByText(/^It was given up by .*Nothing happens until somebody retries or drops it/).waitFor()
    await shots('given-up-waiting')
    await daemon.invoke('gateway-resume', { gateway: 'shop' })
  })
})
