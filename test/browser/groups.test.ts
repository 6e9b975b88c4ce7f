import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { objectsIn } from '../../src/core/json.ts'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { intercept } from '../fixtures/intercept.ts'
import { until } from '../fixtures/until.ts'

describe('consumer groups in the console', { timeout: 600_000 }, async () => {
  const site = openSite({
    routes: `
gateways: { shop: { transport: webhook, path: /shop, verify: { scheme: none } } }
subscriptions:
  - { name: crm, topic: orders, url: "http://127.0.0.1:9/crm", allow-private: true, secret: whsec_${'c2VjcmV0'.repeat(5)} }
routes: [{ name: all, skill: echo }]
`,
  })
  const daemon = await site.start()
  const { page, dialog, show, press, answer, shots } = await openConsole(() => daemon)

  test('a group shows its lag and rate, and a range of its events is replayed by a job', async () => {
    await daemon.invoke('event-subscribe', { topic: 'orders', queue: 'audit' })
    await show('queues')
    const row = page.getByRole('row', { name: 'Group audit of orders' })
    // The page is open before the events come: unread for more than a minute, they are behind.
    await row.waitFor()
    for (const data of [1, 2, 3]) await daemon.invoke('event-emit', { topic: 'orders', data })
    await daemon.invoke('event-wait', { topic: 'orders', queue: 'audit', max: 2, timeout: 0 })
    await row.getByText('keeping up', { exact: true }).waitFor()
    await row.getByRole('cell', { name: '0.4', exact: true }).waitFor()
    await row
      .getByText(/^\d+ (?:s|min)$/)
      .first()
      .waitFor()
    await press('Replay orders to audit')
    await dialog.getByText('1 event not read yet: delivered anyway, once.').waitFor()
    await dialog.getByText(/^2 events of 3, from .* to /).waitFor()
    const range = dialog.getByRole('textbox', { name: 'Range' })
    await range.fill('yesterday 10-11')
    await dialog.getByText(/^No events are kept of that time.*10:00:00 to .*11:00:00/).waitFor()
    assert.ok(await dialog.getByRole('button', { name: /^Replay/ }).isDisabled())
    await range.press('Enter')
    await range.fill('some day')
    await dialog.getByText('This is no range of time.').waitFor()
    await dialog.getByRole('button', { name: '24h' }).click()
    await dialog.getByText(/^2 events of 3, from .* to /).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('replay-dialog')
    await answer('Replay 2 events')
    // The replay ends once its events are read.
    const waiting = page.getByRole('region', { name: 'Jobs' })
    await waiting.getByText('delivering', { exact: true }).waitFor()
    await waiting.getByText('0 of 2 read', { exact: true }).waitFor()
    await waiting.getByText('0 of 2 read').waitFor()
    await row.getByText('2 of these again', { exact: true }).waitFor()
    await press('Replay orders to audit')
    await dialog.getByText(/^Nothing to replay. 3 events from /).waitFor()
    assert.ok(await dialog.getByRole('button', { name: 'Replay', exact: true }).isDisabled())
    await shots('replay-nothing')
    await answer('Cancel')
    await daemon.invoke('event-wait', { topic: 'orders', queue: 'audit', max: 3, timeout: 0 })
    // Ended jobs are folded below the groups.
    const jobs = page.getByRole('region', { name: 'Ended replays' })
    await jobs.getByText('Ended replays: 1', { exact: true }).click()
    await jobs.getByText('Replay orders to group audit').first().waitFor()
    await jobs.getByText('done', { exact: true }).waitFor()
    const main = String(await page.locator('main').textContent())
    assert.ok(main.indexOf('Consumer groups') < main.indexOf('Ended replays'))
    await jobs.getByText('all 2 read', { exact: true }).waitFor()
    await page.reload()
    await jobs.getByText('Ended replays: 1', { exact: true }).click()
    await jobs.getByText('Replay orders to group audit').first().waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('groups')
    await press('Replay crm')
    await dialog.getByText(/^Nothing to replay. 3 events from /).waitFor()
    await dialog.getByText('3 events wait for an attempt already: delivered once.').waitFor()
    await answer('Cancel')
  })

  test('the events of a topic are listed, and one is shown whole and delivered again', async () => {
    const { id } = Object(
      await daemon.invoke('event-emit', { topic: 'orders', type: 'paid', data: { order: 4711, by: 'card' } }),
    )
    await show('queues/orders/audit')
    const events = page.getByRole('list', { name: 'Newest events of orders' })
    const row = events.getByRole('listitem').first()
    await row.getByText('order: 4711, by: card').waitFor()
    await row.getByText('unread', { exact: true }).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('group-events')
    await row.getByRole('link').click()
    await page.getByRole('heading', { name: 'paid of orders' }).waitFor()
    await page.getByLabel('Data').getByText('"order": 4711').waitFor()
    assert.match(page.url(), new RegExp(`queues/orders/audit/${id}$`))
    await press('Deliver again …')
    await dialog.getByText('audit has not read it yet: it comes anyway, once.').waitFor()
    assert.ok(await dialog.getByRole('button', { name: 'Deliver again' }).isDisabled())
    await answer('Cancel')
    await daemon.invoke('event-wait', { topic: 'orders', queue: 'audit', max: 100, timeout: 0 })
    await press('Deliver again …')
    await answer('Deliver again')
    await page.getByText('audit gets it again.').waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('event')
    await show('queues/orders/crm')
    const last = page.getByRole('region', { name: 'Last attempts' })
    await last
      .getByRole('link', { name: /^event …/ })
      .first()
      .click()
    await page.getByRole('heading', { name: 'Attempts', exact: true }).waitFor()
    await page
      .getByRole('region', { name: 'Attempts', exact: true })
      .getByText(/ECONNREFUSED/)
      .first()
      .waitFor()
    await page.getByText(/The next attempt begins in/).waitFor()
    const restore = await intercept(page, '**/v1/skills/subscription-show', async (route) => {
      const response = await route.fetch()
      const { result } = Object(await response.json())
      // As if it had more than a call returns.
      await route.fulfill({ response, json: { result: { ...result, more: true } } })
    })
    await page.getByText(/^Only the newest (attempt is|\d+ attempts are) shown\.$/).waitFor()
    await restore()
    assert.deepEqual(await faultsOf(page), [])
    await shots('event-of-push')
    await show('queues/orders/crm/00000000-0000-7000-8000-000000000000')
    await page.getByText('This event is not retained any more.').waitFor()
  })

  test('a group has a page with its backlog over time, its readers and its next event', async () => {
    await daemon.invoke('event-subscribe', { topic: 'gateway-message', queue: 'analytics', replay: true })
    await daemon.post('/shop', '{"text":"order 1"}')
    await show('queues')
    await page
      .getByRole('row', { name: 'Group analytics of gateway-message' })
      .getByRole('link')
      .first()
      .click()
    await page.getByRole('heading', { name: /^analytics stalled$/ }).waitFor()
    await page.getByText('Backlog over time').waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('group')
    await page
      .getByText(/^Next:/)
      .getByRole('link')
      .click()
    await page.getByRole('heading', { name: /order 1/ }).waitFor()
  })

  test('events that are replayed wait to be delivered again, and are not being read', async () => {
    const of = { topic: 'repairs', queue: 'bench' }
    await daemon.invoke('event-subscribe', of)
    for (const data of [1, 2, 3]) await daemon.invoke('event-emit', { topic: of.topic, data })
    await daemon.invoke('event-wait', { ...of, max: 2, timeout: 0 })
    await daemon.invoke('event-replay', of)
    await show('queues/repairs/bench')
    await page.getByText('3 events', { exact: true }).waitFor()
    const figure = (name: string) => page.locator('.figure').filter({ hasText: name })
    await figure('Of these, to be delivered again').getByText('2', { exact: true }).waitFor()
    await figure('Being read').getByText('0', { exact: true }).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('group-replayed')
    await press('Skip what bench has not read of repairs')
    await dialog.getByText(/^3 events will be skipped, published from .* to /).waitFor()
    const time = dialog.getByRole('textbox', { name: 'Until' })
    await time.fill('some day')
    await dialog.getByText('This is no time.').waitFor()
    assert.ok(await dialog.getByRole('button', { name: /^Skip/ }).isDisabled())
    await time.fill('1h')
    await dialog.getByText('Nothing to skip: it has read everything before that time.').waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await time.fill('now')
    await shots('skip')
    await answer('Skip 3 events')
    await page.getByText('3 events skipped: bench goes on with what comes now.').waitFor()
    await page
      .getByText(/^3 events skipped by control token, .* \(\d+ \w+ ago\)\. Deliver them again …$/)
      .waitFor()
    await page.getByRole('button', { name: 'Undo …' }).click()
    await dialog.getByText('Deliver 3 skipped events to bench again?').waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await answer('Deliver')
    await page.getByText('bench gets 3 events again.').waitFor()
    const [job] = objectsIn(await daemon.invoke('job-list', { kind: 'replay' }))
    await page.getByText(/\. They were replayed \d+ \w+, [\d:]+\.$/).waitFor()
    const replayed = page.getByRole('link', { name: 'replayed', exact: true })
    assert.match(String(await replayed.getAttribute('href')), new RegExp(String(job?.id)))
    assert.match(
      (await site.run(['group', 'show', 'bench'])).out.replaceAll(/\s+/g, ' '),
      /skipped 3 events by .*; they were replayed on .*: `trivium job show [\w-]+`/,
    )
    await daemon.invoke('event-wait', { ...of, max: 9, timeout: 0 })
    await page.getByText(/^A group has no pause: stop its reader/).waitFor()
    await page.getByRole('heading', { name: /^bench up to date$/ }).waitFor()
  })

  test('what a group has not read is a list in pages, and the group skips until one of these', async () => {
    const of = { topic: 'returns', queue: 'desk' }
    await daemon.invoke('event-subscribe', of)
    for (let data = 1; data <= 102; data++) {
      // The time of each event is its own.
      const before = Date.now()
      await until(() => Date.now() > before, 'the next millisecond')
      await daemon.invoke('event-emit', { topic: of.topic, type: 'return', data })
    }
    await show('queues/returns/desk')
    await page.getByRole('link', { name: '102 events', exact: true }).click()
    await page.getByText('1 to 100 of 102 events, the oldest first.').waitFor()
    const rows = page.getByRole('region', { name: 'Unread events' }).getByRole('row')
    assert.match(String(await rows.nth(1).textContent()), /return 1Skip until here/)
    assert.deepEqual(await faultsOf(page), [])
    await page.getByRole('link', { name: 'Next 100' }).click()
    await page.getByText('101 to 102 of 102 events, the oldest first.').waitFor()
    assert.equal(await page.getByText('is no parameter of').count(), 0)
    await page.getByRole('link', { name: 'To the beginning' }).click()
    await page.getByText('1 to 100 of 102 events, the oldest first.').waitFor()
    await rows.nth(4).getByRole('button', { name: 'Skip until here: return 4' }).click()
    await dialog.getByText(/^3 events will be skipped, published from .* to /).waitFor()
    await dialog.getByText(/^desk goes on with return 4, published /).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('skip-until')
    await answer('Skip 3 events')
    await page.getByText('99 events, the oldest first.').waitFor()
    assert.match(String(await rows.nth(1).textContent()), /return 4Skip until here/)
  })

  test('a push has a page with its attempts, and is paused and resumed there', async () => {
    await show('queues/orders/crm')
    const attempts = page.getByRole('region', { name: 'Last attempts' })
    await attempts
      .getByText(/ECONNREFUSED|refused/)
      .first()
      .waitFor()
    await page.getByText('Next attempt', { exact: true }).waitFor()
    const tryNow = page.getByRole('button', { name: 'Try now: crm' })
    await tryNow.waitFor()
    await page
      .getByText(/^(Failing|Retrying) since \d+ \w+, \d\d:\d\d:\d\d \(\d+ \w+\)[,:] .*(ECONNREFUSED|refused)/)
      .waitFor()
    await press('Pause crm')
    await dialog
      .getByText(
        /^\d+ events? waits? already: \d+ queued, \d+ unread\. Its attempts have failed for \d+ \w+\.$/,
      )
      .waitFor()
    await answer('until it is resumed')
    await page.getByText(/^Paused by /).waitFor()
    await page.locator('.figure').filter({ hasText: 'Next attempt' }).getByText('none').waitFor()
    assert.equal(await tryNow.count(), 0)
    assert.deepEqual(await faultsOf(page), [])
    await shots('push')
    await press('Resume crm')
    await answer('Resume')
    await page.getByRole('button', { name: 'Pause crm' }).waitFor()
    await show('queues/orders/nobody')
    await page.getByText('No group nobody reads orders.').waitFor()
  })
})
