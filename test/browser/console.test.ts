import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { openPage } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
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

describe('the operator console', { timeout: 300_000 }, async () => {
  const site = openSite({
    ownProcess: true,
    routes: ROUTES,
    skills: { fail: FAIL, counted: COUNTED, slow: SLOW },
  })
  const daemon = await site.start()
  const page = await openPage({ timeout: 10_000 })
  const rows = page.getByRole('list', { name: 'Messages' }).getByRole('listitem')
  const post = async (text: string) =>
    String(Object((await daemon.post('/hooks/demo', JSON.stringify({ text }))).body).id)

  test('without the token it shows nothing but the form, and says when the token is wrong', async () => {
    await page.goto(daemon.control)
    assert.equal(await page.getByRole('navigation').count(), 0)
    await page.getByLabel('Control token').fill('wrong')
    await page.getByRole('button', { name: 'Open' }).click()
    await page.getByText('This is not the control token.').waitFor()
    await page.getByLabel('Control token').fill(daemon.token)
    await page.getByRole('button', { name: 'Open' }).click()
    await page.getByText('Live', { exact: true }).waitFor()
  })

  test('a link opened in another tab shows its view, and signing out there ends both', async () => {
    const [tab] = await Promise.all([
      page.context().waitForEvent('page'),
      page.getByRole('link', { name: 'Gateways' }).click({ modifiers: ['Control'] }),
    ])
    await tab.getByRole('heading', { name: 'Gateways', level: 1 }).waitFor()
    await tab.getByText('Live', { exact: true }).waitFor()
    const seen = await tab.evaluate('document.cookie + JSON.stringify([localStorage, sessionStorage])')
    assert.equal(seen, '[{},{}]')
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

  test('messages come in live, as text and never as markup, and stay where they are under the pointer', async () => {
    await page.goto(`${daemon.control}/#/messages`)
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
    await page.mouse.move(5, 5)
    await rows.filter({ hasText: 'another' }).waitFor()
    // The newer one is above it: one row from the top, and then down.
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.waitForURL(`**/#/messages/${id}`)
    await page.getByText('Why this route?').click()
    await page.getByText('answers').waitFor()
    await page.keyboard.press('Escape')
    await page.waitForURL('**/#/messages')
  })

  test('a message says what became of it, and is sent again with another text', async () => {
    const id = await post('fail once')
    await page.goto(`${daemon.control}/#/messages/${id}`)
    await page.getByRole('heading', { name: /dead$/ }).waitFor()
    const told = /accept accepted.*dispatch dead.*attempt 1/
    await page.locator('.timeline').filter({ hasText: told }).waitFor()
    // The error is there as text.
    await page.getByText('It failed permanently: <b>no</b>.').waitFor()
    assert.equal(await page.locator('.timeline').getByText('<b>no</b>').count(), 1)
    await page.getByRole('button', { name: 'Edit and send again' }).click()
    await page.getByRole('textbox', { name: 'Text' }).fill('better')
    await page.getByRole('button', { name: 'Send again', exact: true }).click()
    await page.getByRole('heading', { name: 'better done' }).waitFor()
    assert.ok(!page.url().endsWith(id))
    await daemon.invoke('dead-letter-drop', { id })
  })

  test('what became of a message while a search was on its way is not undone by the answer', async () => {
    const late = Promise.withResolvers<void>()
    let asked = 0
    await page.route('**/v1/skills/message-search', async (route) => {
      const response = await route.fetch()
      if (++asked > 1) await late.promise
      await route.fulfill({ response })
    })
    await page.mouse.move(5, 5)
    const id = await post('slow')
    await page.goto(`${daemon.control}/#/now`)
    await page.goto(`${daemon.control}/#/messages`)
    await until(async () => Object(await daemon.invoke('message-show', { id })).outcome === 'done', 'done')
    // A look at the store later the stream has told it.
    await page.waitForTimeout(600)
    late.resolve()
    await rows.filter({ hasText: 'slow' }).waitFor()
    await page.waitForTimeout(600)
    assert.match((await rows.filter({ hasText: 'slow' }).textContent()) ?? '', /done/)
    await page.unroute('**/v1/skills/message-search')
  })

  test('a search is in the address and outlives a reload', async () => {
    await page.keyboard.press('/')
    await page.keyboard.type('world')
    await page.waitForURL('**/#/messages?search=world')
    await page.reload()
    await rows.filter({ hasText: 'world' }).waitFor()
    assert.equal(await rows.count(), 1)
  })

  test('dead letters stand together by what killed them, and are dropped when asked once', async () => {
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
    await page.getByRole('link', { name: 'Dead letters 2' }).click()
    await kind.getByRole('button', { name: 'Drop all' }).click()
    await page.getByText('Drop all 2 dead letters?').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Drop' }).click()
    await page.getByText('No dead letters.').waitFor()
    assert.deepEqual(await daemon.invoke('dead-letter-list'), [])
  })

  test('what a search does not show is not dropped, though it is of the same kind', async () => {
    for (const text of ['order 17', 'order 18']) await post(text)
    await page.goto(`${daemon.control}/#/dead-letters?error=order+17`)
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

  test('an address that is none, and a filter that is none, say so and leave the rest at work', async () => {
    await page.goto(`${daemon.control}/#/messages/%E0%A4`)
    await page.getByRole('alert').filter({ hasText: 'There is no message' }).waitFor()
    await page.goto(`${daemon.control}/#/messages?outcome=nowhere`)
    await page.getByRole('alert').getByRole('button', { name: 'Try again' }).waitFor()
    await page.setViewportSize({ width: 390, height: 844 })
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    await page.setViewportSize({ width: 1200, height: 900 })
    const again = page.waitForRequest(/v1\/stream\?outcome=nowhere/, { timeout: 1_000 })
    await assert.rejects(again, 'the stream is asked for again')
  })

  test('a conversation is a chat, and answered by hand', async () => {
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

  test('nothing keeps anybody out: no view has a fault that axe finds, in the light or the dark, nor is wider than a phone', async () => {
    const id = await post('fail for good')
    await page.getByRole('link', { name: 'Dead letters 1' }).waitFor()
    const names = await page
      .locator('nav a[href^="#"]')
      .evaluateAll((links) => links.map((link) => link.getAttribute('href') ?? ''))
    const places = [
      ...names,
      '#/messages?text=nowhere',
      `#/messages/${id}`,
      `#/dead-letters/${id}`,
      `#/conversations/demo/${id}`,
    ]
    for (const [width, colorScheme] of [
      [1440, 'light'],
      [390, 'dark'],
    ] as const) {
      await page.setViewportSize({ width, height: 844 })
      await page.emulateMedia({ colorScheme })
      for (const place of places) {
        await page.goto(`${daemon.control}/${place}`)
        await page.getByRole('heading', { level: 1 }).waitFor()
        assert.deepEqual(await faultsOf(page), [], `${place} at ${width}`)
      }
    }
  })

  test('says at once that the daemon is gone, and goes on when it is back', async () => {
    await daemon.end('SIGKILL')
    await page.getByText('The daemon has not answered').waitFor()
    await site.start({ TRIVIUM_CONTROL_LISTEN: new URL(daemon.control).host })
    await page.getByText('Live', { exact: true }).waitFor()
    assert.equal(await page.getByText('The daemon has not answered').count(), 0)
  })
})
