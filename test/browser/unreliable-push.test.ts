import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { intercept } from '../fixtures/intercept.ts'
import { until } from '../fixtures/until.ts'

describe('unreliable pushes and stalled groups in the console', { timeout: 600_000 }, async () => {
  let attempts = 0
  const receiver = await serveHttp(async (request, response) => {
    await request.toArray()
    attempts += 1
    if (attempts % 2 === 1) response.writeHead(503).end('disk quota exceeded')
    else response.writeHead(204).end()
  })
  after(receiver.close)
  const site = openSite({
    routes: `
gateways: { shop: { transport: webhook, path: /shop, verify: { scheme: none }, event: header.x-event, conversation: data.body.name } }
subscriptions:
  - { name: feed, topic: gateway-message, url: "${receiver.url}/feed", allow-private: true, retry: { delay: 100ms, max-delay: 500ms }, secret: whsec_${'c2VjcmV0'.repeat(5)} }
  - { name: crm, topic: orders, url: "${receiver.url}/crm", allow-private: true, retry: { delay: 100ms, max-delay: 500ms }, secret: whsec_${'c2VjcmV0'.repeat(5)} }
  - { name: gone, topic: refunds, url: "http://127.0.0.1:9/gone", allow-private: true, secret: whsec_${'c2VjcmV0'.repeat(5)} }
routes: [{ name: all, skill: echo }]
`,
  })
  const former = await site.start()
  for (const queue of ['archive', 'current'])
    await former.invoke('event-subscribe', { topic: 'orders', queue })
  for (let data = 0; data < 14; data += 1) await former.invoke('event-emit', { topic: 'orders', data })
  await former.invoke('event-wait', { topic: 'orders', queue: 'archive', max: 1, timeout: 0 })
  await former.end()
  const daemon = await site.start()
  const { page, show, answer, shots } = await openConsole(() => daemon)
  const row = (name: string) => page.getByRole('row', { name })

  test('the state of a push that fails in part says how many attempts failed', async () => {
    // The first pushes may all have arrived by now.
    for (let data = 0; data < 6; data += 1) await daemon.invoke('event-emit', { topic: 'orders', data })
    await show('queues')
    await row('Push crm')
      .getByText(/^fails \d+ of \d+$/)
      .waitFor()
    // The file has feed first, which nothing is sent to yet.
    const [first] = await page.getByRole('row', { name: /^Push / }).all()
    assert.equal(await first?.getAttribute('aria-label'), 'Push crm')
    assert.deepEqual(await faultsOf(page), [])
    await row('Push crm').getByRole('link', { name: 'crm' }).click()
    await page.getByRole('heading', { name: /^crm fails \d+ of the last \d+ for/ }).waitFor()
  })

  test('failed attempts are listed alone, with the answer of the receiver', async () => {
    const table = page.getByRole('region', { name: 'Last attempts' })
    await page.getByLabel('Outcome').selectOption('failed')
    await table.getByText('accepted').first().waitFor({ state: 'detached' })
    await table.getByText('disk quota exceeded').first().waitFor()
    const reasons = page.getByRole('list', { name: 'Why attempts failed' }).getByRole('listitem')
    assert.equal(await reasons.count(), 1)
    await reasons.getByText('it answered 503: disk quota exceeded').waitFor()
    // The numbers are those of the hour, whatever the list shows.
    await until(async () => {
      // Attempts may still be made, so both are read again.
      const share = String(await reasons.locator('b').textContent())
      const [, failed, all] = /^(\d+) of (\d+)$/.exec(share) ?? []
      assert.ok(Number(failed) > 0 && Number(failed) < Number(all), share)
      return (await page.getByText(`${share} attempts failed in the last hour.`).count()) === 1
    }, 'equal numbers')
    assert.match(page.url(), /outcome=failed/)
    assert.equal(await page.getByText('is no parameter of').count(), 0)
    assert.deepEqual(await faultsOf(page), [])
    await shots('push-failed')
  })

  test('the event of an attempt can be sent again', async () => {
    await page.getByLabel('Outcome').selectOption('ok')
    const table = page.getByRole('region', { name: 'Last attempts' })
    await table.getByText('disk quota exceeded').first().waitFor({ state: 'detached' })
    const before = attempts
    await page
      .getByRole('button', { name: /^Send again: / })
      .first()
      .click()
    await page.getByRole('dialog').getByText('Deliver this event to crm again?').waitFor()
    await answer('Deliver again')
    await until(() => attempts > before, 'another attempt')
  })

  test('attempts of a push of messages are named by what is in the message', async () => {
    const push = async (body: string, headers: Record<string, string>) => {
      const { id } = Object((await daemon.post('/shop', body, headers)).body)
      // The page reads attempts every few seconds only.
      await until(async () => {
        const { attempts } = Object(await daemon.invoke('subscription-show', { name: 'feed' }))
        return attempts.some(({ event }: { event: string }) => event === id)
      }, 'an attempt')
    }
    await push('order 4711', { 'content-type': 'text/plain' })
    await show('queues/gateway-message/feed')
    const table = page.getByRole('region', { name: 'Last attempts' })
    await table.getByRole('link', { name: 'order 4711' }).first().click()
    await page.getByRole('heading', { name: /order 4711/ }).waitFor()
    await push(JSON.stringify({ currency: 'EUR', name: '#5012' }), { 'x-event': 'orders/create' })
    await show('queues/gateway-message/feed')
    await table
      .getByRole('link', { name: /^orders\/create\s*#5012(?!.*#5012)/ })
      .first()
      .waitFor()
    // A message that could not be loaded is named as soon as it can be.
    const restore = await intercept(page, '**/v1/skills/message-show', (route) => route.abort())
    await push('order 4712', { 'content-type': 'text/plain' })
    await table
      .getByRole('link', { name: /^message …/ })
      .first()
      .waitFor()
    await restore()
    await table.getByRole('link', { name: 'order 4712' }).first().waitFor()
  })

  test('the charts show the attempts by outcome and the time to the answer, in a time', async () => {
    await show('queues/orders/crm')
    await page.getByLabel('Attempts in 1 min, last hour').getByText('delivered').waitFor()
    await page.getByLabel('Time to the answer, last hour').getByText('p95').waitFor()
    await page.getByRole('combobox', { name: 'Time' }).selectOption('24h')
    await page.getByLabel('Attempts in 15 min, last 24 hours').waitFor()
    await page.getByText(/^\d+ of \d+ attempts failed in the last 24 hours\./).waitFor()
    assert.match(page.url(), /since=24h/)
    assert.deepEqual(await faultsOf(page), [])
    await shots('push-charts')
    await page.getByRole('combobox', { name: 'Time' }).selectOption('1h')
  })

  test('an attempt is opened by its row: its request, its answer, and the other attempts', async () => {
    await show('queues/orders/crm?outcome=failed')
    const table = page.getByRole('region', { name: 'Last attempts' })
    const row = table.getByRole('row').nth(1)
    await table.getByText('accepted').first().waitFor({ state: 'detached' })
    await row.getByText(/^\d+ of 300$/).click()
    await page.getByRole('heading', { name: /^Attempt \d+ of 300 of crm$/ }).waitFor()
    await page.getByLabel('Headers of the request').getByText('webhook-signature: [secret]').waitFor()
    await page.getByLabel('Body of the request').getByText('"topic": "orders"').waitFor()
    await page.getByLabel('Headers of the answer').getByText('connection:').waitFor()
    await page.getByLabel('Body of the answer').getByText('disk quota exceeded').waitFor()
    await page.getByText('up to 300 attempts').waitFor({ state: 'detached' })
    assert.deepEqual(await faultsOf(page), [])
    await shots('push-attempt')
    // An event that the push delivers anyway needs no button.
    const isWaiting = (await page.getByText('crm has not got it yet, and it is sent anyway.').count()) > 0
    const again = page.getByRole('button', { name: 'Send again …' })
    assert.equal(await again.isDisabled(), isWaiting)
    await page.getByRole('link', { name: '← crm' }).click()
    await page.getByText(/^up to 300 attempts over .* then a dead letter$/).waitFor()
  })

  test('an attempt and an event have neighbours, as rows of other lists', async () => {
    const move = async (key: string) => {
      const before = page.url()
      await page.keyboard.press(key)
      await until(() => page.url() !== before, 'the neighbour')
    }
    await show('queues/orders/crm?outcome=failed')
    const attempts = page.getByRole('region', { name: 'Last attempts' })
    await attempts
      .getByRole('link', { name: /^Open the attempt/ })
      .nth(1)
      .waitFor()
    await attempts
      .getByRole('link', { name: /^Open the attempt/ })
      .first()
      .click()
    await page.getByRole('heading', { name: /^Attempt / }).waitFor()
    const first = page.url()
    await page.getByRole('button', { name: 'Next' }).waitFor()
    assert.ok(await page.getByRole('button', { name: 'Previous' }).isDisabled())
    await move('j')
    assert.deepEqual(await faultsOf(page), [])
    await page.getByRole('button', { name: 'Previous' }).click()
    assert.equal(page.url(), first)
    await show('queues/orders/crm')
    await page.getByRole('list', { name: 'Newest events of orders' }).getByRole('link').nth(1).click()
    await page.getByRole('button', { name: 'Previous' }).waitFor()
    await move('k')
    assert.ok(await page.getByRole('button', { name: 'Previous' }).isDisabled())
  })

  test('the page of a message says what the receiver answered', async () => {
    const failed = await until(async () => {
      await daemon.post('/shop', 'order 4712', { 'content-type': 'text/plain' })
      const shown = await daemon.invoke('subscription-show', { name: 'feed', outcome: 'failed' })
      return Object(shown).attempts[0]
    }, 'a failed attempt')
    await show(`messages/${failed.event}`)
    await page.getByText('it answered 503: disk quota exceeded').first().waitFor()
    const { out } = await site.run(['message', 'show', failed.event])
    assert.match(out, /feed .* it answered 503: disk quota exceeded/)
  })

  test('the backlog chart ends with the numbers above it', async () => {
    await show('queues/orders/crm')
    const tile = (name: string) => page.locator('.figure').filter({ hasText: name }).locator('b')
    const legend = page.locator('figure[aria-label^="Behind, in events"] .value')
    await until(async () => {
      const [waiting, shown] = await Promise.all([tile('To send'), legend].map((each) => each.textContent()))
      return Number.parseInt(String(waiting), 10) === Number(shown)
    }, 'equal numbers')
  })

  test('trying a push now is in the audit log as that', async () => {
    await daemon.invoke('event-emit', { topic: 'refunds', data: 1 })
    await show('queues/refunds/gone')
    await page.getByRole('button', { name: 'Try now: gone' }).and(page.locator(':enabled')).click()
    const toast = page.locator('.toast')
    await toast.getByText('gone is tried now.').waitFor()
    await toast.getByText(/^gone failed again: .*\. The next attempt begins in \d+ \w+\.$/).waitFor()
    await page.getByText('1 queued for its own next attempt.').waitFor()
    const waiting = page
      .locator('.figure')
      .filter({ hasText: 'To send' })
      .getByRole('link', { name: '1 event' })
    await waiting.click()
    await page.getByText('1 event, those that wait longest first.').waitFor()
    await page.goBack()
    const row = page
      .getByRole('region', { name: 'Last attempts' })
      .getByRole('button', { name: /^Send again/ })
      .first()
    assert.ok(await row.isDisabled())
    assert.equal(await row.getAttribute('title'), 'gone has not got it yet, and it is sent anyway.')
    await page.goForward()
    const events = page.getByRole('region', { name: 'Events to send' })
    await events.getByText(/^attempt \d+: /).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('push-waiting')
    await events.getByRole('link').click()
    await page.getByRole('heading', { name: /of refunds$/ }).waitFor()
    await show('audit')
    await page.getByText('Tried a push at once').first().waitFor()
  })

  test('a stalled group is first, with who read last, and how far', async () => {
    await daemon.invoke('event-wait', { topic: 'orders', queue: 'current', max: 100, timeout: 0 })
    await show('queues')
    await row('Group current of orders').getByText('up to date').waitFor()
    await row('Group archive of orders')
      .getByText(/^No reader since \d\d:\d\d \(\d+ (?:s|min)\)\. The last one was control token\.$/)
      .waitFor()
    assert.match(String(await page.getByRole('row').nth(1).getAttribute('aria-label')), /archive/)
    assert.deepEqual(await faultsOf(page), [])
    await shots('groups-stalled')
    await row('Group archive of orders').getByRole('link').first().click()
    await page
      .getByText(
        /^No reader since \d\d:\d\d \(\d+ (?:s|min)\)\. The last one was control token\. Start its reader/,
      )
      .waitFor()
    await page.getByText(/^None\. All events before .* were read or skipped\./).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await page
      .getByText(/removed in \d+ \w+ if nobody reads it$/)
      .last()
      .waitFor()
    await shots('group-stalled')
  })

  test('a push whose attempts have all failed says so', async () => {
    await daemon.invoke('event-emit', { topic: 'refunds', data: 1 })
    await show('queues/refunds/gone')
    await page.getByText(/^All of \d+ attempts? failed in the last hour: /).waitFor()
  })
})
