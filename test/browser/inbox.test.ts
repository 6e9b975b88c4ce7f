import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { leaveLists, openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { intercept } from '../fixtures/intercept.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none } }
  chat: { transport: websocket, path: /chat }
routes:
  - { name: bots, match: { gateway: chat, text: "*hours*" }, skill: echo }
  - { name: notes, match: { gateway: shop }, skill: note }
`
const NOTE = `export default { description: 'notes', run: () => undefined }`

describe('the conversations as an inbox', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: { note: NOTE } })
  const daemon = await site.start()
  const { page, dialog, show, press, answer, shots } = await openConsole(() => daemon)
  const rows = page.getByRole('list', { name: 'Conversations' }).getByRole('listitem')
  const chats = new Map<string, ReturnType<typeof daemon.chat>>()
  /** Sends a message. Each sender has a connection, and so a conversation, of their own. */
  const say = async (who: string, text: string) => {
    const chat = chats.get(who) ?? daemon.chat('/chat')
    chats.set(who, chat)
    const { send } = await chat
    send({ type: 'message', text })
  }
  const first = async () => (await rows.first().textContent()) ?? ''

  test('show unanswered ones first, those that wait longest at the top; machines are hidden', async () => {
    await say('c1', 'my parcel is lost')
    const unanswered = async () =>
      Object(await daemon.invoke('conversation-list', { unanswered: true })).conversations
    await until(async () => (await unanswered()).length === 1, 'an unanswered conversation')
    await say('c2', 'where are you?')
    await until(async () => (await unanswered()).length === 2, 'two unanswered conversations')
    await say('c3', 'what are your hours?')
    await daemon.post('/shop', JSON.stringify({ text: 'a delivery' }))
    await show('conversations')
    await rows.filter({ hasText: 'hours' }).getByText('You said:').waitFor()
    assert.equal(await rows.filter({ hasText: 'a delivery' }).count(), 0)
    await press('All')
    await rows.filter({ hasText: 'a delivery' }).waitFor()
    await press('With people')
    await rows.filter({ hasText: 'a delivery' }).waitFor({ state: 'detached' })
    await until(async () => /parcel is lost/.test(await first()), 'the one that waits longest')
    assert.match(await first(), /waits \d+ (?:s|min)/)
    assert.match((await rows.nth(1).textContent()) ?? '', /where are you.*waits/)
    assert.equal(await rows.filter({ hasText: 'waits' }).count(), 2)
    await page.getByRole('button', { name: 'Unanswered 2' }).click()
    await until(async () => (await rows.count()) === 2, 'only the unanswered ones')
    assert.match(page.url(), /show=unanswered/)
    await page.getByRole('button', { name: 'For a person 2' }).click()
    await until(async () => (await rows.count()) === 2, 'those that only a person can answer')
    assert.match(page.url(), /show=person/)
    assert.deepEqual(await faultsOf(page), [])
    await shots('inbox')
  })

  test('are updated live by another message and by an answer by hand', async () => {
    await leaveLists(page)
    await say('c4', 'one more question')
    await rows.filter({ hasText: 'one more question' }).waitFor()
    await rows.filter({ hasText: 'my parcel is lost' }).getByRole('link').click()
    await page.getByText(/has waited for an answer for/).waitFor()
    await page.getByLabel('by hand').fill('It is on its way.')
    await page.keyboard.press('Control+Enter')
    await page.locator('.reply').getByText('It is on its way.').waitFor()
    await page.getByText(/^Answered/).waitFor()
    // `j` then opens the next conversation, and Escape returns to the list.
    await page.locator('textarea:focus').waitFor({ state: 'detached' })
    assert.deepEqual(await faultsOf(page), [])
    await page.keyboard.press('Escape')
    await page
      .getByRole('link', { name: /Conversations/ })
      .first()
      .click()
    await rows.filter({ hasText: 'It is on its way.' }).waitFor()
    await page.getByRole('button', { name: 'Unanswered 2' }).waitFor()
  })

  test('fold a long text, and are answered by keyboard', async () => {
    const headers = { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' }
    const text = `${'a long story '.repeat(200)}and its end`
    const body = JSON.stringify({ gateway: 'chat', from: 'lou', conversation: 'lou', text })
    await fetch(`${daemon.control}/v1/messages`, { method: 'POST', headers, body })
    await show('conversations/chat/lou')
    await page.getByRole('button', { name: /^Show all 2,\d+ characters$/ }).waitFor()
    assert.equal(await page.getByText('and its end').count(), 0)
    await press(/^Show all 2,/)
    await page.getByText('and its end').waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await page.locator('h1').click()
    await page.keyboard.press('r')
    await page.keyboard.type('Thank you.')
    await page.keyboard.press('Control+Enter')
    await page.locator('.reply').getByText('Thank you.').waitFor()
    await shots('chat')
  })

  test('show the subject of a mail and who waits for which outcome', async () => {
    const headers = { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' }
    const mail = {
      gateway: 'chat',
      from: 'petra',
      subject: 'Third mail: order 4655',
      text: 'Nobody answers?',
    }
    const body = JSON.stringify({ ...mail, conversation: 'petra' })
    await fetch(`${daemon.control}/v1/messages`, { method: 'POST', headers, body })
    await show('conversations?show=unanswered')
    const row = rows.filter({ hasText: 'Third mail: order 4655' })
    await row.getByText(/waits/).waitFor()
    await row.getByRole('link').click()
    await page.getByLabel('by hand').fill('We call you.')
    await page.keyboard.press('Control+Enter')
    await page.locator('.reply').getByText('We call you.').waitFor()
    await page.locator('.reply').getByText('sent').waitFor()
    await page.locator('.chat .subject').getByText('Third mail: order 4655').waitFor()
    assert.equal(await page.locator('.chat .day').count(), 1)
    await show('conversations')
    await rows.filter({ hasText: 'We call you.' }).getByText('Third mail: order 4655').waitFor()
  })

  test('warn before an answer into a conversation that a colleague has taken over', async () => {
    await show('conversations/chat/petra')
    const since = Date.parse('2026-11-29T14:02:00')
    const heldBy = { by: 'http control-token:ingrid', since, reason: 'I am calling her' }
    const restore = await intercept(page, '**/v1/skills/conversation-show', async (route) => {
      const response = await route.fetch()
      const { result } = Object(await response.json())
      await route.fulfill({ response, json: { result: { ...result, heldBy } } })
    })
    const field = page.getByLabel('by hand')
    await field.fill('Is it there?')
    await press('Send the answer')
    await dialog.getByText('ingrid has this conversation. Send anyway?').waitFor()
    await dialog.getByText(/ingrid took it over on 29 Nov, 14:02:00: I am calling her/).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await answer('Cancel')
    assert.equal(await field.inputValue(), 'Is it there?')
    await press('Send the answer')
    await answer('Send anyway')
    await page.locator('.reply').getByText('Is it there?').waitFor()
    await restore()
  })

  test('can be taken over from the list, have a list of their own then, and are handed back', async () => {
    await show('conversations')
    const row = rows.filter({ hasText: 'where are you?' })
    // Unanswered conversations move to the top: wait for that, so that the row stays below the
    // pointer.
    await page.getByRole('button', { name: /^Unanswered \d/ }).waitFor()
    // The button shows while the pointer or the focus is in its row. The focus stays if the row
    // moves.
    const takeOver = row.getByRole('button', { name: /^Take over/ })
    await row.hover()
    await takeOver.focus()
    await takeOver.click()
    await dialog.getByText(/no skill runs for them/).waitFor()
    await answer('Take over')
    await page.getByText(/^.+: taken over until handed back\./).waitFor()
    await leaveLists(page)
    await page.getByRole('button', { name: 'Taken over 1' }).click()
    await rows.filter({ hasText: 'where are you?' }).getByText('has it').waitFor()
    await until(async () => (await rows.count()) === 1, 'only that one')
    // The sender still waits for an answer of the person who took over.
    const held = rows.filter({ hasText: 'where are you?' })
    await held.getByText(/waits/).waitFor()
    // They are below those for a person, and not among their number.
    const tab = page.getByRole('button', { name: /^For a person/ })
    await tab.click()
    await held.getByText('has it').waitFor()
    await page.locator('.row-head').getByText('1 taken over · oldest first', { exact: true }).waitFor()
    assert.equal(await tab.textContent(), `For a person ${(await rows.count()) - 1}`)
    await page.getByRole('button', { name: 'Mine 1' }).click()
    await held.getByText('has it').waitFor()
    // Who takes over on the command line has another name there.
    const { conversations } = Object(await daemon.invoke('conversation-list', { gateway: 'chat' }))
    const { conversation } = conversations.find(({ heldBy }: { heldBy?: object }) => !heldBy)
    const place = ['--gateway', 'chat', '--conversation', conversation]
    assert.equal((await site.run(['conversation', 'pause', ...place])).code, 0)
    await page.getByText(/: 1 conversation taken over on the command line by \S+@\S+\./).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Mine 1' }).count(), 1)
    assert.equal((await site.run(['conversation', 'resume', ...place])).code, 0)
    await page.getByRole('button', { name: /^Unanswered/ }).click()
    await held.getByText('has it').waitFor()
    await page.setViewportSize({ width: 1440, height: 900 })
    // Who has it and how long the sender waits are not cut off.
    const state = held.locator('a > :last-child')
    assert.equal(await state.evaluate(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth), false)
    await page.setViewportSize({ width: 1200, height: 900 })
    await show('now')
    await page.getByRole('region', { name: 'What is wrong' }).getByRole('link', { name: 'See them' }).click()
    await rows.filter({ hasText: 'where are you?' }).getByRole('link').click()
    for (let n = 0; n < 12; n++) await say('c2', `still nothing: ${n}`)
    await page.getByText('still nothing: 11').waitFor()
    for (const width of [1200, 390]) {
      await page.setViewportSize({ width, height: 844 })
      const main = page.getByRole('main')
      await main.evaluate((element) => element.scrollTo(0, element.scrollHeight))
      const top = Object(await main.boundingBox()).y
      for (const each of [
        page.getByRole('heading', { level: 1 }),
        page.getByRole('button', { name: /^Hand/ }),
      ]) {
        const { x, y, width: own } = Object(await each.boundingBox())
        assert.ok(y >= top && x + own <= width, `it is at ${x}, ${y}, ${width} px wide`)
      }
      assert.ok((await main.evaluate(({ scrollTop }) => scrollTop)) > 0)
    }
    assert.deepEqual(await faultsOf(page), [])
    await shots('conversation-end')
    await press(/^Hand back/)
    await page.getByText(/^.+ is handed back\. No message had waited\.$/).waitFor()
    await show('conversations?show=held')
    await page.getByText('Nobody has taken over a conversation.').waitFor()
  })

  test('are handed back with the messages that run, unless a person has answered those', async () => {
    const headers = { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' }
    const place = { gateway: 'chat', conversation: 'ida' }
    const write = async (text: string) => {
      const body = JSON.stringify({ ...place, from: 'ida', text })
      await fetch(`${daemon.control}/v1/messages`, { method: 'POST', headers, body })
    }
    await write('Good morning.')
    await daemon.invoke('conversation-pause', place)
    await write('What are your hours?')
    await show('conversations/chat/ida')
    await page.getByText('1 message').first().waitFor()
    await press(/^Hand back/)
    await dialog.getByText('1 message waits and runs now, oldest first.').waitFor()
    await dialog.getByText('What are your hours?', { exact: true }).waitFor()
    // A message that comes while the question is open is not handled unread.
    await write('What are your hours on Sunday?')
    await dialog.getByLabel('I have answered it').check()
    await answer('Hand back')
    await page.getByText('Another message has come').waitFor()
    assert.equal([await daemon.invoke('pause-list')].flat().length, 1)
    await press(/^Hand back/)
    await dialog.getByText('What are your hours on Sunday?').waitFor()
    await dialog.getByLabel('I have answered them').check()
    assert.deepEqual(await faultsOf(page), [])
    const box = Object(await dialog.getByLabel('I have answered them').boundingBox())
    assert.ok(box.width <= 40, `the box is ${box.width} px wide`)
    await shots('hand-back')
    await answer('Hand back')
    const isHeld = async () => [await daemon.invoke('pause-list')].flat().length > 0
    await until(async () => !(await isHeld()), 'the conversation is handed back')
    const found = Object(await daemon.invoke('message-search', { conversation: 'ida', limit: 1 }))
    assert.equal(found.messages[0].outcome, 'dropped')
  })

  test('are not given to a skill by default if a person has answered them', async () => {
    const headers = { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' }
    const place = { gateway: 'chat', conversation: 'una' }
    const write = async (text: string) => {
      const body = JSON.stringify({ ...place, from: 'una', text })
      await fetch(`${daemon.control}/v1/messages`, { method: 'POST', headers, body })
    }
    await write('Good morning.')
    await daemon.invoke('conversation-pause', place)
    await write('What are your hours in May?')
    await show('conversations/chat/una')
    await page.getByText('1 message').first().waitFor()
    await press(/^Hand back/)
    assert.equal(await dialog.getByLabel('I have answered it').isChecked(), false)
    await page.keyboard.press('Escape')
    await page.getByLabel('by hand').fill('Nine to five.')
    await press('Send the answer')
    await page.locator('.chat .reply').getByText('Nine to five.').waitFor()
    await press(/^Hand back/)
    assert.equal(await dialog.getByLabel('I have answered it').isChecked(), true)
    await answer('Hand back')
    await until(async () => [await daemon.invoke('pause-list')].flat().length === 0, 'the end of the pause')
    const { messages } = Object(await daemon.invoke('message-search', { conversation: 'una', limit: 1 }))
    assert.equal(messages[0].outcome, 'dropped')
  })

  test('the table of people fits on a phone', async () => {
    const headers = { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' }
    const from = 'bartholomew.featherstonehaugh-longstocking@customer.example'
    const body = JSON.stringify({ gateway: 'chat', from, conversation: 'long', text: 'Hello' })
    await fetch(`${daemon.control}/v1/messages`, { method: 'POST', headers, body })
    await page.setViewportSize({ width: 390, height: 844 })
    await show('people')
    const table = page.getByRole('region', { name: 'Recent senders' })
    await table.getByText(from).waitFor()
    assert.equal(await table.evaluate(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth), false)
    // Who, the state, what it is, and the numbers or the error.
    for (const row of await table.locator('tbody tr').all()) {
      const { height = 0 } = (await row.boundingBox()) ?? {}
      assert.ok(height > 0 && height < 108, `${await row.textContent()}: ${height} px`)
    }
    await shots('people')
  })
})
