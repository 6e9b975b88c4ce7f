import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

describe('people while messages arrive', { timeout: 300_000 }, async () => {
  const site = openSite({
    routes: `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none }, from: data.body.email }
  desk: { transport: websocket, path: /desk, open: true }
routes:
  - { name: all, skill: echo }
`,
  })
  const daemon = await site.start()
  const { page, show } = await openConsole(() => daemon)
  const say = (from: string, text: string) =>
    fetch(`${daemon.control}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ gateway: 'desk', from, text, conversation: `of-${from}` }),
    })
  const senders = page.getByRole('region', { name: 'Recent senders' })
  const names = async () =>
    (await senders.locator('tbody [data-row]').allTextContents()).map((each) => each.split('@')[0])
  const untilNames = (wanted: string[]) =>
    until(async () => (await names()).join() === wanted.join(), `the senders ${wanted.join(', ')}`)
  const refresh = page.getByRole('button', { name: 'Changed · refresh' })

  await say('ada@a.example', 'the first question')
  await say('bo@b.example', 'the first question')

  test('the list has new messages, but no row moves under the mouse', async () => {
    await show('people')
    await untilNames(['bo', 'ada'])
    await say('cleo@c.example', 'another question')
    await untilNames(['cleo', 'bo', 'ada'])
    await page.getByText('3 senders in 3 messages').waitFor()

    await senders.getByRole('link', { name: 'bo@b.example' }).hover()
    await say('ada@a.example', 'the second question')
    await refresh.waitFor()
    await page.getByText('3 senders in 4 messages').waitFor()
    assert.deepEqual(await names(), ['cleo', 'bo', 'ada'])
    await refresh.click()
    await untilNames(['ada', 'cleo', 'bo'])

    await senders.getByRole('link', { name: 'bo@b.example' }).hover()
    await say('dora@d.example', 'a question')
    await refresh.waitFor()
    await page.mouse.move(0, 0)
    await untilNames(['dora', 'ada', 'cleo', 'bo'])
    assert.equal(await refresh.count(), 0)
  })

  test('another order is shown immediately, with the mouse on a row or not', async () => {
    await show('people')
    await untilNames(['dora', 'ada', 'cleo', 'bo'])
    await senders.getByRole('link', { name: 'dora@d.example' }).focus()
    await page.getByLabel('Sorted by').selectOption({ label: 'name' })
    await untilNames(['ada', 'bo', 'cleo', 'dora'])
  })

  test('the page of a person has what they just wrote, with the answer', async () => {
    await show(`people?who=${encodeURIComponent('*:ada@a.example')}`)
    const wrote = page.getByRole('list', { name: 'What they wrote' })
    await wrote.getByText('the second question').first().waitFor()
    await say('ada@a.example', 'a third question')
    await wrote.getByText('You said: a third question').waitFor()
    await page.getByText('3 messages:').waitFor()
  })
})
