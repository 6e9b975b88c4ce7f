import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /hooks/shop, verify: { scheme: none }, from: data.body.email, text: data.body.text, conversation: data.body.email }
  desk: { transport: websocket, path: /desk, open: true }
routes:
  - { name: refunds, match: { prefix: refund }, skill: refund, reply: none }
  - { name: all, skill: remind, reply: none }
`
const SKILLS = {
  refund: `export default { description: 'pays back', metadata: { approval: { title: 'Refund {text}' } }, run: () => 'paid' }`,
  remind: `export default { description: 'writes later', async run({ manager, args }) {
    await manager.invoke('gateway-send', { text: 'How was it?', in: '2d' })
    return 'fine'
  } }`,
}
const ADA = 'ada@example.com'

describe('the erasure of a person in the console', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: SKILLS })
  const daemon = await site.start()
  const { page, show, press, answer, dialog, shots } = await openConsole(() => daemon)
  const post = (email: string, text: string) => daemon.post('/hooks/shop', JSON.stringify({ email, text }))
  /** Submits a message to the gateway `desk`; resolves with its id. */
  const say = async (text: string, from = ADA) => {
    const response = await fetch(`${daemon.control}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ gateway: 'desk', from, text, conversation: `of-${from}` }),
    })
    return String(Object(await response.json()).result.id)
  }
  const outcomeIs = (id: string, wanted: string) =>
    until(async () => Object(await daemon.invoke('message-show', { id })).outcome === wanted, wanted)
  const kept = page.getByRole('region', { name: 'What is kept' })
  const person = `people?who=${encodeURIComponent(`*:${ADA}`)}`
  const { body } = await post(ADA, 'refund 1240.00 EUR · order 4890')
  await outcomeIs(Object(body).id, 'approval')
  await outcomeIs(await say('thanks'), 'done')
  const { message } = Object(await daemon.invoke('message-show', { id: Object(body).id }))
  await daemon.invoke('conversation-pause', { gateway: 'shop', conversation: message.conversation })

  test('each kind of record is counted, and leads to the records of the person', async () => {
    await show(person)
    await kept.getByRole('cell', { name: /^approvals/ }).waitFor()
    const row = kept.getByRole('row').filter({ hasText: /^approvals/ })
    assert.match(String(await row.textContent()), /^approvals1$/)
    assert.deepEqual(await faultsOf(page), [])
    await shots('kinds')
    await row.getByRole('link').click()
    await page.getByRole('heading', { name: /^Refund/ }).waitFor()
    assert.equal(await page.getByRole('heading', { name: /^Refund/ }).count(), 1)
  })

  test('a planned message is open, too, and leads to its conversation', async () => {
    await show(person)
    const planned = page
      .getByRole('list', { name: 'Open' })
      .getByRole('listitem')
      .filter({ hasText: 'How was it?' })
    await planned.getByText(/^planned for /).waitFor()
    await planned.getByRole('link', { name: /How was it/ }).click()
    await page.getByText('thanks', { exact: true }).first().waitFor()
  })

  test('“Nothing is open” is not said beside something that is', async () => {
    await outcomeIs(await say('hello', 'eve@example.com'), 'done')
    await show(`people?who=${encodeURIComponent('*:eve@example.com')}`)
    await page
      .getByRole('list', { name: 'Open' })
      .getByText(/^planned for /)
      .waitFor()
    await page.getByText(/^1 message: 1 desk/).waitFor()
    assert.equal(await page.getByText(/^Nothing is open/).count(), 0)
  })

  test('the question names what is open and goes too', async () => {
    await show(person)
    await press('Erase …')
    const open = dialog.getByRole('list', { name: 'What is open' })
    await open.getByText(/^1 open approval goes too: Refund refund 1240.00 EUR · order 4890/).waitFor()
    await open.getByText(/^1 conversation that a colleague has taken over goes too: refund 1240/).waitFor()
    await dialog.getByText(/^No message of others has ada@example\.com/).waitFor()
    await dialog.getByText('What is erased, by place, and what stays').click()
    await dialog
      .getByRole('row')
      .filter({ hasText: /^approvals1$/ })
      .waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('erase-person')
    await page.keyboard.press('Escape')
  })

  test('the question says at once why it does not take a reference, and what is missing', async () => {
    await show(person)
    await press('Erase …')
    const confirm = dialog.getByRole('textbox', { name: 'to confirm' })
    await confirm.fill(ADA)
    const button = dialog.getByRole('button', { name: 'Erase', exact: true })
    await button.and(page.locator(':enabled')).waitFor()
    const reference = dialog.getByRole('textbox', { name: 'Number of the request' })
    await reference.fill('mail of ada@example.com')
    await dialog.getByText(/^No spaces and no mail address: /).waitFor()
    await dialog.getByText('Correct the number of the request.').waitFor()
    assert.equal(await reference.getAttribute('aria-invalid'), 'true')
    assert.ok(await button.isDisabled())
    await reference.fill('GDPR-17')
    await button.and(page.locator(':enabled')).waitFor()
    await confirm.fill('')
    await dialog.getByText(/^Type \d+ to erase\.$/).waitFor()
    await page.keyboard.press('Escape')
  })

  test('the question shows the field to confirm and the button at once, also on a phone', async () => {
    for (const size of [
      { width: 1440, height: 900 },
      { width: 390, height: 844 },
    ]) {
      await page.setViewportSize(size)
      await show(person)
      await press('Erase …')
      const confirm = dialog.getByRole('textbox', { name: 'to confirm' })
      const button = dialog.getByRole('button', { name: 'Erase', exact: true })
      await confirm.waitFor()
      assert.equal(await dialog.evaluate(({ scrollTop }) => scrollTop), 0)
      for (const shown of [confirm, button]) {
        const { y = 0, height = 0 } = (await shown.boundingBox()) ?? {}
        assert.ok(y > 0 && y + height <= size.height, `${size.width}: ${y} + ${height}`)
      }
      await shots(`erase-person-${size.width}`)
      await page.keyboard.press('Escape')
    }
    await page.setViewportSize({ width: 390, height: 700 })
    await show(person)
    await press('Erase …')
    await dialog.getByText('What is erased, by place, and what stays').click()
    const lines: unknown = await page.evaluate(`Math.max(
      ...[...document.querySelectorAll('dialog td.number')].map((cell) => {
        cell.textContent = '31,240'
        const text = document.createRange()
        text.selectNodeContents(cell)
        return text.getClientRects().length
      }),
    )`)
    assert.equal(lines, 1, 'lines of a number')
    await page.keyboard.press('Escape')
    await page.setViewportSize({ width: 1200, height: 900 })
  })

  test('an export is found again after the page was left', async () => {
    await show(person)
    await press('Export …')
    await answer('Export')
    await page.getByRole('link', { name: /^Download page to read \(/ }).waitFor()
    await show('people')
    await show(person)
    const link = page.getByRole('link', { name: /^Download JSON lines \(/ })
    const [readable] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: /^Download page to read/ }).click(),
    ])
    assert.match(readable.suggestedFilename(), /^person-.+@.+\.html$/)
    await page.getByText(/^exported .* ago, \d+ records, without exports; kept until /).waitFor()
    const [download] = await Promise.all([page.waitForEvent('download'), link.click()])
    assert.match(download.suggestedFilename(), /^person-.*\.jsonl$/)
    await press('Erase …')
    await dialog.getByText(/^4 of these records are 2 exports of this person with their files\./).waitFor()
    await dialog.getByText(/Trivium cannot erase copies outside: .*in backups/).waitFor()
    await page.keyboard.press('Escape')
  })

  test('the proof counts what was open and names nobody, and progress is shown once', async () => {
    // The address that Ctrl-K opens.
    await show(`${person}&do=erase`)
    await dialog.getByRole('textbox', { name: 'to confirm' }).fill(ADA)
    await answer('Erase')
    const erasure = page.getByRole('region', { name: 'Erasure' })
    await erasure.getByText('running', { exact: true }).waitFor()
    assert.doesNotMatch(page.url(), /do=erase/, 'the question is not asked again when the erasure ends')
    assert.equal(await page.getByRole('progressbar').count(), 1)
    assert.equal(await page.getByRole('button', { name: 'Cancel …' }).count(), 1)
    assert.equal(await page.getByRole('region', { name: 'Jobs' }).count(), 0)
    await erasure.getByText(/^all \d+ places searched once, now: /).waitFor()
    await erasure.getByText(/^Open until then, and erased too: 1 open approval/).waitFor()
    await erasure
      .getByRole('row')
      .filter({ hasText: /^approvals1$/ })
      .waitFor()
    await erasure.getByText(/^Trivium cannot erase copies outside: .*in backups/).waitFor()
    await erasure.getByRole('link', { name: 'The job' }).click()
    const erased = page.getByRole('region', { name: 'Erased' })
    await erased
      .getByRole('row')
      .filter({ hasText: /^approvals1$/ })
      .waitFor()
    await page.getByText(/^Open until then, and erased too: 1 open approval/).waitFor()
    assert.doesNotMatch(String(await page.locator('main').textContent()), /ada@example|Refund/)
    assert.doesNotMatch(page.url(), /ada/)
    assert.deepEqual(await faultsOf(page), [])
    await shots('proof')
  })
})
