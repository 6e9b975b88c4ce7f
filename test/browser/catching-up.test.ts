import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { leaveLists, openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /hooks/shop, verify: { scheme: none } }
routes: []
`

describe('the list of messages', { timeout: 120_000 }, async () => {
  const site = openSite({ routes: ROUTES })
  const daemon = await site.start()
  const { page, show } = await openConsole(() => daemon)
  const post = (text: string) => daemon.post('/hooks/shop', JSON.stringify({ text }))
  const rows = page.getByRole('list', { name: 'Messages' }).getByRole('listitem')

  test('catches up with messages before its stream, also if the stream sends newer ones meanwhile', async () => {
    for (const text of ['one', 'two', 'three', 'four']) await post(text)
    let searches = 0
    await page.route('**/v1/skills/message-search', async (route) => {
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
    await page.unroute('**/v1/skills/message-search')
  })

  test('catches up with more messages than one page has', async () => {
    const before = Object(await daemon.invoke('message-search', { limit: 1 }))
    for (let count = 0; count < 150; count++) await post(`later ${count}`)
    let searches = 0
    await page.route('**/v1/skills/message-search', async (route) => {
      // As if all of them had arrived after the first page was read, and before the stream began.
      if (++searches === 1) await route.fulfill({ json: { result: { messages: before.messages } } })
      else await route.continue()
    })
    // Another filter is another list.
    await show('messages?gateway=shop')
    await page.getByText(/^151 messages$/).waitFor()
    await page.unroute('**/v1/skills/message-search')
  })
})
