import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole, untilCopied } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { intercept } from '../fixtures/intercept.ts'
import { startSmtpServer } from '../fixtures/smtp-server.ts'
import { mailFromHalldis, refuseNext, supportGateway } from '../fixtures/support-mail.ts'
import { until } from '../fixtures/until.ts'

const REFUND = `export default {
  description: 'pays back',
  metadata: { approval: { title: 'Refund 64.50 EUR' } },
  run: () => 'It is on its way.',
}`
const ORDER = `let attempts = 0
export default { description: 'orders', run() { if (attempts++ === 0) throw new Error('unknown tent') } }`
const STOVE = `export default {
  description: 'stoves',
  metadata: { session: 'args.sessionId' },
  run: () => 'It is on its way.',
}`

describe('the console shows one conversation', { timeout: 600_000 }, async () => {
  const smtp = await startSmtpServer()
  after(() => smtp.close())
  const site = openSite({
    routes: `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none }, conversation: data.body.order, from: data.body.by, event: data.body.event }
  chat: { transport: websocket, path: /chat }
  ${supportGateway(smtp)}
routes:
  - { name: refunds, match: { gateway: chat, text: "*refund*" }, skill: refund }
  - { name: stoves, match: { gateway: chat, text: "*stove*" }, skill: stove }
  - { name: orders, match: { gateway: shop }, skill: order, retry: { attempts: 1 } }
`,
    skills: { refund: REFUND, order: ORDER, stove: STOVE },
  })
  const daemon = await site.start()
  const { page, dialog, show, press, answer, shots } = await openConsole(() => daemon)
  const requests = page.locator('.chat .request')
  const write = (conversation: string, text: string, from = conversation) =>
    fetch(`${daemon.control}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ gateway: 'chat', conversation, from, text }),
    })
  const pending = async () => [await daemon.invoke('approval-list', { status: 'pending' })].flat()

  test('a waiting approval is no reply, and an answer by hand asks first', async () => {
    await write('petra', 'I want a refund.')
    await until(async () => (await pending()).length === 1, 'the request')
    await show('messages?search=status:approval')
    const row = page.locator('a.message-row').filter({ hasText: 'I want a refund.' })
    await row.locator('.route').getByText('refunds', { exact: true }).waitFor({ state: 'attached' })
    await page.locator('.histogram p span').last().getByText('now', { exact: true }).waitFor()
    await show('conversations/chat/petra')
    await requests.getByRole('link', { name: 'Refund 64.50 EUR' }).waitFor()
    await requests.getByText('Waits for a decision.').waitFor()
    await page.getByLabel('by hand').fill('We look at it.')
    await press('Send the answer')
    await dialog.getByText('An approval waits in this conversation. Send anyway?').waitFor()
    await dialog.getByText(/After the decision, petra gets another answer/).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('answer-while-approval')
    // The dialog belongs to this page: it closes if the address changes.
    await show('conversations')
    await dialog.waitFor({ state: 'detached' })
    await show('conversations/chat/petra')
  })

  test('a decision is shown with its author and reason', async () => {
    await requests.getByRole('button', { name: 'Deny Refund 64.50 EUR' }).click()
    await dialog.getByLabel(/Reason/).fill('no receipt')
    await answer(/^Deny/)
    await requests.getByText(/^Denied by .+, \d\d:\d\d · .*: no receipt$/).waitFor()
    assert.equal(await page.locator('.chat .reply').filter({ hasText: 'Refund 64.50 EUR' }).count(), 0)
    assert.deepEqual(await faultsOf(page), [])
    await shots('decided-approval')
  })

  test('a webhook is named by its thing, cannot be answered, and is retried here', async () => {
    const order = JSON.stringify({ order: '#5111', by: 'zoe', event: 'orders/create' })
    await daemon.post('/shop', order, { 'content-type': 'application/json' })
    const messages = async () => Object(await daemon.invoke('message-search', { gateway: 'shop' })).messages
    await until(async () => (await messages())[0]?.outcome === 'dead', 'a dead letter')
    const { conversation, id } = (await messages())[0]
    await show(`conversations/shop/${encodeURIComponent(conversation)}`)
    await page.getByRole('heading', { name: '#5111 · orders/create in shop' }).waitFor()
    await page.locator('.conversation-id').getByText(conversation, { exact: true }).waitFor()
    await press('Copy id')
    await untilCopied(page, conversation)
    await page.getByText(/You cannot answer here: its sender already has its answer/).waitFor()
    assert.equal(await page.getByLabel('by hand').count(), 0)
    const received = page.locator('.chat .sender')
    await received.getByText('unknown tent').waitFor()
    const letter = await received.getByRole('link', { name: 'See the dead letter' }).getAttribute('href')
    assert.equal(letter, `#/dead-letters/${id}?queue=dispatch`)
    assert.deepEqual(await faultsOf(page), [])
    await shots('webhook-conversation')
    await received.getByRole('button', { name: 'Retry' }).click()
    await dialog.getByText('Try this message again?').waitFor()
    await answer('Retry')
    await received.getByText('dead', { exact: true }).waitFor({ state: 'detached' })
    await show(`messages/${id}`)
    await page.getByText(/not possible: its sender already has its answer/).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Answer …' }).count(), 0)
  })

  test('an answer to a mailbox that does not exist is not offered as if it could arrive', async () => {
    await mailFromHalldis(daemon)
    const messages = async () =>
      Object(await daemon.invoke('message-search', { gateway: 'support' })).messages
    await until(async () => (await messages()).length === 1, 'the mail')
    const [{ id, conversation }] = await messages()
    refuseNext(smtp)
    await daemon.invoke('gateway-send', { messageId: id, text: 'We found your parcel.' })
    await show(`conversations/support/${encodeURIComponent(conversation)}`)
    const answering = page.locator('.answering')
    await answering.getByText(/was not delivered: the mailbox does not exist/).waitFor()
    await answering.getByText(/Another answer would not arrive either/).waitFor()
    // One action is the usual one.
    assert.deepEqual(await answering.locator('.primary').allTextContents(), ['Send there'])
    await page.setViewportSize({ width: 390, height: 844 })
    const box = Object(await answering.boundingBox())
    assert.ok(box.height < 844 / 2.5, `the box is ${box.height} px high`)
    await page.setViewportSize({ width: 1200, height: 900 })
    assert.equal(await page.getByLabel('by hand').count(), 0)
    assert.deepEqual(await faultsOf(page), [])
    await shots('mailbox-gone')
    await press('Answer anyway')
    await page.getByLabel('by hand').waitFor()
    await page.reload()
    const letters = async () => [await daemon.invoke('dead-letter-list', { queue: 'outbox' })].flat()
    const sendThere = async (address: string) => {
      await page.getByLabel('Send it to another address').fill(address)
      await page.getByRole('button', { name: 'Send there' }).click()
    }
    const asksBeforeItSendsTo = async (address: string) => {
      const heldBy = { by: 'http control-token:ingrid', since: Date.now(), reason: 'I call her' }
      const restore = await intercept(page, '**/v1/skills/conversation-show', async (route) => {
        const response = await route.fetch()
        const { result } = Object(await response.json())
        await route.fulfill({ response, json: { result: { ...result, heldBy } } })
      })
      await sendThere(address)
      await dialog.getByText('ingrid has this conversation. Send anyway?').waitFor()
      await answer('Cancel')
      await restore()
    }
    await asksBeforeItSendsTo('halldis@example.org')
    // A server that refuses this address, too, leaves everything as it was.
    refuseNext(smtp)
    await sendThere('halldis@example.org')
    await page
      .locator('.toast')
      .getByText(/no such mailbox/)
      .waitFor()
    await page.locator('.chat .reply').getByText('to halldis@example.org').waitFor()
    const restore = await intercept(page, '**/v1/skills/dead-letter-list', (route) => {
      // As if all letters that one call lists were of other messages.
      if (route.request().postDataJSON().message === undefined) return route.fulfill({ json: { result: [] } })
      return route.continue()
    })
    await sendThere('halldis@example.net')
    await page.locator('.toast').getByText('It was sent to halldis@example.net.').waitFor()
    assert.deepEqual(smtp.taken.at(-1)?.to, ['halldis@example.net'])
    await restore()
    assert.match(String(smtp.taken.at(-1)?.raw), /^Subject: Re: Where is order 4777\?/m)
    // Colleagues see it as well, and the dead letter is gone.
    for (const visit of ['now', 'reloaded']) {
      if (visit === 'reloaded') await page.reload()
      const sent = page.locator('.chat .reply').filter({ hasText: 'to halldis@example.net' })
      await sent.getByText(/^✓ sent/).waitFor()
      await page.getByText(/^Answered by .* ago/).waitFor()
      assert.equal(await page.getByLabel('Send it to another address').count(), 0)
    }
    await shots('sent-elsewhere')
    assert.deepEqual(await letters(), [])
    assert.equal((await messages())[0]?.outcome, 'unrouted')
    const { conversations } = Object(await daemon.invoke('conversation-list', { unanswered: true }))
    assert.equal(JSON.stringify(conversations).includes(conversation), false)
    await show('now')
    await page.getByRole('heading', { name: 'Now' }).waitFor()
    assert.equal(await page.getByText('of support was not delivered').count(), 0)
    await show(`conversations/support/${encodeURIComponent(conversation)}`)

    // The address can be corrected after the dead letter was dropped, too.
    refuseNext(smtp)
    await daemon.invoke('gateway-send', { messageId: id, text: 'We found your parcel.' })
    await until(async () => (await letters()).length === 1, 'the dead letter')
    await daemon.invoke('dead-letter-drop', { id: String(Object((await letters())[0]).id), queue: 'outbox' })
    await page.reload()
    await answering
      .getByText(/the mailbox does not exist/)
      .first()
      .waitFor()
    assert.equal(await answering.getByRole('link', { name: 'See the dead letter' }).count(), 0)
    await sendThere('halldis@example.net')
    await page.locator('.toast').getByText('It was sent to halldis@example.net.').waitFor()

    // A history has only the beginning of a long answer.
    refuseNext(smtp)
    await daemon.invoke('gateway-send', { messageId: id, text: 'It is long. '.repeat(500) })
    await until(async () => (await letters()).length === 1, 'the dead letter of the long answer')
    await page.reload()
    const whole = answering.getByRole('link', { name: 'Send it to another address' })
    await whole.waitFor()
    assert.equal(await page.getByLabel('Send it to another address').count(), 0)
    await whole.click()
    await asksBeforeItSendsTo('halldis@example.com')
    await sendThere('halldis@example.com')
    await until(() => smtp.taken.at(-1)?.to.join() === 'halldis@example.com', 'the long mail')
    assert.ok(Number(smtp.taken.at(-1)?.raw.length) >= 500 * 'It is long. '.length)
  })

  test('a text that is written and not sent is still there on return', async () => {
    await write('kim', 'Is the shop open?')
    await write('lea', 'Is it far?')
    await show('conversations/chat/kim')
    await page.getByLabel('by hand').fill('Until six.')
    await show('conversations/chat/lea')
    await page.getByLabel('Answer lea by hand').waitFor()
    assert.equal(await page.getByLabel('by hand').inputValue(), '')
    await show('conversations/chat/kim')
    await page.getByLabel('Answer kim by hand').waitFor()
    assert.equal(await page.getByLabel('by hand').inputValue(), 'Until six.')
    const left = () => page.evaluate("!dispatchEvent(new Event('beforeunload', { cancelable: true }))")
    assert.equal(await left(), true)
    await press('Send the answer')
    await page.locator('.chat .reply').getByText('Until six.').waitFor()
    assert.equal(await page.getByLabel('by hand').inputValue(), '')
    assert.equal(await left(), false)
  })

  test('can be settled without an answer, until its next message', async () => {
    await write('sven', 'I have called you.')
    await show('conversations/chat/sven')
    await page.getByText('has waited for an answer').waitFor()
    await press('No answer is needed …')
    await dialog.getByLabel(/Reason/).fill('said on the phone')
    assert.deepEqual(await faultsOf(page), [])
    await answer('It is settled')
    await page.getByText(/^Settled by .* ago, on .*: said on the phone$/).waitFor()
    await shots('settled')
    await show('conversations')
    const row = page.locator('a.message-row.talk').filter({ hasText: 'I have called you.' })
    await row.getByText('settled', { exact: true }).waitFor()
    assert.equal(await row.getByText(/^waits/).count(), 0)
    await write('sven', 'One more thing.')
    await show('conversations/chat/sven')
    await page.getByText('has waited for an answer').waitFor()
  })

  test('at 1440, the sender is beside it, with other conversations; a phone has only the chat', async () => {
    await write('ida-1', 'Where is my stove?', 'ida@example.com')
    await write('ida-2', 'I need a refund for a lamp, too.', 'ida@example.com')
    await until(async () => (await pending()).length === 1, 'the second conversation')
    let sessionLists = 0
    page.on('request', (request) => {
      if (request.url().endsWith('/v1/skills/session-list')) sessionLists++
    })
    await page.setViewportSize({ width: 1440, height: 900 })
    await show('conversations/chat/ida-1')
    const beside = page.getByRole('complementary', { name: 'About the sender' })
    await beside.getByRole('heading', { name: 'ida@example.com' }).waitFor()
    await beside.getByRole('link', { name: 'All that is kept' }).waitFor()
    const other = beside.getByRole('link', { name: /refund for a lamp/ })
    await other.waitFor()
    await beside.getByRole('heading', { name: 'Waiting, longest first' }).waitFor()
    assert.equal(await beside.getByRole('link', { name: /Where is my stove/ }).count(), 0)
    // The daemon reads all sessions for the list.
    assert.equal(sessionLists, 0)
    await beside.getByText('What skills remember').click()
    await beside.getByRole('link', { name: 'stove', exact: true }).waitFor()
    assert.equal(sessionLists, 1)
    assert.deepEqual(await faultsOf(page), [])
    await other.click()
    await beside.getByRole('link', { name: /Where is my stove/ }).waitFor()
    await page.setViewportSize({ width: 390, height: 844 })
    await beside.waitFor({ state: 'detached' })
    await page.setViewportSize({ width: 1200, height: 900 })
  })

  test('opens at its end, also if a note about it arrives later', async () => {
    const place = { gateway: 'chat', conversation: 'lou' }
    // They fit on the page without the note.
    for (let n = 0; n < 4; n++) await write('lou', `${n}: nothing has come yet.`)
    await daemon.invoke('conversation-pause', { ...place, reason: 'I call her. '.repeat(30).trim() })
    await page.setViewportSize({ width: 390, height: 844 })
    const restore = await intercept(page, '**/v1/skills/pause-list', async (route) => {
      await page.getByText('3: nothing has come yet.').waitFor()
      await route.continue()
    })
    await show('conversations/chat/lou')
    await page.reload()
    // Above the chat and in it.
    await until(async () => (await page.getByText(/I call her/).count()) === 2, 'the note')
    const left = () =>
      page
        .getByRole('main')
        .evaluate(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight)
    await until(async () => (await left()) < 3, 'the end of the conversation')
    await restore()
    await page.setViewportSize({ width: 1200, height: 900 })
  })

  test('its place in the list survives a reload, and a notice leaves the button free', async () => {
    await show('conversations')
    await page.getByRole('list', { name: 'Conversations' }).getByText('refund for a lamp').click()
    const place = page.locator('.neighbours .dim')
    const text = await place.textContent()
    assert.match(text ?? '', /^\d of [1-9] waiting$/)
    await page.reload()
    await page.getByLabel('by hand').waitFor()
    assert.equal(await place.textContent(), text)
    await page.getByLabel('by hand').fill('We look for it.')
    await press('Send the answer')
    await answer('Send anyway')
    const notice = page.locator('.toast')
    await notice.waitFor()
    const button = Object(await page.getByRole('button', { name: 'Send the answer' }).boundingBox())
    const { y, height } = Object(await notice.boundingBox())
    assert.ok(y + height <= button.y, `the notice ends at ${y + height}, the button begins at ${button.y}`)
    await shots('notice')
    const stored = () => page.evaluate(() => sessionStorage.length)
    assert.equal(await stored(), 1)
    await page.getByLabel('by hand').fill('I have found it.')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Control token').waitFor()
    assert.equal(await stored(), 0)
    // The draft is not shown to another person.
    await page.getByLabel('Control token').fill(daemon.token)
    await page.getByLabel('name').fill('another')
    await page.keyboard.press('Enter')
    await page.getByLabel('by hand').waitFor()
    assert.equal(await page.getByLabel('by hand').inputValue(), '')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Control token').waitFor()
    await page.reload()
    await page.getByLabel('Control token').waitFor()
    assert.equal(await stored(), 0)
  })
})
