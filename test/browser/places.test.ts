import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { goTo, openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  demo: { transport: webhook, path: /hooks/demo, verify: { scheme: none } }
routes:
  - { name: lost, match: { gateway: demo, text: /lost/ }, skill: fail, retry: { attempts: 1 } }
  - { name: all, match: { gateway: demo }, skill: echo }
`
/** Fails the first attempt on a text. */
const FAIL = `
const known = new Set()
export default { description: 'fails', run({ message }) {
  const { text } = message.data.body
  if (known.has(text)) return
  known.add(text)
  throw new Error('no such order: ' + text)
} }`
const MANY = 150

describe('navigation in the console', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: { fail: FAIL } })
  const daemon = await site.start()
  const post = (text: string) => daemon.post('/hooks/demo', JSON.stringify({ text }))
  await post('lost-16')
  for (let n = 0; n < MANY; n++) await post(`number ${n}.`)
  const { page } = await openConsole(() => daemon, { height: 700 })

  const list = page.locator('.list')
  const top = () => list.evaluate((element) => Object(element).scrollTop)
  const row = (text: string) => list.getByRole('listitem').filter({ hasText: text })
  const chosen = () => page.evaluate('document.activeElement.textContent')
  const isChosen = (text: string) =>
    until(async () => String(await chosen()).includes(text), `the row ${text}`)

  test('returns by Escape and the back button to the row and scroll position of a message', async () => {
    await goTo(page, `${daemon.control}/#/messages`)
    await row(`number ${MANY - 1}.`).waitFor()
    // 120 rows of 36 px: further down than one page of the list.
    const position = 120 * 36
    await until(async () => {
      await list.evaluate((element, y) => Object(element).scrollTo(0, y), position)
      return (await top()) === position
    }, 'a list of several pages')
    const before = await top()
    await row('number 25.').click()
    await page.getByRole('heading', { level: 1, name: 'number 25.' }).waitFor()
    await page.keyboard.press('Escape')
    await row('number 25.').waitFor()
    await isChosen('number 25.')
    assert.equal(await top(), before)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'number 25.' }).waitFor()
    await page.goBack()
    await isChosen('number 25.')
    assert.equal(await top(), before)
  })

  test('returns to the row also after its own address was opened once more, as by a bookmark', async () => {
    const before = await top()
    await goTo(page, `${daemon.control}/#/messages`)
    await row('number 24.').click()
    await page.getByRole('heading', { level: 1, name: 'number 24.' }).waitFor()
    await page.keyboard.press('Escape')
    await isChosen('number 24.')
    assert.equal(await top(), before)
    await row('number 25.').locator('a').focus()
  })

  test('opens the neighbours of a message by j and k, and returns by Escape to the last one', async () => {
    await page.keyboard.press('Enter')
    const text = page.locator('.gist')
    await text.getByText('number 25.').waitFor()
    await page.keyboard.press('j')
    await text.getByText('number 24.').waitFor()
    await page.keyboard.press('j')
    await text.getByText('number 23.').waitFor()
    await page.keyboard.press('k')
    await text.getByText('number 24.').waitFor()
    await page.getByRole('button', { name: 'Previous' }).click()
    await text.getByText('number 25.').waitFor()
    await page.keyboard.press('k')
    await text.getByText('number 26.').waitFor()
    await page.keyboard.press('Escape')
    await isChosen('number 26.')
  })

  test('keeps the scroll position when messages arrive while another view is open', async () => {
    const before = await top()
    await page.keyboard.press('Enter')
    await page.locator('.gist').getByText('number 26.').waitFor()
    await post('quite new')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: '1 new' }).waitFor()
    await isChosen('number 26.')
    assert.equal(await top(), before)
  })

  test('shows the outcome of an old message that changed while another view was open', async () => {
    await goTo(page, `${daemon.control}/#/messages?outcome=dead`)
    await row('lost-16').getByText('dead', { exact: true }).waitFor()
    await row('lost-16').click()
    await page.getByRole('heading', { level: 1, name: 'lost-16' }).waitFor()
    const [letter] = Object(await daemon.invoke('dead-letter-list', {}))
    await daemon.invoke('dead-letter-retry', { id: letter.id })
    await page.getByRole('heading', { level: 1 }).getByText('done').waitFor()
    await page.goBack()
    await row('lost-16').getByText('done', { exact: true }).waitFor()
  })

  test('returns from a dead letter to its group, and from there to the list of groups', async () => {
    for (const order of ['lost-17', 'lost-18', 'lost-19']) await post(order)
    await goTo(page, `${daemon.control}/#/dead-letters`)
    await page.getByRole('link', { name: 'lost', exact: true }).click()
    await row('lost-18').click()
    await page.getByRole('heading', { name: /lost-18/ }).waitFor()
    await page.keyboard.press('j')
    await page.getByRole('heading', { name: /lost-17/ }).waitFor()
    await page.keyboard.press('Escape')
    await isChosen('lost-17')
    await page.keyboard.press('Escape')
    await page.getByRole('heading', { name: 'Dead letters', exact: true }).waitFor()
    await until(async () => (await chosen()) === 'lost', 'the kind that was opened')
  })

  test('restores the scroll position of a long page, and opens a new page at its top', async () => {
    await page.setViewportSize({ width: 1200, height: 160 })
    await goTo(page, `${daemon.control}/#/gateways`)
    const scrolled = () => page.evaluate('document.getElementById("main").scrollTop')
    await page.getByRole('link', { name: 'demo', exact: true }).focus()
    await page.getByText('None since this daemon started.').waitFor()
    await page.evaluate('document.getElementById("main").scrollTo(0, 60)')
    const before = await scrolled()
    assert.ok(Number(before) > 0)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: /demo/ }).waitFor()
    assert.equal(await scrolled(), 0)
    await page.keyboard.press('Escape')
    await until(async () => (await scrolled()) === before, 'the place')
    await isChosen('demo')
    await page.setViewportSize({ width: 1200, height: 700 })
  })

  test('moves through short lists by j and k, too', async () => {
    await goTo(page, `${daemon.control}/#/skills`)
    await page.getByRole('link', { name: /^echo/ }).waitFor()
    const [first, second] = await page.locator('main [data-row]').allTextContents()
    await page.keyboard.press('j')
    assert.equal(await chosen(), first)
    await page.keyboard.press('j')
    assert.equal(await chosen(), second)
    await page.keyboard.press('k')
    assert.equal(await chosen(), first)
  })

  test('an address with another name of a view leads to the view, with the rest of the path', async () => {
    const cases = [
      ['groups', 'queues', 'Groups and queues'],
      ['pauses', 'paused', 'Paused'],
      ['Trouble', 'now', 'Now'],
      ['config', 'configuration', 'Configuration'],
      ['person', 'people', 'People'],
      ['conversation?show=all', 'conversations?show=all', 'Conversations'],
    ]
    for (const [address, path, title = ''] of cases) {
      await page.goto(`${daemon.control}/#/${address}`)
      await page.getByRole('heading', { name: title, exact: true, level: 1 }).waitFor()
      assert.equal(page.url(), `${daemon.control}/#/${path}`)
      assert.equal(await page.title(), `${title} · Trivium`)
    }
  })

  test('shows links for an address without a page', async () => {
    for (const address of ['mesages', 'now/and/then', 'cost/x']) {
      await page.goto(`${daemon.control}/#/${address}`)
      await page.getByRole('heading', { name: 'There is no such page' }).waitFor()
      assert.match(await page.title(), /No such page/)
    }
    await page.getByRole('main').getByRole('link', { name: 'Messages', exact: true }).click()
    await page.getByRole('heading', { name: 'Messages' }).waitFor()
  })
})
