import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { leaveLists, openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { intercept } from '../fixtures/intercept.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /hooks/shop, verify: { scheme: none } }
routes: []
`

describe('the list of messages', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: ROUTES })
  const daemon = await site.start()
  const { page, show } = await openConsole(() => daemon)
  const post = (text: string) => daemon.post('/hooks/shop', JSON.stringify({ text }))
  const rows = page.getByRole('list', { name: 'Messages' }).getByRole('listitem')

  test('catches up with messages before its stream, also if the stream sends newer ones meanwhile', async () => {
    for (const text of ['one', 'two', 'three', 'four']) await post(text)
    let searches = 0
    const restore = await intercept(page, '**/v1/skills/message-search', async (route) => {
      searches++
      const response = await route.fetch()
      const json = await response.json()
      // As if the last three had arrived after the first page was read, and before the stream
      // began.
      if (searches === 1) json.result.messages = json.result.messages.slice(3)
      else if (searches === 2) {
        await post('five')
        const five = rows.filter({ hasText: 'five' }).first()
        // If the list reads its first page twice, its stream has not begun: it would wait in vain.
        await five.waitFor({ timeout: 10_000 }).catch(() => {})
      }
      await route.fulfill({ response, json })
    })
    await leaveLists(page)
    await show('messages')
    await until(async () => (await rows.count()) === 5, 'all messages')
    const texts = await rows.allTextContents()
    const order = texts.map((text) => /one|two|three|four|five/.exec(text)?.[0])
    assert.deepEqual(order, ['five', 'four', 'three', 'two', 'one'])
    await restore()
  })

  test('catches up with more messages than one page has', async () => {
    const before = Object(await daemon.invoke('message-search', { limit: 1 }))
    for (let count = 0; count < 150; count++) await post(`later ${count}`)
    let searches = 0
    const restore = await intercept(page, '**/v1/skills/message-search', async (route) => {
      // As if all of them had arrived after the first page was read, and before the stream began.
      // The list of the test before may still read its messages.
      const isOfList = route.request().postDataJSON().gateway === 'shop'
      if (isOfList && ++searches === 1)
        await route.fulfill({ json: { result: { messages: before.messages } } })
      else await route.continue()
    })
    // Another filter is another list.
    await show('messages?gateway=shop')
    await page.getByText(/^151 messages$/).waitFor()
    await restore()
  })

  test('with few matches, does not read the whole journal again when its stream begins', async () => {
    const searches: { search?: string; outcome?: string; before?: string }[] = []
    page.on('request', (request) => {
      if (request.url().endsWith('/v1/skills/message-search')) searches.push(request.postDataJSON())
    })
    // The outcomes of all messages are only read on the first page.
    await show('messages?outcome=dead')
    await page.getByText('Nothing matches.').waitFor()
    await until(async () => searches.some(({ outcome }) => !outcome), 'the search for new messages')
    await page.waitForTimeout(1_000)
    assert.equal(searches.filter(({ outcome }) => !outcome).length, 1)

    // As if each page covered a part of a long journal.
    const next: Record<string, string> = { newest: 'e', e: 'd', d: 'c', c: 'b', b: 'a' }
    const restore = await intercept(page, '**/v1/skills/message-search', (route) => {
      const { before = 'newest' } = route.request().postDataJSON()
      return route.fulfill({ json: { result: { messages: [], next: next[before] } } })
    })
    await show('messages?search=nobody-wrote-this')
    const ofSearch = (place?: string) =>
      searches.filter(({ search, before }) => search !== undefined && before === place).length
    await until(async () => ofSearch() === 2 && ofSearch('a') > 0, 'both searches')
    await page.waitForTimeout(1_000)
    assert.equal(ofSearch('d'), 1)
    await restore()
  })

  test('says how many messages it does not show, if they came while it was catching up', async () => {
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    let searches = 0
    const restore = await intercept(page, '**/v1/skills/message-search', async (route) => {
      // The search for what was missed before the stream began.
      const { text, gateway } = route.request().postDataJSON()
      if (text === 'later' && gateway === 'shop' && ++searches === 2) await held
      await route.continue()
    })
    let connections = 0
    const restoreStream = await intercept(page, '**/v1/stream?*', async (route) => {
      if (!route.request().url().includes('gateway=shop')) return route.continue()
      if (++connections > 1) return route.abort()
      const body = 'event: now\ndata: {}\n\nevent: gap\ndata: { "missed": 500 }\n\n'
      return route.fulfill({ contentType: 'text/event-stream', body })
    })
    await show('messages?gateway=shop&text=later')
    // One page was loaded for the gap.
    await until(async () => searches >= 3, 'the search after the gap')
    release()
    await page.getByText(/500 came in too fast to show/).waitFor()
    await page.waitForTimeout(1_000)
    assert.equal(await page.getByText(/500 came in too fast to show/).count(), 1)
    await restore()
    await restoreStream()
  })

  test('catches up with messages that it missed, also if its stream sends a newer one before its first state', async () => {
    const texts = ['missed one', 'missed two', 'missed three', 'missed four']
    for (const text of texts) await post(text)
    const [newest] = Object(await daemon.invoke('message-search', { text: 'missed', limit: 1 })).messages
    let searches = 0
    const restore = await intercept(page, '**/v1/skills/message-search', async (route) => {
      const response = await route.fetch()
      const json = await response.json()
      // As if the others had arrived after the first page was read.
      if (++searches === 1) json.result.messages = json.result.messages.slice(3)
      await route.fulfill({ response, json })
    })
    let connections = 0
    const restoreStream = await intercept(page, '**/v1/stream?*', (route) => {
      if (!route.request().url().includes('text=missed')) return route.continue()
      if (++connections > 1) return route.abort()
      const body = `event: message\ndata: ${JSON.stringify(newest)}\n\nevent: now\ndata: {}\n\n`
      return route.fulfill({ contentType: 'text/event-stream', body })
    })
    await leaveLists(page)
    await show('messages?text=missed')
    await until(async () => (await rows.count()) === 4, 'all messages')
    const shown = await rows.allTextContents()
    const order = shown.map((text) => /missed (one|two|three|four)/.exec(text)?.[0])
    assert.deepEqual(order, texts.toReversed())
    await restore()
    await restoreStream()
  })
})
