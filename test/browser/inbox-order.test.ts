import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { IN_PROGRESS } from '../../src/lib/outcomes.ts'
import { faultsOf } from '../fixtures/axe.ts'
import { leaveLists, openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { intercept } from '../fixtures/intercept.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  chat: { transport: websocket, path: /chat }
routes:
  - { name: bots, match: { gateway: chat, text: "*hours*" }, skill: echo }
  - name: refunds
    match: { gateway: chat, text: "*money*" }
    skill: echo
    approval: { title: "Refund: {text}", timeout: 90m }
  - { name: notes, match: { gateway: chat }, skill: note }
`
const NOTE = `export default { description: 'notes', run: () => undefined }`

describe('the order and the rows of the list of conversations', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: { note: NOTE } })
  const daemon = await site.start()
  const { page, show, shots } = await openConsole(() => daemon)
  const rows = page.getByRole('list', { name: 'Conversations' }).getByRole('listitem')
  const texts = async () => (await rows.allTextContents()).map((text) => text.replaceAll(/\s+/g, ' '))
  const headers = { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' }
  const write = async (who: string, text: string) => {
    const body = JSON.stringify({ gateway: 'chat', from: who, conversation: who, text })
    await fetch(`${daemon.control}/v1/messages`, { method: 'POST', headers, body })
    // The order of the list depends on the time of the answer.
    const isAnswered = text.includes('hours')
    await until(async () => {
      const { outcome, waitingSince } = Object(await rowOf(who))
      return isAnswered ? outcome === 'done' && waitingSince === undefined : !isOpen(outcome)
    }, `the message of ${who}`)
  }
  const isOpen = (outcome: unknown) => [undefined, ...IN_PROGRESS].some((each) => each === outcome)
  const rowOf = async (conversation: string) =>
    Object(await daemon.invoke('conversation-list', { conversation })).conversations[0]
  const answer = async (who: string, text: string) =>
    daemon.invoke('gateway-send', { messageId: (await rowOf(who)).id, text, wait: 10_000 })
  const order = async () => (await texts()).map((text) => /ada|bob|cleo|dora/.exec(text)?.[0])

  test('paints once, in the final order: by the longest wait, then by the newest activity of either side', async () => {
    await write('ada', 'Where is my parcel?')
    await write('bob', 'What are your hours?')
    await write('cleo', 'What are your hours today?')
    await write('dora', 'Is it lost?')
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const restore = await intercept(page, '**/v1/skills/conversation-list', async (route) => {
      if (route.request().postDataJSON().unanswered) await held
      await route.continue()
    })
    const listed = page.waitForResponse((response) => response.url().endsWith('/v1/skills/conversation-list'))
    await show('conversations')
    await listed
    await page.waitForTimeout(300)
    assert.equal(await rows.count(), 0)
    release()
    await rows.first().waitFor()
    assert.deepEqual(await order(), ['ada', 'dora', 'cleo', 'bob'])
    await restore()
    assert.equal(await page.getByText('4 conversations', { exact: true }).count(), 1)
    const heads = page.locator('.row-head')
    assert.deepEqual(await heads.allTextContents(), [
      '2 for a person · oldest first',
      'answered or settled · newest first',
    ])
    // The button of a row does not cover its text.
    await rows.nth(2).hover()
    const said = Object(await rows.nth(2).locator('.said > :last-child').boundingBox())
    const button = Object(
      await rows
        .nth(2)
        .getByRole('button', { name: /^Take over/ })
        .boundingBox(),
    )
    assert.ok(said.x + said.width <= button.x, `${said.x + said.width} to ${button.x}`)
    await leaveLists(page)
    // Bob has an answer that is newer than the message of Cleo.
    await answer('bob', 'And on Sundays from 10.')
    await until(async () => (await order()).join() === 'ada,dora,bob,cleo', 'the new order')
  })

  test('keeps the order while the list is in use, and updates rows in their places', async () => {
    await rows.nth(1).hover()
    await answer('ada', 'It is on its way.')
    await rows.first().getByText('It is on its way.').waitFor()
    await page.getByRole('button', { name: 'Unanswered 1' }).waitFor()
    assert.deepEqual(await order(), ['ada', 'dora', 'bob', 'cleo'])
    assert.equal(await rows.first().getByText('waits').count(), 0)
    // After reading one of them, the order is still that one, also if the rows come meanwhile.
    const read = Promise.withResolvers<void>()
    let requests = 0
    const restore = await intercept(page, '**/v1/skills/conversation-list', async (route) => {
      // The list asks for those who wait, and for all.
      if (requests++ < 2) await read.promise
      await route.continue()
    })
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    // On a slow machine, a third request may have begun.
    await until(() => requests >= 2, 'the rows are read again')
    await rows.nth(1).getByRole('link').click()
    await page.getByText('1 of 1 for a person').waitFor()
    const answered = page.waitForResponse((response) =>
      response.url().endsWith('/v1/skills/conversation-list'),
    )
    read.resolve()
    await (await answered).finished()
    await restore()
    await page.locator('.ways').getByRole('link').first().click()
    await rows.first().waitFor()
    assert.deepEqual(await order(), ['ada', 'dora', 'bob', 'cleo'])
    await page.getByRole('button', { name: 'Changed · refresh' }).click()
    await until(async () => (await order()).join() === 'dora,ada,bob,cleo', 'the new order')
  })

  test('rows have the question, then the answer, and one age', async () => {
    await leaveLists(page)
    await page.setViewportSize({ width: 1440, height: 900 })
    const [, ada = ''] = await texts()
    assert.match(ada, /^chatadaWhere is my parcel\?.*: It is on its way\./)
    for (const row of await rows.all()) assert.equal(await row.locator('time').count(), 1)
    await write('ingvild.koval@mail.example', 'I want my money back.')
    const asking = rows.filter({ hasText: 'I want my money back.' })
    await asking.waitFor()
    const sender = asking.locator('.sender')
    assert.equal(await sender.evaluate(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth), false)
    for (const width of [1440, 1200, 390]) {
      await page.setViewportSize({ width, height: 844 })
      for (const text of ['approval', /^waits \d+/]) {
        const badge = asking.getByText(text, { exact: typeof text === 'string' })
        const box = Object(await badge.boundingBox())
        assert.ok(box.width > 30 && box.x + box.width <= width, `${text} is visible, ${width} px wide`)
      }
    }
    assert.deepEqual(await faultsOf(page), [])
  })

  test('an answered message that still waits for its skill says so', async () => {
    await write('petra', 'Good morning')
    await daemon.invoke('conversation-pause', {
      gateway: 'chat',
      conversation: 'petra',
      reason: 'I call her',
    })
    const body = JSON.stringify({
      gateway: 'chat',
      from: 'petra',
      conversation: 'petra',
      text: 'Any hours left?',
    })
    await fetch(`${daemon.control}/v1/messages`, { method: 'POST', headers, body })
    const held = rows.filter({ hasText: 'Any hours left?' })
    await held.getByText(/^waits \d+/).waitFor()
    assert.equal(await held.getByText('message held').count(), 0)
    await answer('petra', 'I call you.')
    await held.getByText('message held').waitFor()
    const conversation = await page.context().newPage()
    await conversation.goto(`${daemon.control}/#/conversations/chat/petra`)
    const asked = conversation.locator('.chat .sender').filter({ hasText: 'Any hours left?' })
    await asked.getByText('message held', { exact: true }).waitFor()
    assert.equal(await asked.getByText('waiting', { exact: true }).count(), 0)
    await conversation
      .getByText(/^Answered by .* ago, on .*\. The message is held: no skill has run for it\.$/)
      .waitFor()
    await conversation.getByText('1 message is held.').waitFor()
    await conversation.close()
    await held.getByText('has it').waitFor()
    assert.equal(await held.getByText(/^waits/).count(), 0)
  })

  test('loads further pages until one has rows, as each covers only a part of the journal', async () => {
    const restore = await intercept(page, '**/v1/skills/conversation-list', async (route) => {
      const { unanswered, before, ...args } = route.request().postDataJSON()
      if (unanswered) return route.fulfill({ json: { result: { conversations: [] } } })
      // Two pages without rows come first.
      const next = { undefined: 'first', first: 'second' }[String(before)]
      if (next) return route.fulfill({ json: { result: { conversations: [], next } } })
      return route.continue({ postData: JSON.stringify(args) })
    })
    await show('conversations?show=all')
    await rows.filter({ hasText: 'And on Sundays from 10.' }).waitFor()
    await restore()
  })

  test('while others are shown, the conversations of people are read only if one was taken over', async () => {
    const read: unknown[] = []
    page.on('request', (request) => {
      if (request.url().endsWith('/v1/skills/conversation-list')) read.push(request.postDataJSON())
    })
    const ofPeople = () => read.filter((args) => Object(args).conversation !== undefined).length
    await show('conversations?show=unanswered')
    await page.getByRole('button', { name: 'Taken over 1' }).waitFor()
    const before = ofPeople()
    const all = read.length
    // When the second one is shown, what the first one led to has been read.
    for (const text of ['Is anybody there?', 'Nobody?']) {
      await write('eve', text)
      await rows.filter({ hasText: text }).waitFor()
    }
    assert.ok(read.length > all)
    assert.equal(ofPeople(), before)
  })

  test('says how many wait, or that there may be others, if the search ended early', async () => {
    const restore = await intercept(page, '**/v1/skills/conversation-list', async (route) => {
      const args = route.request().postDataJSON()
      if (!args.unanswered) return route.continue()
      const response = await route.fetch()
      const { result } = await response.json()
      await route.fulfill({ json: { result: { ...result, next: 'later' } } })
    })
    await show('conversations?show=undelivered')
    await page.locator('footer').getByText('None among the newest messages.').waitFor()
    await page.getByRole('button', { name: 'Unanswered' }).click()
    await page
      .locator('footer')
      .getByText(/^\d+\+ conversations$/)
      .waitFor()
    await restore()
  })

  test('on a phone, the tabs are one line, and gateway and time are folded', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    await show('conversations')
    await rows.filter({ hasText: 'Where is my parcel?' }).waitFor()
    const list = page.getByRole('list', { name: 'Conversations' })
    assert.ok(Object(await list.boundingBox()).y < 190)
    const filter = page.getByRole('button', { name: 'Filter', exact: true })
    assert.equal(await page.getByLabel('Gateway').count(), 0)
    await filter.click()
    await page.getByLabel('Gateway').selectOption('chat')
    await page.getByRole('button', { name: 'Filter 1' }).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('inbox-phone')
    await page.getByLabel('Gateway').selectOption('')
    await rows.first().waitFor()
    await page.getByLabel('Search in what they wrote').fill('-gateway:chat')
    await page.getByText('Nothing matches.').waitFor()
    await page.getByLabel('Search in what they wrote').fill('parcel zebra')
    await page.getByText('No message matches zebra.').waitFor()
  })

  test('those who wait for a person come before those who wait for something else, and lead to the next', async () => {
    await page.setViewportSize({ width: 1440, height: 900 })
    const body = JSON.stringify({
      gateway: 'chat',
      from: 'gil',
      conversation: 'gil',
      text: 'I want my money.',
    })
    await fetch(`${daemon.control}/v1/messages`, { method: 'POST', headers, body })
    await until(async () => (await rowOf('gil')).outcome === 'approval', 'the request of gil')
    await write('hana', 'Can somebody call me?')
    await show('conversations')
    const heads = page.locator('.row-head')
    await heads.getByText(/^\d+ more waiting · oldest first$/).waitFor()
    assert.match((await heads.allTextContents())[0] ?? '', /^\d+ for a person · oldest first$/)
    // Hana wrote last.
    assert.match((await texts()).join(), /dora.*hana.*gil/)
    await rows.filter({ hasText: 'dora' }).getByRole('link').click()
    await page.getByText(/^\d of \d for a person$/).waitFor()
    await page.getByRole('button', { name: /^Next who waits: / }).waitFor()
    for (const size of [
      { width: 390, height: 844 },
      { width: 1440, height: 900 },
    ]) {
      await page.setViewportSize(size)
      await untilPlaced(page)
    }
    await page.getByRole('textbox', { name: 'Answer dora by hand' }).fill('It is not lost.')
    await page.keyboard.press('Control+Enter')
    await page.locator('.next-waiting.primary').waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('next-who-waits')
    const next = await page.locator('.next-waiting .whom').textContent()
    await page.keyboard.press('w')
    await page.getByRole('heading', { name: new RegExp(`^${next}`), level: 1 }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('heading', { name: 'Conversations', level: 1 }).waitFor()
  })

  test('`w` leads through all who wait for a person, longest first, and from the last to the first', async () => {
    for (const who of ['ivo', 'juno', 'kira']) await write(who, 'Is anybody there?')
    const args = { forPerson: true, answerable: true, limit: 50 }
    const { conversations } = Object(await daemon.invoke('conversation-list', args))
    const names = conversations
      .filter(({ waitingSince }: { waitingSince?: number }) => waitingSince !== undefined)
      .toSorted((a: { waitingSince: number }, b: { waitingSince: number }) => a.waitingSince - b.waitingSince)
      .map(({ conversation }: { conversation: string }) => conversation)
    assert.ok(names.length >= 4, String(names))
    const title = (name: string) =>
      page.getByRole('heading', { name: new RegExp(`^${name}`), level: 1 }).waitFor({ timeout: 20_000 })
    await show(`conversations/chat/${names[0]}`)
    await title(names[0])
    for (const name of [...names.slice(1), names[0]]) {
      await page.locator('.next-waiting .whom', { hasText: name }).waitFor({ timeout: 20_000 })
      await page.keyboard.press('w')
      await title(name)
    }
  })
})

/** Waits until the text of the next conversation is in the middle of its button, and no button covers another. */
async function untilPlaced(page: Page) {
  const box = async (selector: string) => Object(await page.locator(selector).first().boundingBox())
  await until(async () => {
    const [next, whom] = [await box('.next-waiting'), await box('.next-waiting .whom')]
    const [copy, others] = [await box('.conversation-id button'), await box('main header .buttons')]
    const isCentred = Math.abs(next.y + next.height / 2 - whom.y - whom.height / 2) < 3
    return isCentred && (copy.x + copy.width <= others.x || copy.y + copy.height <= others.y)
  }, 'buttons that do not overlap, with their text in the middle')
}
