import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { leaveLists, openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { intercept } from '../fixtures/intercept.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  chat: { transport: websocket, path: /chat }
routes:
  - { name: guarded, match: { gateway: chat, text: "Refund*" }, skill: refund }
  - { name: notes, match: { gateway: chat }, skill: note }
`
const REFUND = `export default { description: 'refunds', metadata: { approval: true }, run: () => 'refunded' }`
const NOTE = `export default { description: 'notes', run: () => undefined }`

describe('selected conversations', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: { note: NOTE, refund: REFUND } })
  const daemon = await site.start()
  const { page, dialog, show, answer, shots } = await openConsole(() => daemon)
  const rows = page.getByRole('list', { name: 'Conversations' }).getByRole('listitem')
  const bar = page.getByRole('group', { name: 'Selected rows' })
  const toast = page.locator('.toast')
  const headers = { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' }
  const write = async (who: string, text: string) => {
    const body = JSON.stringify({ gateway: 'chat', from: who, conversation: who, text })
    await fetch(`${daemon.control}/v1/messages`, { method: 'POST', headers, body })
  }
  const rowOf = (who: string) => rows.filter({ has: page.locator('.sender', { hasText: who }) })
  const select = (who: string, modifiers: 'Shift'[] = []) =>
    rowOf(who).getByRole('checkbox').click({ modifiers })
  const waiting = async () =>
    Object(await daemon.invoke('conversation-list', { unanswered: true })).conversations.length

  test('are settled together, with one result that names what failed', async () => {
    for (const who of ['ada', 'bob', 'cleo', 'dora']) await write(who, `I am ${who}.`)
    await until(async () => (await waiting()) === 4, 'four who wait')
    await show('conversations')
    await rowOf('dora').waitFor()
    await select('ada')
    await select('cleo', ['Shift'])
    await bar.getByText('3 selected').waitFor()
    assert.deepEqual(await faultsOf(page), [])
    const restore = await intercept(page, '**/v1/skills/conversation-settle', async (route) => {
      if (route.request().postDataJSON().conversation !== 'bob') return route.continue()
      return route.fulfill({
        status: 503,
        json: { error: { code: 'store_unavailable', message: 'the store is away' } },
      })
    })
    await bar.getByRole('button', { name: 'Settle 3 …' }).click()
    await dialog.getByText('Settle 3 conversations?').waitFor()
    await dialog.getByText('ada, bob, cleo').waitFor()
    await dialog.getByLabel(/Reason/).fill('told on the phone')
    assert.deepEqual(await faultsOf(page), [])
    await shots('settle-several')
    await answer('Settle')
    await toast.getByText('2 settled; 1 failed: bob: the store is away').waitFor()
    await bar.waitFor({ state: 'detached' })
    await rowOf('ada').getByText('settled', { exact: true }).waitFor()
    assert.equal(await waiting(), 2)
    await restore()
  })

  test('are not settled if a message has arrived after the question was asked', async () => {
    const before = await waiting()
    await write('eve', 'I am eve.')
    await until(async () => (await waiting()) === before + 1, 'one more who waits')
    await leaveLists(page)
    await show('now')
    await show('conversations')
    await select('eve')
    await bar.getByRole('button', { name: 'Settle 1 …' }).click()
    await dialog.getByText('Settle 1 conversation?').waitFor()
    await write('eve', 'One more question.')
    await until(async () => {
      const { conversations } = Object(await daemon.invoke('conversation-list', { text: 'One more' }))
      return conversations.length === 1
    }, 'the newer message')
    await answer('Settle')
    await toast.getByText(/^0 settled; 1 failed: eve: .* has a newer message/).waitFor()
    assert.equal(await waiting(), before + 1)
    await daemon.invoke('conversation-settle', { gateway: 'chat', conversation: 'eve' })
  })

  test('are settled in a search, whose rows show an earlier message', async () => {
    const before = await waiting()
    await write('fay', 'Where is my parcel?')
    await write('fay', 'Anybody there?')
    await until(async () => (await waiting()) === before + 1, 'one more who waits')
    await leaveLists(page)
    await show('conversations?search=parcel')
    await select('fay')
    await bar.getByRole('button', { name: 'Settle 1 …' }).click()
    await answer('Settle')
    await toast.getByText('1 conversation settled.').waitFor()
    assert.equal(await waiting(), before)
  })

  test('are taken over and handed back by keyboard', async () => {
    await leaveLists(page)
    await show('now')
    await show('conversations')
    await rowOf('bob').getByRole('link').focus()
    await page.keyboard.press('x')
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await bar.getByText('2 selected').waitFor()
    await page.keyboard.press('t')
    await dialog.getByText('Take over 2 conversations?').waitFor()
    await dialog.getByLabel(/Reason/).fill('I call them')
    await answer('Take over')
    await toast.getByText('2 conversations taken over.').waitFor()
    const held = async () => [await daemon.invoke('pause-list')].flat().map(Object)
    assert.deepEqual((await held()).map(({ name, reason }) => `${name}: ${reason}`).sort(), [
      'bob: I call them',
      'dora: I call them',
    ])
    // One of them writes again and is answered; nobody answers the other one.
    for (const who of ['bob', 'dora']) await write(who, `Is ${who} on the list?`)
    const newest = async (who: string) =>
      Object(await daemon.invoke('message-search', { conversation: who, limit: 1 })).messages[0]
    await until(async () => (await newest('bob')).text === 'Is bob on the list?', 'the message')
    await daemon.invoke('gateway-send', { messageId: (await newest('bob')).id, text: 'Yes.', wait: 10_000 })
    await show('conversations?show=held')
    await rowOf('bob').getByText('message held').waitFor()
    await select('bob')
    await select('dora')
    await page.keyboard.press('h')
    await dialog.getByText('2 messages are held in them.').waitFor()
    assert.equal(await dialog.getByLabel('1 message that a person has answered').isChecked(), true)
    assert.deepEqual(await faultsOf(page), [])
    await shots('hand-back-several')
    await answer('Hand back')
    await toast.getByText('2 conversations handed back.').waitFor()
    assert.deepEqual(await held(), [])
    assert.equal((await newest('bob')).outcome, 'dropped')
    await until(async () => (await newest('dora')).outcome === 'done', 'the skill')
  })

  test('are settled after a word about an open request for approval', async () => {
    await leaveLists(page)
    await write('emil', 'Refund 4711')
    await show('conversations')
    await rowOf('emil').getByText('approval', { exact: true }).waitFor()
    await select('emil')
    await bar.getByRole('button', { name: 'Settle 1 …' }).click()
    await dialog
      .getByText('A request for approval is open for emil; once decided, the answer still goes out.')
      .waitFor()
    await page.keyboard.press('Escape')
    await bar.getByText('1 selected').waitFor()
    await page.keyboard.press('Escape')
    await bar.waitFor({ state: 'detached' })
  })
})
