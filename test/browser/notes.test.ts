import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { pathGet } from '../../src/core/json.ts'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  chat: { transport: websocket, path: /chat }
  shop: { transport: webhook, path: /shop, verify: { scheme: none }, conversation: data.body.order, from: data.body.by }
`

describe('the console has notes for colleagues', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: ROUTES })
  const daemon = await site.start()
  const { page, dialog, show, press, answer, shots } = await openConsole(() => daemon)
  const place = { gateway: 'chat', conversation: 'petra' }
  const shown = async () => Object(await daemon.invoke('conversation-show', place))
  const answerField = page.getByLabel('by hand')
  const noteField = page.getByLabel('Note: only colleagues see it')
  const notes = page.locator('.chat .note')
  const isFocused = (field: typeof noteField) => field.and(page.locator(':focus')).waitFor()
  /** The colour of the button below the field. */
  const colour = () =>
    page.evaluate("getComputedStyle(document.querySelector('.answer button.primary')).backgroundColor")

  test('a note has its own field, draft, button and colour, and is not sent', async () => {
    await fetch(`${daemon.control}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...place, from: 'petra', text: 'Where is my tent?' }),
    })
    await show('conversations/chat/petra')
    await answerField.fill('We look for it.')
    const ofAnswer = await colour()
    await answerField.press('Escape')
    await page.keyboard.press('n')
    await isFocused(noteField)
    assert.equal(await noteField.inputValue(), '', 'the draft of the answer stays with the answer')
    assert.equal(await answerField.count(), 0)
    assert.equal(await page.getByRole('button', { name: 'Send the answer' }).count(), 0)
    assert.notEqual(await colour(), ofAnswer)
    await noteField.fill('Third time she asks.\nCall her?')
    assert.deepEqual(await faultsOf(page), [])
    await shots('note-draft')
    await noteField.press('Escape')
    await page.keyboard.press('r')
    await isFocused(answerField)
    assert.equal(await answerField.inputValue(), 'We look for it.')
    // Both drafts are kept while the person looks at another page.
    await show('conversations')
    await show('conversations/chat/petra')
    assert.equal(await answerField.inputValue(), 'We look for it.')
    await press('Note')
    await isFocused(noteField)
    assert.equal(await noteField.inputValue(), 'Third time she asks.\nCall her?')
    await noteField.press('Control+Enter')
    await notes.getByText('Third time she asks.').waitFor()
    await notes.getByText(/^Note of .* · only colleagues see it/).waitFor()
    // A second note is not written into the field of the answer by mistake.
    await isFocused(noteField)
    assert.equal(await noteField.inputValue(), '')
    const { entries, waitingSince } = await shown()
    assert.deepEqual(
      entries.map(({ role }: { role: string }) => role),
      ['sender'],
    )
    assert.ok(waitingSince, 'a note is no answer')
    await show('conversations?search=third')
    const found = page.getByRole('list', { name: 'Conversations' }).getByRole('listitem')
    await found.filter({ hasText: 'Note: Third time she asks.' }).getByText('1 note').waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await show('conversations/chat/petra')
    await press(/^Answer$/)
    assert.equal(await answerField.inputValue(), 'We look for it.')
    assert.deepEqual(await faultsOf(page), [])
    await shots('note')
  })

  test('a note of a colleague appears, and is deleted after a question', async () => {
    await daemon.invoke('conversation-note', { ...place, text: 'I have called her.' })
    const note = notes.filter({ hasText: 'I have called her.' })
    await note.waitFor({ timeout: 60_000 })
    await note.getByRole('button', { name: /^Delete the note of/ }).click()
    await dialog.getByText('Then nobody can read it any more.').waitFor()
    await answer('Cancel')
    assert.equal((await shown()).notes.length, 2)
    await note.getByRole('button', { name: /^Delete the note of/ }).click()
    await answer('Delete the note')
    await note.waitFor({ state: 'detached' })
    const { notes: left, entries } = await shown()
    assert.equal(left.length, 1)
    // Whoever answers from the page of the message sees the notes too.
    await show(`messages/${entries[0].id}`)
    await notes.getByText('Third time she asks.').waitFor()
  })

  test('the chat says who took the conversation over, until when and why, and who handed it back', async () => {
    await show('conversations/chat/petra')
    await daemon.invoke('conversation-pause', { ...place, for: '2h', reason: 'I call her' })
    const lines = page.locator('.chat .handover')
    await lines
      .getByText(/^Taken over by control token · .* ago, until (\d+ \w+ )?\d\d:\d\d: I call her$/)
      .waitFor()
    await daemon.invoke('conversation-resume', place)
    await lines.getByText(/^Handed back by control token · /).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('handover')
  })

  test('a conversation that cannot be answered has notes too', async () => {
    const order = JSON.stringify({ order: '#5111', by: 'zoe' })
    await daemon.post('/shop', order, { 'content-type': 'application/json' })
    const messages = async () => Object(await daemon.invoke('message-search', { gateway: 'shop' })).messages
    await until(async () => (await messages()).length === 1, 'the message')
    const conversation = String(pathGet(await messages(), '0.conversation'))
    await show(`conversations/shop/${encodeURIComponent(conversation)}`)
    await page.getByText(/You cannot answer here/).waitFor()
    await press('Note')
    await noteField.fill('The shop sends it again.')
    await press('Add note')
    await notes.getByText('The shop sends it again.').waitFor()
  })
})
