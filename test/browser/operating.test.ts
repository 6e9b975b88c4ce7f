import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { startSlackServer } from '../fixtures/slack-server.ts'
import { until } from '../fixtures/until.ts'
import { callback } from '../transports/slack/harness.ts'

const CHARGE = `export default { description: 'charges', run({ message }) { throw new Error('no money for ' + message.text) } }`
/**
 * The call that posts, and those by which the daemon checks whether an uncertain post has arrived.
 */
const METHODS = ['chat.postMessage', 'conversations.replies', 'conversations.history']
const FAULTS = Array.from({ length: 200 }, () => ({ status: 503, body: {} }))

describe('an operator at work in the console', { timeout: 600_000 }, async () => {
  const slack = await startSlackServer()
  after(() => slack.close())
  const site = openSite({
    routes: `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none } }
  team: { transport: slack, mode: socket, botToken: xoxb-test, appToken: xapp-test, apiUrl: "${slack.apiUrl}" }
routes:
  - { name: charges, match: { gateway: shop, text: "*charge*" }, skill: charge, retry: { attempts: 1 } }
  - { name: all, skill: echo }
`,
    skills: { charge: CHARGE },
  })
  const daemon = await site.start()
  const { page, dialog, show, press, answer } = await openConsole(() => daemon)
  const post = (text: string) => daemon.post('/shop', JSON.stringify({ text }))
  const row = (text: string) => page.getByRole('listitem').filter({ hasText: text })

  test('sees live that the reply of a done message cannot be sent, and later that it was sent', async () => {
    await show('messages')
    const refuse = slack.hold('chat.postMessage')
    // From the start: on a busy machine, the held call may end by its timeout before the page shows
    // the message.
    for (const method of METHODS) slack.answerNext(method, ...FAULTS)
    await slack.sockets.deliver('events_api', callback({ text: 'is anybody there?', ts: slack.nextTs() }))
    await row('is anybody there?')
      .getByText(/^(done|replying)$/)
      .waitFor({ timeout: 90_000 })
    refuse()
    await row('is anybody there?').getByText('replying').waitFor({ timeout: 90_000 })
    await row('is anybody there?').locator('.cause').getByText(/503/).waitFor()
    // Its conversation has the reply and the reason.
    const { messages } = Object(await daemon.invoke('message-search', { text: 'anybody there', limit: 1 }))
    await show(`conversations/${messages[0].gateway}/${encodeURIComponent(messages[0].conversation)}`)
    const reply = page.locator('.chat .reply')
    await reply.getByText('send failed').waitFor()
    await page.getByText(/^The reply by .+ cannot be sent: /).waitFor()
    assert.equal(await reply.locator('.error').count(), 0, 'the reason is there once')
    for (const method of METHODS) slack.heal(method)
    // The next attempt may begin by itself, and take the button away.
    const retry = page.getByRole('button', { name: 'Retry now' })
    await retry.click({ timeout: 10_000 }).catch(() => undefined)
    await show('messages')
    // The attempt may have begun before the provider was back; each failed one doubles the pause.
    await row('is anybody there?').getByText('done').waitFor({ timeout: 180_000 })
  })

  test('gets one explanation of wrong search words, and no failure, in messages and conversations', async () => {
    for (const view of ['messages', 'conversations']) {
      await show(`${view}?search=after%3Asoonish`)
      await page.getByRole('alert').getByText('after:soonish').waitFor()
      assert.doesNotMatch(
        String(await page.getByRole('main').textContent()),
        /Invalid arguments|Could not load|could not be counted/,
      )
      assert.equal(await page.getByRole('button', { name: 'Try again' }).count(), 0)
    }
  })

  test('returns to the list after a decision about a dead letter', async () => {
    for (const text of ['charge 1', 'charge 2']) await post(text)
    await until(async () => [await daemon.invoke('dead-letter-list')].flat().length === 2, 'two dead letters')
    await show('dead-letters?error=charge')
    await page.getByRole('link', { name: 'charges' }).click()
    await row('charge 1').getByRole('link').click()
    await press('Drop …')
    await answer('Drop')
    await page.getByRole('heading', { name: 'Dead letters of charges' }).waitFor()
    await row('charge 2').waitFor()
    await row('charge 1').waitFor({ state: 'detached' })
  })

  test('gets buttons for a trouble instead of command lines', async () => {
    const wrong = page.getByRole('region', { name: 'What is wrong' })
    await daemon.invoke('route-pause', { route: 'charges', reason: 'a test' })
    await post('charge 3')
    await daemon.invoke('route-resume', { route: 'charges' })
    await until(async () => [await daemon.invoke('dead-letter-list')].flat().length > 0, 'a dead letter')
    await daemon.invoke('route-pause', { route: 'charges', reason: 'a test' })
    await show('now')
    await wrong.getByText('Route charges is paused').waitFor()
    await wrong.getByRole('link', { name: 'See them' }).waitFor()
    assert.doesNotMatch(String(await wrong.textContent()), /trivium /)
    await wrong.getByRole('button', { name: 'Resume charges' }).click()
    await wrong.getByText('Route charges is paused').waitFor({ state: 'detached' })
    assert.deepEqual(await daemon.invoke('pause-list'), [])
    const { troubles } = Object(await daemon.invoke('troubles', {}))
    assert.match(JSON.stringify(troubles), /trivium dead-letter list --queue dispatch --route charges/)
    await wrong.getByRole('link', { name: 'See them' }).click()
    await page.getByRole('heading', { name: 'Dead letters of charges' }).waitFor()
  })

  test('pauses a gateway by its name from any view', async () => {
    await show('cost')
    await page.getByRole('heading', { name: 'Cost' }).waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('pause shop')
    await page.getByRole('option', { name: /Pause gateway shop/ }).waitFor()
    await page.keyboard.press('Enter')
    await dialog.getByText('Pause: gateway shop?').waitFor()
    await answer('until it is resumed')
    await until(async () => [await daemon.invoke('pause-list')].flat().length === 1, 'the pause')
    await daemon.invoke('gateway-resume', { gateway: 'shop' })
  })

  test('sees local times in a timeline', async () => {
    const [message] = Object(await daemon.invoke('message-search', { gateway: 'shop', limit: 1 })).messages
    await page.clock.install()
    await show(`messages/${message.id}`)
    const first = page.locator('.timeline time').first()
    const [iso, text] = [String(await first.getAttribute('datetime')), await first.textContent()]
    const local = await page.evaluate((at) => new Date(at).toTimeString().slice(0, 8), iso)
    assert.equal(text?.slice(0, 8), local)
    assert.match(String(await first.getAttribute('title')), /^\d+ \w+ \d{4}, \d\d:\d\d:\d\d \S+$/)
  })

  test('sees no erasure in the audit log that only counted', async () => {
    await daemon.invoke('person-erase', { identity: ['*:ada@example.com'] })
    await show('audit?action=person-erase')
    await page.getByText('No entry matches.').waitFor()
  })
})
