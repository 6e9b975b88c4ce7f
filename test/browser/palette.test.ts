import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { intercept } from '../fixtures/intercept.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /hooks/shop, verify: { scheme: none } }
  desk: { transport: cli }
subscriptions:
  - { name: crm, topic: orders, url: "http://127.0.0.1:9/crm", allow-private: true, secret: whsec_${'c2VjcmV0'.repeat(5)} }
routes:
  - { name: stock, match: { text: "*stock*" }, skill: stock, retry: { attempts: 4, delay: 1h } }
  - { name: money, match: { text: "refund*" }, skill: echo, reply: none, approval: { title: "{text}" } }
  - { name: parts, match: { text: "broken*" }, skill: broken, retry: { attempts: 1 } }
  - { name: all, skill: echo, reply: none }
`
const STOCK = `let n = 0
export default { description: 'asks the warehouse', run() { if (n++ === 0) throw new Error('the warehouse is away') } }`
const BROKEN = `export default { description: 'breaks', run() { throw new Error('the box 5031 is broken') } }`

describe('navigation in the console by keyboard and on a phone', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: { stock: STOCK, broken: BROKEN } })
  const daemon = await site.start()
  await daemon.invoke('event-subscribe', { topic: 'orders', queue: 'analytics' })
  const { page, dialog, show } = await openConsole(() => daemon)
  const id = String(Object((await daemon.post('/hooks/shop', '{"text":"the blue book"}')).body).id)
  const input = page.getByRole('combobox', { name: /Go to a view/ })
  const open = async () => {
    await page.keyboard.press('Control+k')
    await input.waitFor()
  }
  const option = (name: string | RegExp) => dialog.getByRole('option', { name })

  test('Ctrl-K finds views, gateways, skills, conversations and messages, and starts searches', async () => {
    await open()
    assert.deepEqual(await faultsOf(page), [])
    await input.fill('appro')
    await option(/^Approvals/).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Approvals', level: 1 }).waitFor()
    for (const [words, name, heading] of [
      ['shop', /^shop.*gateway$/, /^shop/],
      ['message-search', /^message-search.*skill$/, /^message-search/],
      ['blue', /the blue book.*conversation$/, /in shop$/],
      [id, /message$/, /^the blue book/],
      [id.slice(0, 13), /message$/, /^the blue book/],
      [id.slice(-8), /message$/, /^the blue book/],
      ['budget', /^Cost.*view$/, 'Cost'],
      ['crm', /^crm.*push$/, /^crm/],
      ['analytics', /^analytics.*group$/, /^analytics/],
    ] as const) {
      await open()
      await input.fill(words)
      await option(name).click()
      await page.getByRole('heading', { name: heading, level: 1 }).waitFor()
    }
    await open()
    await input.fill('status:done blue')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/#/messages?search=status%3Adone+blue')
    await page.getByRole('listitem').filter({ hasText: 'the blue book' }).waitFor()
  })

  test('finds approvals, causes of dead letters, people and conversations, with the number that was searched for', async () => {
    const headers = { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' }
    const say = (message: object) =>
      fetch(`${daemon.control}/v1/messages`, {
        ...{ method: 'POST', headers },
        body: JSON.stringify({ gateway: 'shop', ...message }),
      })
    await say({ text: `${'a very long story '.repeat(8)} about order 4711`, from: 'h.olsen@mail.example' })
    await say({ text: 'level lvl-94711', from: 'warehouse' })
    await say({ text: `${'x'.repeat(150)}-8822`, from: 'ada' })
    await say({ text: 'refund 4711', from: 'ada' })
    await say({ text: 'broken 5031', from: 'ada' })
    const isAsked = async () => JSON.stringify(await daemon.invoke('approval-list', {})).includes('4711')
    const isDead = async () => JSON.stringify(await daemon.invoke('dead-letter-groups', {})).includes('5031')
    await until(async () => (await isAsked()) && (await isDead()), 'the approval and the dead letter')
    await show('now')
    await open()
    await input.fill('4711')
    await option(/refund.*4711.*approval$/i).waitFor()
    await option(/h\.olsen@mail\.example: .*4711.*conversation$/).waitFor()
    assert.equal(await option(/94711/).count(), 0)
    const found = await dialog.getByRole('option').allTextContents()
    const placeOf = (kind: string) => found.findIndex((each) => each.endsWith(kind))
    assert.ok(placeOf('approval') < placeOf('conversation'), 'what waits for a decision comes first')
    await input.fill('8822')
    await option(/^ada: … ?x+-8822.*conversation$/).waitFor()
    await input.fill('olsen')
    await option(/h\.olsen@mail\.example.*person$/).waitFor()
    await input.fill('dead parts')
    await option(/^parts: the box 5031.*dead letters$/).waitFor()
    await input.fill('hand back')
    await option(/^Hand back a conversation …/).waitFor()
    await input.fill('broken 5031')
    await option(/the box 5031 is broken.*dead letters$/).click()
    await page.getByRole('heading', { level: 1, name: /broken|Dead letters/ }).waitFor()
  })

  test('a job is found by the first or the last characters of its id', async () => {
    const letter = { do: 'drop', queue: 'dispatch', group: 'nothing' }
    const job = String(Object(Object(await daemon.invoke('dead-letter-bulk', letter)).job).id)
    const digits = job.replace('dead-letters-', '')
    await show('now')
    for (const part of [digits.slice(0, 8), digits.slice(-8)]) {
      await open()
      await input.fill(part)
      await option(/^Drop .*job$/).waitFor()
      await page.keyboard.press('Escape')
    }
    await open()
    await input.fill(digits.slice(0, 8))
    await option(/^Drop .*job$/).click()
    await page.waitForURL(`**/#/jobs/${job}`)
  })

  test('what can be done with the open message and with a push is found by its name', async () => {
    const { body } = await daemon.post('/hooks/shop', '{"text":"stock of product 1"}')
    await show(`messages/${Object(body).id}`)
    await page.getByRole('heading', { name: /retrying$/ }).waitFor()
    await open()
    await input.fill('retry')
    await option(/^Retry now.*this page$/).click()
    await page.getByText('The next attempt begins now.').waitFor()
    await open()
    await input.fill('pause crm')
    await option(/^Pause push crm/).click()
    await dialog.getByText('Pause: push crm?').waitFor()
    await dialog.getByRole('button', { name: 'until it is resumed' }).click()
    await page.getByText('crm is paused.').waitFor()
    await open()
    await input.fill('resume')
    await option(/^Resume push crm/).waitFor()
    await page.keyboard.press('Escape')
  })

  test('the actions of the open page come first, also those for selected rows', async () => {
    await show('dead-letters')
    const card = page.getByRole('listitem').filter({ hasText: 'the box 5031 is broken' })
    await card.waitFor()
    await open()
    await input.fill('drop')
    await option(/^Drop.*the box 5031 is broken.*this page$/).click()
    await dialog.getByRole('button', { name: /^Drop/ }).waitFor()
    await page.keyboard.press('Escape')
    await show('conversations?show=all')
    await page.getByRole('listitem').filter({ hasText: 'the blue book' }).waitFor()
    await open()
    await input.fill('take over')
    assert.equal(await option(/^Take over.*this page$/).count(), 0, 'the buttons of single rows')
    await page.keyboard.press('Escape')
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await open()
    await input.fill('take over')
    await option(/^Take over .*this page$/).waitFor()
    await page.keyboard.press('Escape')
  })

  test('finds problems by their words and names with one typing error, and lists pages that were left', async () => {
    await open()
    await input.fill('dead parts')
    await option(/^1 dead letter of parts.*problem$/).click()
    await page.getByRole('heading', { level: 1, name: /broken|Dead letters/ }).waitFor()
    await open()
    await input.fill('analyitcs')
    await option(/^analytics.*group$/).waitFor()
    await input.fill('shop')
    await option(/^shop.*gateway$/).click()
    await page.getByRole('heading', { level: 1, name: /^shop/ }).waitFor()
    await show('now')
    await page.getByRole('heading', { level: 1, name: 'Now' }).waitFor()
    await open()
    await option(/^shop.*recent$/).click()
    await page.getByRole('heading', { level: 1, name: /^shop/ }).waitFor()
  })

  test('the way to a problem comes before an act, and verbs with a name find what they are for', async () => {
    await show('now')
    await page.getByRole('button', { name: 'I have it' }).first().waitFor()
    await open()
    await input.fill('5031')
    await option(/^1 dead letter of parts.*problem$/).waitFor()
    const names = await dialog.getByRole('option').allTextContents()
    assert.match(names[0] ?? '', /^1 dead letter of parts/)
    assert.equal(names.filter((name) => name.startsWith('I have it')).length, 0)
    await input.fill('have 5031')
    await option(/^I have it: 1 dead letter of parts/).waitFor()
    await input.fill('message-')
    await option(/built-in skill$/)
      .first()
      .waitFor()
    const cut = await dialog
      .getByRole('option')
      .evaluateAll((rows) => rows.filter((row) => row.scrollWidth > row.clientWidth).length)
    assert.equal(cut, 0, 'no row is cut')
    for (const [words, name] of [
      ['replay analytics', /^Replay events to analytics/],
      ['erase olsen', /h\.olsen@mail\.example.*person$/],
      ['take over 4711', /h\.olsen@mail\.example: .*4711.*conversation$/],
      ['audit olsen', /^Search the audit log for “olsen”/],
    ] as const) {
      await input.fill(words)
      await option(name).waitFor()
    }
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Audit' }).waitFor()
  })

  test('a verb opens its question for what it is for, and comes before all else', async () => {
    const say = (message: object) =>
      fetch(`${daemon.control}/v1/messages`, {
        method: 'POST',
        headers: { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ gateway: 'desk', ...message }),
      })
    await say({ text: 'where is my parcel?', conversation: 'ines', from: 'ines' })
    await say({ text: 'refund 64', conversation: 'otto', from: 'otto' })
    const isAsked = async () =>
      JSON.stringify(await daemon.invoke('approval-list', { status: 'pending' })).includes('refund 64')
    await until(isAsked, 'the request')
    await show('now')
    const choose = async (words: string, name: RegExp) => {
      await open()
      await input.fill(words)
      await dialog.getByRole('option').first().filter({ hasText: name }).waitFor()
      await page.keyboard.press('Enter')
    }
    await choose('deny 64', /^Deny refund 64 …/)
    await dialog.getByRole('heading', { name: /^Deny: refund 64/ }).waitFor()
    await page.keyboard.press('Escape')
    await choose('take over ines', /^Take over ines: where is my parcel\? …/)
    await dialog.getByRole('heading', { name: 'Take over: ines?' }).waitFor()
    await page.keyboard.press('Control+Enter')
    await page.waitForURL('**/#/conversations/desk/ines')
    await page.getByText(/^ines: taken over until handed back\./).waitFor()
    await show('now')
    await choose('hand back ines', /^Hand back ines/)
    await dialog.getByRole('heading', { name: 'Hand ines back?' }).waitFor()
    await page.keyboard.press('Control+Enter')
    await page.getByText('ines is handed back.').waitFor()
    await choose('answer ines', /^Answer ines/)
    await until(() => page.evaluate(`document.activeElement?.localName === 'textarea'`), 'the field')
    await page.keyboard.press('Escape')
    await show('now')
    await choose('retry 5031', /^Retry ada: broken 5031 …/)
    await dialog.getByRole('heading', { name: 'Try this message again?' }).waitFor()
    await page.keyboard.press('Escape')
    await daemon.invoke('approval-decide', {
      id: await requestOf('refund 64'),
      approve: false,
      reason: 'late',
    })
    await open()
    await input.fill('64')
    await option(/^refund 64.*denied by .*\d\d:\d\d.*approval$/).waitFor()
    await page.keyboard.press('Escape')
  })

  const requestOf = async (title: string) =>
    String(
      Object([await daemon.invoke('approval-list', {})].flat().find((each) => Object(each).title === title))
        .id,
    )

  test('what is paused can only be resumed', async () => {
    await daemon.invoke('route-pause', { route: 'stock' })
    await show('now')
    const { promise: mayLoad, resolve: release } = Promise.withResolvers<void>()
    const end = await intercept(page, '**/v1/skills/pause-list', async (route) => {
      await mayLoad
      await route.continue()
    })
    await open()
    await input.fill('parts')
    await option(/^parts.*route/).waitFor()
    await input.fill('pause route')
    // While the pauses are still loading, nothing can be paused.
    await option(/^Search messages/).waitFor()
    assert.equal(await option(/^Pause route/).count(), 0)
    release()
    await end()
    await option(/^Pause route all/).waitFor()
    assert.equal(await option(/^Pause route stock/).count(), 0)
    await input.fill('resume')
    await option(/^Resume route stock/).waitFor()
    await page.keyboard.press('Escape')
    await daemon.invoke('route-resume', { route: 'stock' })
  })

  test('arrows select, Escape closes, and an action needs the same confirmation as its button', async () => {
    await open()
    await input.fill('reload')
    await option(/^Reload the configuration/).waitFor()
    for (const key of ['ArrowDown', 'ArrowUp']) await page.keyboard.press(key)
    await page.keyboard.press('Enter')
    await dialog.getByText('Reload the configuration and the skills?').waitFor()
    await dialog.getByRole('button', { name: 'Reload' }).click()
    await page.getByText('The configuration was reloaded.').waitFor()
    await open()
    await page.keyboard.press('Escape')
    await input.waitFor({ state: 'detached' })
    await page.keyboard.press('?')
    await dialog.getByText('find anything by name').waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await page.keyboard.press('Escape')
  })

  test('the help has the keys that have an effect on the page, and no others', async () => {
    for (const [view, has, lacks] of [
      ['messages', ['next row', 'opens the row', 'select the row', 'search'], ['back']],
      [`messages/${id}`, ['back', 'find anything by name'], ['select the row']],
      [
        'cost',
        ['find anything by name', 'confirms a dialog, sends an answer'],
        ['next row', 'opens the row', 'back'],
      ],
    ] as const) {
      await show(view)
      await page.getByRole('heading', { level: 1 }).waitFor()
      if (view === 'messages') await page.getByRole('listitem').filter({ hasText: 'the blue book' }).waitFor()
      await page.keyboard.press('?')
      for (const what of has) await dialog.getByText(what, { exact: true }).waitFor()
      for (const what of lacks)
        assert.equal(await dialog.getByText(what, { exact: true }).count(), 0, `${what} on ${view}`)
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
    }
  })

  test('fast keys are not lost while dialogs open and close', async () => {
    const line = await page.context().newCDPSession(page)
    await line.send('Emulation.setCPUThrottlingRate', { rate: 10 })
    const inTurn = (...keys: string[]) => Promise.all(keys.map((key) => page.keyboard.press(key)))
    const help = dialog.getByText('find anything by name')
    await open()
    await inTurn('Escape', '?')
    await help.waitFor()
    await inTurn('Escape', 'Control+k')
    await input.waitFor()
    await inTurn('Escape', '?', 'Escape', '?')
    await help.waitFor()
    await inTurn('Escape', 'Control+k')
    await inTurn(...'cost', 'Enter')
    await page.getByRole('heading', { name: 'Cost', level: 1 }).waitFor()
    await line.send('Emulation.setCPUThrottlingRate', { rate: 1 })
  })

  test('keys that are typed while the palette is still loading go into its field', async () => {
    const { promise: mayLoad, resolve: release } = Promise.withResolvers<void>()
    await intercept(page, '**/later-*.js', async (route) => {
      await mayLoad
      await route.continue()
    })
    await page.reload()
    await page.getByText('Live', { exact: true }).waitFor()
    for (const key of ['Control+k', 'a', 'u', 'x', 'Backspace', 'd', 'i']) await page.keyboard.press(key)
    await page.locator('.palette-loading').getByText('Loading …').waitFor()
    release()
    await input.waitFor()
    assert.equal(await input.inputValue(), 'audi')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Audit', level: 1 }).waitFor()
  })

  test('a phone has the status, the palette, the filters and the actions', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    await show('messages')
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Filter' }).click()
    for (const name of ['Gateway', 'Outcome', 'Time']) await page.getByRole('combobox', { name }).waitFor()
    const row = page.getByRole('listitem').filter({ hasText: 'the blue book' })
    await row.getByText('shop', { exact: true }).waitFor()
    await row.getByText('done').waitFor()
    await page.getByRole('button', { name: /^Go to/ }).click()
    await input.fill('configuration')
    assert.deepEqual(await faultsOf(page), [])
    await option(/^Configuration/).click()
    await page.getByRole('button', { name: 'Reload' }).waitFor()
    await show(`messages/${id}`)
    await page.getByText('More', { exact: true }).click()
    for (const name of ['Edit and send again …', 'Erase …'])
      await page.getByRole('button', { name }).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    assert.equal(await page.getByRole('button', { name: 'Sign out' }).isVisible(), false)
    await page.getByRole('button', { name: /^Messages/ }).click()
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    await page.getByRole('button', { name: /^Messages/ }).click()
  })

  test('before a text is typed, the first entry changes nothing', async () => {
    await show(`messages/${id}`)
    await page.getByRole('heading', { name: 'the blue book', level: 1 }).waitFor()
    await open()
    await dialog.getByRole('option').filter({ hasText: 'this page' }).first().waitFor()
    await dialog
      .getByRole('option')
      .first()
      .filter({ hasText: /recent|view/ })
      .waitFor({ timeout: 10_000 })
    await page.keyboard.press('Escape')
  })

  test('a person whose name begins with the word comes before one who has it inside', async () => {
    const say = (from: string) =>
      fetch(`${daemon.control}/v1/messages`, {
        method: 'POST',
        headers: { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ gateway: 'shop', text: 'thank you', from }),
      })
    await say('ian.fraser@mail.example')
    await say('luca.bianchi@mail.example')
    await open()
    await input.fill('erase ian')
    await option(/^Erase luca\.bianchi/).waitFor()
    await dialog
      .getByRole('option')
      .first()
      .filter({ hasText: 'Erase ian.fraser' })
      .waitFor({ timeout: 10_000 })
    await page.keyboard.press('Escape')
  })

  test('a phone shows the whole name of what is found, and its state below', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    await show('messages')
    await page.getByRole('button', { name: /^Go to/ }).click()
    await input.fill('configuration')
    const found = option(/^Configuration/)
    await found.waitFor()
    const parts = found.locator(':scope > span')
    const [name, state] = [parts.nth(0), parts.nth(1)]
    for (const part of [name, state])
      assert.ok(await part.evaluate((box) => box.scrollWidth <= box.clientWidth), 'nothing is cut')
    const [above, below] = [await name.boundingBox(), await state.boundingBox()]
    assert.ok(above && below && below.y >= above.y + above.height - 1, 'below the name')
    await page.keyboard.press('Escape')
  })

  test('a phone has all views in a menu, which closes after a choice', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    await show('messages')
    const menu = page.getByRole('button', { name: /^Messages/ })
    const jobs = page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Jobs' })
    await menu.waitFor()
    assert.equal(await jobs.isVisible(), false)
    await menu.click()
    assert.deepEqual(await faultsOf(page), [])
    await jobs.click()
    await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor()
    await jobs.waitFor({ state: 'hidden' })
  })
})
