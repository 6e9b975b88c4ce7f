import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SEARCH_KEYS } from '../../src/core/search-words.ts'
import { faultsOf } from '../fixtures/axe.ts'
import { goTo, openConsole, untilCopied } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /hooks/shop, verify: { scheme: none } }
  bank: { transport: webhook, path: /hooks/bank, verify: { scheme: none } }
routes:
  - { name: lost, match: { text: "*lost*" }, skill: fail, retry: { attempts: 1 } }
  - { name: all, skill: echo }
`
/** The messages with the word blue, newest first. */
const BLUE = ['blue pen', 'more blue money', 'blue money', 'card is lost', 'blue book']
const FAIL = `export default { description: 'fails', run() { throw new Error('no') } }`

describe('searching in the console', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: { fail: FAIL } })
  const daemon = await site.start()
  const post = (gateway: string, text: string) => daemon.post(`/hooks/${gateway}`, JSON.stringify({ text }))
  await post('shop', 'the blue book')
  await post('shop', 'a blue card is lost')
  await post('bank', 'blue money')
  const { page, show } = await openConsole(() => daemon, { height: 800 })

  const box = page.getByLabel('Search messages')
  const rows = page.getByRole('list', { name: 'Messages' }).getByRole('listitem')
  const shows = (...texts: string[]) =>
    until(
      async () => {
        const found = await rows.allTextContents()
        return found.length === texts.length && texts.every((text, at) => found[at]?.includes(text))
      },
      `the rows ${texts.join(', ')}`,
    )

  test('filters the list and new messages by words, status: and gateway:; the address has the search', async () => {
    await goTo(page, `${daemon.control}/#/messages`)
    await shows('blue money', 'card is lost', 'blue book')
    await box.fill('blue gateway:shop')
    await shows('card is lost', 'blue book')
    await post('bank', 'more blue money')
    await post('shop', 'a blue pen')
    await page
      .getByRole('button', { name: '1 new' })
      .or(rows.filter({ hasText: 'a blue pen' }))
      .first()
      .waitFor()
    await box.fill('route:lost')
    await shows('card is lost')
    await box.fill('route:all green')
    await page.getByText('Nothing matches.').waitFor()
    await post('shop', 'a green pen')
    await shows('a green pen')
    await box.fill('blue status:dead')
    await shows('card is lost')
    await page.waitForURL('**/#/messages?search=blue+status%3Adead')
    await page.reload()
    await shows('card is lost')
    await box.fill('"blue card" after:2h')
    await shows('card is lost')
    await box.fill('before:2h')
    await page.getByText('Nothing matches.').waitFor()
  })

  test('says without which part of the filter there are messages, and leads there', async () => {
    await show('messages?search=blue status:done before:2h&gateway=shop')
    await page.getByText(/^There are messages at any time\.$/).waitFor()
    await page.getByRole('link', { name: 'at any time' }).click()
    await shows('blue pen', 'blue book')
    await show('messages?search=status:dropped&gateway=shop&since=1h')
    await page.getByText(/^There are messages without status:dropped\.$/).waitFor()
    await show('messages')
  })

  test('says that a gateway in the search does not exist, and suggests the nearest', async () => {
    await box.fill('blue gateway:shp')
    await page.getByText('There is no gateway shp. Did you mean shop?').waitFor()
    await page.getByRole('link', { name: 'shop', exact: true }).click()
    await shows('blue pen', 'card is lost', 'blue book')
    await page.waitForURL('**/#/messages?search=blue+gateway%3Ashop')
    await box.fill('blue -gateway:shop -status:dead')
    await shows('more blue money', 'blue money')
  })

  test('a range of times shows its ends and the times of the rows completely, and says if it is empty', async () => {
    await page.setViewportSize({ width: 1440, height: 800 })
    const time = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString().slice(0, 19)
    await page.goto(`${daemon.control}/#/messages?since=${time(-1)}Z&until=${time(1)}Z`)
    await rows.first().waitFor()
    // Yesterday, the rows have a date too.
    const age = rows.first().locator('.age')
    await age.evaluate((each) => {
      each.textContent = '28 Nov 23:59'
    })
    assert.ok(await age.evaluate((each) => each.scrollWidth <= each.clientWidth), 'the time is cut off')
    const from = page.getByLabel('From', { exact: true })
    assert.ok(await from.evaluate((each) => each.scrollWidth <= each.clientWidth), 'the time is cut off')
    const top = async (name: string) =>
      Math.round(Number((await page.getByText(name, { exact: true }).boundingBox())?.y))
    assert.equal(await top('Copy link'), await top('Clear'))
    await page.goto(`${daemon.control}/#/messages?since=${time(2)}Z&until=${time(3)}Z`)
    await page.getByText(/^“.*” is in the future\.$/).waitFor()
    await page.goto(`${daemon.control}/#/messages?since=${time(-2)}Z&until=${time(-3)}Z`)
    await page.getByText('Until is not after From.').waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await page.goto(`${daemon.control}/#/messages`)
  })

  test('finds words in senders, and marks what it found, also where a row would not show it', async () => {
    const headers = { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' }
    const say = (text: string, from: string) =>
      fetch(`${daemon.control}/v1/messages`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ gateway: 'shop', text, from }),
      })
    await say('where is my parcel?', 'halldis.olsen@mail.example')
    await say(`${'a long text '.repeat(30)} about 5031 and more`, 'ada')
    await say('level 65031', 'ada')
    await box.fill('olsen parcel')
    await shows('where is my parcel?')
    await until(
      async () => (await rows.locator('mark').allTextContents()).join() === 'olsen,parcel',
      'both marks',
    )
    await box.fill('5031')
    await shows('about 5031 and more')
    await until(async () => (await rows.locator('mark').allTextContents()).join() === '5031', 'the mark')
    await say('the order of a guest', 'leïla.kéli@mail.example')
    for (const words of ['leila order', 'from:LEILA', 'LEÏLA']) {
      await box.fill(words)
      await shows('the order of a guest')
    }
    const marks = async () => (await rows.locator('mark').allTextContents()).join()
    await until(async () => (await marks()) === 'leïla', 'the mark on the name as it is written')
    await box.fill('503')
    await page.getByRole('link', { name: '"503"' }).click()
    await shows('level 65031', 'a long text')
    await goTo(page, `${daemon.control}/#/conversations?show=all&search=olsen`)
    await page.getByRole('list', { name: 'Conversations' }).locator('mark', { hasText: 'olsen' }).waitFor()
    await goTo(page, `${daemon.control}/#/messages`)
  })

  test('explains an unknown key and suggests the nearest', async () => {
    await box.fill('stauts:dead')
    await page.getByRole('alert').getByText('stauts: is not a known key; did you mean status:?').waitFor()
    await page.getByRole('button', { name: 'Help with search words' }).click()
    await page
      .getByText(
        'in the subject, the text (for most webhooks the body), the sender or the event, each of them',
      )
      .waitFor()
    const words = (await page.getByRole('dialog').locator('dt').allTextContents()).join(' ')
    await page.getByRole('dialog').getByText('after:"yesterday 14:00"').waitFor()
    for (const key of Object.keys(SEARCH_KEYS)) assert.match(words, new RegExp(`\\b${key}:`))
    assert.deepEqual(await faultsOf(page), [])
    await page.keyboard.press('Escape')
    await box.fill('status:dead')
    await shows('card is lost')
    assert.equal(await page.getByRole('alert').filter({ hasText: 'is not a known key' }).count(), 0)
  })

  test('suggests keys and their values while one types, in messages, conversations and dead letters', async () => {
    const options = page.getByRole('listbox', { name: 'Suggestions' }).getByRole('option')
    for (const [view, label] of [
      ['messages', 'Search messages'],
      ['conversations', 'Search in what they wrote'],
    ] as const) {
      await goTo(page, `${daemon.control}/#/${view}`)
      const field = page.getByLabel(label)
      await until(async () => (await field.inputValue()) === '', 'the empty field')
      await field.fill('blue gate')
      await options.filter({ hasText: 'gateway:' }).click()
      await options.filter({ hasText: 'bank' }).click()
      await page.waitForURL(/search=blue\+gateway%3Abank/)
    }
    await goTo(page, `${daemon.control}/#/dead-letters`)
    const field = page.getByLabel('Search dead letters')
    await field.fill('route:')
    // The routes are read when the field gets the focus.
    await until(
      async () => (await options.allTextContents()).join() === 'lost',
      'the routes of the dead letters',
    )
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForURL(/dead-letters\?group=lost/)
    await field.fill('code:skill_failed no such thing')
    await page.getByText('Nothing matches.').waitFor()
    await field.fill('')
    await page.waitForURL(/dead-letters$/)
    await goTo(page, `${daemon.control}/#/messages`)
  })

  test('suggests the values of a key as soon as it is chosen', async () => {
    const options = page.getByRole('listbox', { name: 'Suggestions' }).getByRole('option')
    await goTo(page, `${daemon.control}/#/messages`)
    await until(async () => (await box.inputValue()) === '', 'the empty field')
    await box.fill('blue sta')
    await options.filter({ hasText: 'status:' }).waitFor()
    // Two frames later, without any other change of the page.
    const next = await page.evaluate(`new Promise((resolve) => {
      const list = document.querySelector('[role=listbox][aria-label=Suggestions]')
      list.querySelector('[role=option]').click()
      requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => resolve(list.textContent))))
    })`)
    assert.match(String(next), /waiting.*dead/)
    await box.fill('')
  })

  test('shows a histogram of the results, whose bars narrow the list to a time; the back button undoes that', async () => {
    await box.fill('blue')
    const histogram = page.getByRole('slider', { name: /Messages over time/ })
    // Leaving the field starts the search immediately.
    await histogram.focus()
    await page.waitForURL('**/#/messages?search=blue')
    const isCounted = async () => (await histogram.getAttribute('aria-busy')) === 'false'
    // The search begins a little after the address has changed.
    await shows(...BLUE)
    await until(isCounted, 'counts of this search')
    await until(async () => (await histogram.locator('.bar-of').count()) > 0, 'a bar')
    await page.keyboard.press('End')
    const valueText = async () => (await histogram.getAttribute('aria-valuetext')) ?? ''
    await until(async () => {
      if (!/: 0 messages/.test(await valueText())) return true
      await page.keyboard.press('ArrowLeft')
      return false
    }, 'a span with messages')
    await page.keyboard.press('Enter')
    await page.waitForURL(/search=blue.*since=.*until=/)
    // The spans of the bars move with the time, so the selected one is read from the address.
    const selected = async () => {
      const { since, until: end } = Object.fromEntries(new URLSearchParams(page.url().split('?')[1]))
      return Object(await daemon.invoke('message-histogram', { text: 'blue', since, until: end })).total
    }
    const inBar = await selected()
    assert.ok(inBar > 0)
    const { since = '', until: end = '' } = Object.fromEntries(new URLSearchParams(page.url().split('?')[1]))
    const { width } = Object(await daemon.invoke('message-histogram', { text: 'blue' }))
    assert.ok(Date.parse(end) - Date.parse(since) <= 2 * width, `${since} to ${end} is one bar`)
    await until(async () => (await rows.count()) === inBar, `${inBar} messages`)
    await page.getByLabel('From', { exact: true }).waitFor()
    await page.goBack()
    await page.waitForURL('**/#/messages?search=blue')
    await shows(...BLUE)
    await until(isCounted, 'counts of the whole time')
    const place = await histogram.boundingBox()
    assert.ok(place)
    await page.mouse.move(place.x + 2, place.y + 10)
    await histogram.getByText(/ · click, or drag over several$/).waitFor()
    await page.mouse.down()
    await page.mouse.move(place.x + place.width - 2, place.y + 10, { steps: 5 })
    await histogram.getByText(/ to .+: \d+ messages$/).waitFor()
    await page.mouse.up()
    await page.waitForURL(/since=.*until=/)
    const inDrag = await selected()
    assert.ok(inDrag >= 4, 'most of the five messages')
    await until(async () => (await rows.count()) === inDrag, `${inDrag} messages`)
  })

  test('keeps words that are typed as soon as another search is shown', async () => {
    await goTo(page, `${daemon.control}/#/messages?search=card`)
    await shows('card is lost')
    // In the task in which the place is shown, as on a slow machine.
    await page.evaluate(`new Promise((resolve) => {
      const type = () => {
        const box = document.querySelector('[aria-label="Search messages"]')
        box.value = 'blue'
        box.dispatchEvent(new Event('input', { bubbles: true }))
        resolve()
      }
      addEventListener('hashchange', type, { once: true })
      location.hash = '#/messages'
    })`)
    await shows(...BLUE)
    assert.equal(await box.inputValue(), 'blue')
  })

  test('keeps both the typed words and a time that is chosen before the search has started', async () => {
    await goTo(page, `${daemon.control}/#/messages`)
    await box.fill('blue')
    await page.getByRole('combobox', { name: 'Time' }).selectOption('last hour')
    await page.waitForURL((url) => url.hash.includes('search=blue') && url.hash.includes('since=1h'))
    await shows(...BLUE)
  })

  test('has a time range in the address for messages, dead letters, conversations and the audit log', async () => {
    for (const view of ['messages', 'dead-letters', 'conversations', 'audit']) {
      await goTo(page, `${daemon.control}/#/${view}`)
      await page.getByRole('combobox', { name: 'Time' }).selectOption('last hour')
      await page.waitForURL(`**/#/${view}?since=1h`)
      await page.getByRole('combobox', { name: 'Time' }).selectOption('custom …')
      await page.getByLabel('From', { exact: true }).fill('2019-12-31 00:00')
      await page.getByLabel('Until', { exact: true }).fill('2020-01-01 00:00')
      await page.keyboard.press('Tab')
      // The zone of the browser may change the day.
      await page.waitForURL(/until=20/)
      await page.getByText(/Nothing matches\.|No entr(ies|y matches)\./).waitFor()
    }
  })

  test('a time is picked in the calendar of the browser', async () => {
    await goTo(page, `${daemon.control}/#/messages`)
    await page.getByRole('combobox', { name: 'Time' }).selectOption('custom …')
    await page.getByRole('button', { name: 'Calendar for From' }).click()
    assert.deepEqual(await faultsOf(page), [])
    // What the calendar of the browser does.
    await page
      .locator('.calendar input')
      .first()
      .evaluate((field) => {
        Object.assign(field, { value: '2020-01-01T10:30' })
        field.dispatchEvent(new Event('change', { bubbles: true }))
      })
    await page.waitForURL(/since=20/)
    await until(
      async () => (await page.getByLabel('From', { exact: true }).inputValue()) === '2020-01-01 10:30',
      'the time in words',
    )
  })

  test('of conversations shows its gateway and its time in the menus, which replace them', async () => {
    const words = encodeURIComponent('blue gateway:bank after:"today 0-23"')
    await goTo(page, `${daemon.control}/#/conversations?search=${words}`)
    const gateway = page.getByRole('combobox', { name: 'Gateway' })
    const time = page.getByRole('combobox', { name: 'Time' })
    await until(async () => (await gateway.inputValue()) === 'bank', 'the gateway of the search')
    assert.equal(await time.inputValue(), 'today 0-23')
    await gateway.selectOption('shop')
    await time.selectOption('last hour')
    await page.waitForURL((url) => /search=blue(&|$)/.test(url.hash) && /gateway=shop/.test(url.hash))
    await until(async () => (await time.inputValue()) === '1h', 'the last hour')
    const save = page.getByRole('button', { name: 'Save view' })
    await save.waitFor()
    // A tab alone is no view.
    await goTo(page, `${daemon.control}/#/conversations?show=all`)
    await save.waitFor({ state: 'detached' })
  })

  test('can be saved for everybody, opened elsewhere, copied as a link and removed', async () => {
    await goTo(page, `${daemon.control}/#/messages?search=status%3Adead`)
    await page.getByRole('button', { name: 'Save view' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('Lost ones')
    assert.deepEqual(await faultsOf(page), [])
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByText('The view “Lost ones” is saved for everybody.').waitFor()
    // Another browser, and the command line.
    const { page: other } = await openConsole(() => daemon)
    await goTo(other, `${daemon.control}/#/messages`)
    await other.getByRole('link', { name: 'Lost ones' }).click()
    await other.getByText('card is lost').first().waitFor()
    const { out } = await site.run(['message', 'list', '--view', 'Lost ones'])
    assert.match(out, /a blue card is lost/)
    assert.doesNotMatch(out, /blue book/)
    const unknown = await site.run(['message', 'list', '--view', 'Lost one'])
    assert.match(unknown.err, /no view "Lost one" of messages\. Did you mean Lost ones\?/)

    await goTo(page, `${daemon.control}/#/messages?search=status%3Adead`)
    await page.getByRole('button', { name: 'Copy link' }).click()
    await untilCopied(page, `${daemon.control}/#/messages?search=status%3Adead`)
    await goTo(page, `${daemon.control}/#/audit`)
    await page.keyboard.press('Control+k')
    await page.keyboard.type('lost ones')
    await page.getByRole('option', { name: /^Lost ones Messages saved view/ }).click()
    await page.waitForURL(/#\/messages\?search=status%3Adead$/)
    await page.getByRole('button', { name: 'Remove “Lost ones” …' }).click()
    await page
      .getByRole('dialog')
      .getByText(/^Saved by .+ ago\.$/)
      .waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('link', { name: 'Lost ones' }).waitFor({ state: 'detached' })
    const audited = (await site.run(['audit', 'list'])).out
    assert.match(audited, /view-save\s.*Lost ones/)
    assert.match(audited, /view-delete\s.*Lost ones/)
  })

  test('takes the views of the browser along when one is saved for everybody', async () => {
    const old = [{ of: 'messages', name: 'Of this browser', query: { search: 'blue' } }]
    await page.evaluate((views) => localStorage.setItem('trivium-views', JSON.stringify(views)), old)
    await goTo(page, `${daemon.control}/#/messages?search=card`)
    await page.reload()
    await page.getByRole('link', { name: 'Of this browser' }).waitFor()
    await page.getByRole('button', { name: 'Save view' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('Cards')
    await page.getByRole('dialog').getByLabel('also 1 view of this browser').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByText('The view “Cards” is saved for everybody.').waitFor()
    const { views } = Object(await daemon.invoke('view-list', {}))
    const names = views.map(({ list, name }: Record<string, unknown>) => `${list}/${name}`)
    assert.deepEqual(names, ['messages/Cards', 'messages/Of this browser'])
    assert.equal(await page.evaluate(() => localStorage.getItem('trivium-views')), '[]')
    await daemon.invoke('view-delete', { list: 'messages', name: 'Cards' })
    await daemon.invoke('view-delete', { list: 'messages', name: 'Of this browser' })
  })

  test('works with the same words on the command line', async () => {
    const { out } = await site.run(['message', 'list', '--search', 'status:dead "blue card"'])
    assert.match(out, /a blue card is lost/)
    assert.doesNotMatch(out, /blue book/)
    const { err, code } = await site.run(['message', 'list', '--search', 'form:ada'])
    assert.match(err, /form: is not a known key; did you mean from:\?/)
    assert.notEqual(code, 0)
  })

  test('an address, or a part of it, also finds its sender', async () => {
    const headers = { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ gateway: 'cli', text: 'stove is cold', from: 'h.olsen@example.com' })
    await fetch(`${daemon.control}/v1/messages`, { method: 'POST', headers, body })
    await goTo(page, `${daemon.control}/#/messages`)
    await box.fill('H.Olsen@example')
    await shows('stove is cold')
    await box.fill('h.olsen cold')
    await shows('stove is cold')
  })
})
