import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { goTo, leaveLists, openPage } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { intercept } from '../fixtures/intercept.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  demo: { transport: webhook, path: /hooks/demo, verify: { scheme: none } }
  chat: { transport: websocket, path: /chat }
routes:
  - { name: bad, match: { gateway: demo, text: /fail/ }, skill: fail, retry: { attempts: 1 } }
  - { name: counted, match: { gateway: demo, text: /order/ }, skill: counted, retry: { attempts: 1 } }
  - { name: slow, match: { gateway: demo, text: /slow/ }, skill: slow }
  - { name: all, match: { gateway: demo }, skill: echo, reply: none }
`
const SLOW = `export default { description: 'takes its time', run: () => new Promise((resolve) => setTimeout(resolve, 1500)) }`
const FAIL = `export default { description: 'fails', run() { throw new Error('<b>no</b>') } }`
const COUNTED = `export default { description: 'fails by number', run({ args }) { throw new Error('order ' + args.text.replace(/\\D/g, '') + ' is lost') } }`

describe('the operator console', { timeout: 600_000 }, async () => {
  const site = openSite({
    ownProcess: true,
    routes: ROUTES,
    skills: { fail: FAIL, counted: COUNTED, slow: SLOW },
  })
  const daemon = await site.start()
  const page = await openPage()
  const rows = page.getByRole('list', { name: 'Messages' }).getByRole('listitem')
  const post = async (text: string) =>
    String(Object((await daemon.post('/hooks/demo', JSON.stringify({ text }))).body).id)

  test('shows only the sign-in form without the token, and refuses a wrong one', async () => {
    await page.goto(daemon.control)
    assert.equal(await page.getByRole('navigation').count(), 0)
    await page.getByLabel('Control token').fill('wrong')
    await page.getByRole('button', { name: 'Open' }).click()
    await page.getByText('This is not the control token.').waitFor()
    await page.getByLabel('Control token').fill(daemon.token)
    await page.getByRole('button', { name: 'Open' }).click()
    await page.getByText('Live', { exact: true }).waitFor()
  })

  test('opens a link in another tab, and signs both tabs out together', async () => {
    const [tab] = await Promise.all([
      page.context().waitForEvent('page'),
      page.getByRole('link', { name: 'Gateways' }).click({ modifiers: ['Control'] }),
    ])
    await tab.getByRole('heading', { name: 'Gateways', level: 1 }).waitFor()
    await tab.getByText('Live', { exact: true }).waitFor()
    const readable = await tab.evaluate('document.cookie + JSON.stringify([localStorage, sessionStorage])')
    assert.equal(readable, '[{},{}]', 'scripts cannot read the session')
    await tab.getByRole('button', { name: 'Sign out' }).click()
    await tab.getByLabel('Control token').waitFor()
    await page.getByText('Your session has ended.').waitFor()
    await tab.close()
    await page.getByLabel('Control token').fill(daemon.token)
    await page.getByLabel('Your name').fill('Ada')
    await page.getByRole('button', { name: 'Open' }).click()
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByText('Ada', { exact: true }).waitFor()
  })

  test('shows new messages live and as text, and does not move the row under the pointer', async () => {
    await goTo(page, `${daemon.control}/#/messages`)
    await page.getByText('No message has come in yet.').waitFor()
    const id = await post('hello <i>world</i>')
    const row = rows.filter({ hasText: '<i>world</i>' })
    await row.getByText('done').waitFor()
    assert.equal(await page.locator('i').count(), 0)
    await row.hover()
    const place = await row.boundingBox()
    await post('another')
    await page.getByRole('button', { name: '1 new' }).waitFor()
    assert.deepEqual(await row.boundingBox(), place)
    await leaveLists(page)
    await rows.filter({ hasText: 'another' }).waitFor()
    // The row of `id` is the second from the top.
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.waitForURL(`**/#/messages/${id}`)
    await page.getByText('Why this route?').click()
    await page.getByText('answers', { exact: true }).waitFor()
    await page.getByText(/^fallback answers: |answers: the skill /).waitFor()
    await page.keyboard.press('Escape')
    await page.waitForURL('**/#/messages')
  })

  test('shows the timeline of a message, and sends it again with another text', async () => {
    const id = await post('fail once')
    await goTo(page, `${daemon.control}/#/messages/${id}`)
    await page.getByRole('heading', { name: /dead$/ }).waitFor()
    const steps = /accepted.*attempt 1 failed permanently/
    await page.locator('.timeline').filter({ hasText: steps }).waitFor()
    // The error is shown as text, not as markup.
    await page.getByText('It failed permanently: <b>no</b>.').waitFor()
    assert.equal(await page.locator('.timeline').getByText('<b>no</b>').count(), 1)
    await page.getByText('More', { exact: true }).click()
    await page.getByRole('button', { name: 'Edit and send again' }).click()
    await page.getByRole('textbox', { name: 'Text' }).fill('better')
    await page.getByRole('button', { name: 'Send again', exact: true }).click()
    await page.getByRole('heading', { name: 'better done' }).waitFor()
    assert.ok(!page.url().endsWith(id))
    await daemon.invoke('dead-letter-drop', { id })
  })

  test('keeps the outcome of a message that arrives before the late answer of a search', async () => {
    const { promise: mayAnswer, resolve: release } = Promise.withResolvers<void>()
    let searches = 0
    const restore = await intercept(page, '**/v1/skills/message-search', async (route) => {
      const response = await route.fetch()
      if (++searches > 1) await mayAnswer
      await route.fulfill({ response })
    })
    await leaveLists(page)
    const id = await post('slow')
    await goTo(page, `${daemon.control}/#/now`)
    await goTo(page, `${daemon.control}/#/messages`)
    await until(async () => Object(await daemon.invoke('message-show', { id })).outcome === 'done', 'done')
    // The stream reads the store four times a second: it has sent the outcome by then.
    await page.waitForTimeout(600)
    release()
    await rows.filter({ hasText: 'slow' }).waitFor()
    await page.waitForTimeout(600)
    assert.match((await rows.filter({ hasText: 'slow' }).textContent()) ?? '', /done/)
    await restore()
  })

  test('keeps a search in the address, also after a reload', async () => {
    await page.keyboard.press('/')
    await page.keyboard.type('world')
    await page.waitForURL('**/#/messages?search=world')
    await page.reload()
    await rows.filter({ hasText: 'world' }).waitFor()
    assert.equal(await rows.count(), 1)
  })

  test('groups dead letters by their error, retries one, and drops a group after a confirmation', async () => {
    for (const text of ['fail 1', 'fail 2']) await post(text)
    await page.getByRole('link', { name: 'Dead letters 2' }).click()
    const kind = page.getByRole('listitem').filter({ hasText: '<b>no</b>' })
    await kind.getByRole('link', { name: 'bad' }).click()
    await page.getByText('fail 1').click()
    await page.getByText('Edit and send again').waitFor()
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click()
    await page.getByText('It is being retried.').waitFor()
    await page.getByRole('heading', { name: 'Dead letters of bad' }).waitFor()
    await page.locator('.toast').getByText('Retried, and failed again: 1 dead letter.').waitFor()
    await page.getByRole('link', { name: 'Dead letters 2' }).click()
    await kind.getByRole('button', { name: 'Drop all' }).click()
    await page.getByText('Drop all 2 dead letters?').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Drop' }).click()
    await page.getByText('No dead letters.').waitFor()
    assert.deepEqual(await daemon.invoke('dead-letter-list'), [])
  })

  test('drops only the dead letters of a group that a search shows', async () => {
    for (const text of ['order 17', 'order 18']) await post(text)
    await goTo(page, `${daemon.control}/#/dead-letters?error=order+17`)
    await page.getByRole('button', { name: 'Drop', exact: false }).click()
    await page.getByText('Drop the dead letter?').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Drop' }).click()
    await page.getByText('Nothing matches.').waitFor()
    const left = await daemon.invoke('dead-letter-list')
    assert.deepEqual(
      [left].flat().map((letter) => Object(letter).message.text),
      [JSON.stringify({ text: 'order 18' })],
    )
    await daemon.invoke('dead-letter-drop', { all: true })
  })

  test('reports an invalid address and an invalid filter, and keeps working', async () => {
    await goTo(page, `${daemon.control}/#/messages/%E0%A4`)
    await page.getByRole('alert').filter({ hasText: 'There is no message' }).waitFor()
    await goTo(page, `${daemon.control}/#/messages?outcome=nowhere`)
    await page.getByRole('alert').getByRole('button', { name: 'Try again' }).waitFor()
    await page.setViewportSize({ width: 390, height: 844 })
    await page.getByRole('button', { name: /^Messages/ }).click()
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    await page.setViewportSize({ width: 1200, height: 900 })
    const streamRequest = page.waitForRequest(/v1\/stream\?outcome=nowhere/, { timeout: 1_000 })
    await assert.rejects(streamRequest, 'an invalid stream is not requested again')
  })

  test('shows a conversation as a chat; a double click sends an answer by hand once', async () => {
    const chat = await daemon.chat('/chat')
    chat.send({ type: 'message', text: 'is anybody there?', conversation: 'c1' })
    await page.getByRole('link', { name: 'Conversations' }).click()
    await page.getByText('is anybody there?').click()
    await page.getByLabel('by hand').fill('I am.')
    await page.getByRole('button', { name: 'Send the answer' }).dblclick()
    await page.locator('.reply').getByText('I am.').waitFor()
    const [, gateway, conversation] = new URL(page.url()).hash.slice(2).split('/').map(decodeURIComponent)
    const { entries } = Object(await daemon.invoke('conversation-show', { gateway, conversation }))
    assert.equal(entries.length, 2)
  })

  test('reports that the daemon does not answer, and continues when it is back', async () => {
    await daemon.end('SIGKILL')
    await page.getByText('The daemon has not answered').waitFor()
    await site.start({ TRIVIUM_CONTROL_LISTEN: new URL(daemon.control).host })
    await page.getByText('Live', { exact: true }).waitFor()
    assert.equal(await page.getByText('The daemon has not answered').count(), 0)
  })
})
