import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { until } from '../fixtures/until.ts'

const routesWith = (url: string) => `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none } }
  desk: { transport: webhook, path: /desk, verify: { scheme: none } }
topics: { gateway-message: { groups: { archive: { match: { gateway: desk } } } } }
subscriptions:
  - { name: crm, topic: gateway-message, url: "http://127.0.0.1:9/crm", allow-private: true, secret: whsec_${'c2VjcmV0'.repeat(5)} }
  - { name: erp, topic: gateway-message, url: "${url}", allow-private: true, secret: whsec_${'c2VjcmV0'.repeat(5)}, retry: { delay: 1h, max-delay: 1h } }
routes:
  - { name: orders, match: { gateway: shop }, skill: fails, retry: { attempts: 1 }, reply: none }
  - { name: rest, skill: echo, reply: none }
`
const FAILS = `export default { description: 'fails', run() { throw new Error('no stock') } }`

describe('the page of a job', { timeout: 600_000 }, async () => {
  /** Answers 503 to a push whose body contains `refuses`. */
  const receiver = { pushes: 0, refuses: 'nothing' }
  const { url } = await serveHttp(async (request, response) => {
    const body = (await request.toArray()).join('')
    receiver.pushes++
    response.writeHead(body.includes(receiver.refuses) ? 503 : 200).end()
  })
  const site = openSite({ routes: routesWith(url), skills: { fails: FAILS } })
  const daemon = await site.start()
  const { page, show, answer, dialog, shots } = await openConsole(() => daemon)
  for (const text of ['one', 'two', 'three']) await daemon.post('/shop', JSON.stringify({ text }))
  await daemon.post('/desk', '{"text":"hello"}')
  const letters = async () => Object(await daemon.invoke('dead-letter-list', {}))
  await until(async () => (await letters()).length === 3, 'three dead letters')
  const fact = (name: string) => page.locator('dl.facts > div').filter({ hasText: new RegExp(`^${name}`) })

  test('of a bulk retry names the messages, and says how many failed again', async () => {
    await show('jobs')
    await page.getByText('There are no jobs.').waitFor()
    const { job } = Object(await daemon.invoke('dead-letter-bulk', { do: 'retry', group: 'orders' }))
    const row = page.getByRole('listitem').filter({ hasText: /Retry dead letters of orders/ })
    // The list is open already, and reads by itself only every ten seconds.
    await row.waitFor({ timeout: 8_000 })
    await row.getByText('with failures', { exact: true }).waitFor()
    await row.getByText('3 failed again', { exact: true }).waitFor()
    await row.getByText(/, took \d/).waitFor()
    await page.getByLabel('State').selectOption('with-failures')
    await row.waitFor()
    await page.getByRole('link', { name: /^Retry dead letters of orders/ }).click()
    await fact('result').getByText('3 dead letters were retried').waitFor()
    await page.getByText('3 failed again', { exact: true }).waitFor()
    const text = String(await page.locator('main').textContent())
    assert.ok(text.indexOf('3 failed again') < text.indexOf('Asked for'))
    const causes = page.getByRole('list', { name: 'By cause' })
    const cause = causes.getByRole('listitem').filter({ hasText: /^3 × failed again no stock/ })
    const place = await cause.getByRole('link', { name: 'Dead letters' }).getAttribute('href')
    assert.match(String(place), /^#\/dead-letters\?.*pattern=/)
    await cause.getByRole('link', { name: /one|two|three/ }).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('job-retry')
    const rows = page.getByRole('list', { name: 'Items' }).getByRole('listitem')
    await rows.first().waitFor()
    assert.equal(await rows.count(), 3)
    await page.getByRole('link', { name: 'See the messages' }).click()
    await fact('job')
      .getByRole('link', { name: /^Retry dead letters of orders/ })
      .click()
    await page.getByRole('link', { name: 'audit entry' }).click()
    await page.getByText(/^Began to retry \d+ dead letters?$/).waitFor()
    await page.getByRole('link', { name: 'see the job' }).click()
    assert.match(page.url(), new RegExp(`#/jobs/${job.id}$`))
    assert.match((await site.run(['job', 'list'])).out, /\tretry orders\t3 failed again\n/)
    assert.match((await site.run(['job', 'show', job.id])).out, /3 dead letters retried: 3 failed again/)
  })

  test('of a retry with failures retries these as another job, whole or by cause', async () => {
    const [first] = Object(await daemon.invoke('job-list', {}))
    await show(`jobs/${first.id}`)
    await page.getByRole('button', { name: 'Retry the 3 that failed again …' }).click()
    await dialog.getByText('Retry 3 dead letters again?').waitFor()
    await dialog.getByText(/3 ×.*no stock/).waitFor()
    await answer('Retry')
    const short = first.id.slice(-8)
    await page.getByRole('heading', { name: `Retry dead letters of orders from job ${short}` }).waitFor()
    await page.getByText('3 failed again', { exact: true }).waitFor()
    await fact('left by').getByRole('link', { name: 'an earlier retry' }).click()
    await page.getByRole('heading', { name: /^Retry dead letters of orders with failures/ }).waitFor()
    await page.getByText('3 dead letters again since').first().waitFor()
    assert.equal(await page.getByRole('button', { name: /^Retry the 3/ }).count(), 0)

    await page.goBack()
    await page.getByRole('link', { name: 'See the messages' }).click()
    await page.getByRole('heading', { name: 'Still dead letters: 3' }).waitFor()
    const cause = page
      .getByRole('list', { name: 'By cause' })
      .getByRole('listitem')
      .filter({ hasText: 'no stock' })
    await cause.getByRole('button', { name: 'Drop all …' }).waitFor()
    await page.getByRole('list', { name: 'Retried messages' }).getByRole('listitem').nth(2).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('retried-causes')
    await cause.getByRole('link', { name: 'orders' }).click()
    await page.getByRole('heading', { name: 'Dead letters of orders' }).waitFor()
    const row = page.getByRole('list', { name: 'Dead letters' }).getByRole('listitem')
    await until(async () => (await row.count()) === 3, 'the letters of the cause')
    await row.nth(0).getByRole('checkbox').click()
    await row.nth(1).getByRole('checkbox').click()
    await page.getByRole('button', { name: 'Retry 2 …' }).click()
    await answer('Retry')
    await page.getByText('Began to retry 2 dead letters.').waitFor()
    await page.getByRole('link', { name: '2 dead letters of orders retried' }).waitFor()
    await show('jobs')
    await page.getByRole('link', { name: 'Retry 2 dead letters of the route orders: no stock' }).click()
    await fact('chosen').getByText('2 dead letters', { exact: true }).waitFor()
    await page.getByText('2 failed again', { exact: true }).waitFor()
    await shots('job-chosen')
    await until(async () => (await letters()).length === 3, 'the dead letters again')
  })

  test('of a retry into a pause says what it waits for, and so does the question', async () => {
    await daemon.invoke('skill-pause', { skill: 'fails', for: '2h', reason: 'the shelf moves' })
    await show('dead-letters')
    const card = page.getByRole('listitem').filter({ hasText: 'orders' })
    await card.getByRole('button', { name: 'Retry all …' }).click()
    await dialog.getByText('They wait until the pause ends:').waitFor()
    await dialog.getByText(/skill fails is paused .*until .*: the shelf moves/).waitFor()
    await answer('Retry')
    await page.getByText('Began to retry 3 dead letters.').waitFor()
    await show('jobs')
    const row = page
      .getByRole('listitem')
      .filter({ hasText: /retrying.*Retry dead letters of the route orders/ })
    await row.getByText('3 messages wait until the pause ends:').waitFor()
    await row.getByRole('link', { name: /^Retry dead letters of the route orders/ }).click()
    await page
      .getByRole('heading', { name: /Retry dead letters of the route orders: no stock retrying$/ })
      .waitFor()
    await page.getByText(/skill fails is paused .*until .*: the shelf moves/).waitFor()
    assert.equal(
      await page.getByRole('link', { name: 'fails', exact: true }).getAttribute('href'),
      '#/skills/fails',
    )
    // The user did not choose times.
    assert.equal(await fact('(since|until)').count(), 0)
    await fact('all queued')
      .getByText(/running for .* so far/)
      .waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('job-paused')
    const { out } = await site.run(['job', 'list', '--state', 'running'])
    assert.match(out, /\tretrying\t.*\tretry orders: no stock.*\t3 waiting\n/)
    await page.getByRole('button', { name: 'Resume skill fails' }).click()
    await answer('Resume')
    await page.getByText('fails goes on.').waitFor()
    await until(async () => (await letters()).length === 3, 'the dead letters again')
    await page.getByRole('heading', { name: /with failures$/ }).waitFor()
  })

  test('of a retry cancels what waits: it is a dead letter again, as before', async () => {
    const before = await letters()
    await daemon.invoke('skill-pause', { skill: 'fails', for: '2h' })
    const { job } = Object(await daemon.invoke('dead-letter-bulk', { do: 'retry', group: 'orders' }))
    await show(`jobs/${job.id}`)
    await page.getByText('3 waiting', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Cancel …' }).click()
    await dialog.getByText(/^What waits of it becomes a dead letter again, .*: 3 messages\./).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await answer('Cancel the job')
    await page.getByText('The job is cancelled: 3 are dead letters again.', { exact: true }).waitFor()
    await page.getByRole('heading', { name: /cancelled$/ }).waitFor()
    await page.getByText(/^Cancelled .+ ago, .+ by .+, after /).waitFor()
    assert.equal(await page.locator('.outcomes').getByText('cancelled').count(), 0)
    await page.getByText('3 dead letters again', { exact: true }).waitFor()
    await page
      .getByText(/^3 messages are dead letters again, as before the retry\. To go on, retry/)
      .waitFor()
    assert.equal(await page.getByRole('button', { name: 'Cancel …' }).count(), 0)
    assert.deepEqual(await faultsOf(page), [])
    await shots('retry-cancelled')
    assert.deepEqual(await letters(), before)
    const entries = Object(await daemon.invoke('audit-list', { action: 'job-cancel' })).entries
    assert.deepEqual(entries[0].result, { withdrawn: 3 })
    await page.getByRole('link', { name: 'See the messages' }).click()
    await page.getByText('dead letter again', { exact: true }).first().click()
    await page.getByText('retry cancelled', { exact: true }).waitFor()
    await page.getByText(/It failed permanently.*: .*no stock/).waitFor()
    await daemon.invoke('skill-resume', { skill: 'fails' })
  })

  test('of a bulk drop for one message names it, not all dead letters', async () => {
    const message = '019a0000-0000-7000-8000-000000000001'
    await daemon.invoke('dead-letter-bulk', { do: 'drop', message })
    await show('jobs')
    await page.getByRole('link', { name: 'Drop dead letters of message 00000001' }).waitFor()
  })

  test('of a replay says what its filter left out, and leads to the group', async () => {
    const of = { topic: 'gateway-message', queue: 'archive' }
    await daemon.invoke('event-wait', { ...of, max: 10, timeout: 0 })
    const { job } = Object(await daemon.invoke('event-replay', { ...of, since: '1h' }))
    await show(`jobs/${job.id}`)
    await fact('result').getByText('1 of 4 events replayed; left out: 3 by its filter').waitFor()
    await fact('group').getByRole('link', { name: 'archive' }).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('job-replay')
    await show('jobs/nothing')
    await page.getByText('There is no such job.').waitFor()
  })

  test('of a replay to a push says what the push has not delivered', async () => {
    const { job } = Object(await daemon.invoke('subscription-replay', { name: 'crm', since: '1h' }))
    await show(`jobs/${job.id}`)
    await fact('result')
      .getByText(/^(\d+ of )?\d+ events? handed to the push/)
      .waitFor()
    await fact('(not delivered yet|delivered)').first().waitFor()
    assert.deepEqual(await faultsOf(page), [])
  })

  test('of a replay to a push counts its own events: delivered, waiting and dead', async () => {
    await until(() => receiver.pushes === 4, 'the first pushes')
    receiver.refuses = '"two"'
    const { job } = Object(await daemon.invoke('subscription-replay', { name: 'erp', since: '1h' }))
    await until(() => receiver.pushes === 8, 'the pushes of the replay')
    await daemon.post('/desk', '{"text":"another \\"two\\""}')
    await show(`jobs/${job.id}`)
    await fact('delivered').getByText('3 delivered').waitFor()
    await fact('delivered').getByText('1 waiting').waitFor()
    const push = await fact('delivered').getByRole('link', { name: '1 waiting' }).getAttribute('href')
    assert.match(push ?? '', /^#\/queues\/gateway-message\/erp$/)
    await fact('all queued').waitFor()
    await fact('delivery').getByRole('button', { name: 'Pause the push …' }).waitFor()
    const waits = page.locator('.waits-for')
    await waits.getByText(/Waits for the receiver of erp.*503.*next attempt in \d+ min/).waitFor()
    await waits.getByRole('button', { name: 'Try now' }).waitFor()
    assert.doesNotMatch(String(await page.locator('main').textContent()), /about .* left/)
    await page
      .getByRole('listitem')
      .filter({ hasText: /retrying.*503.*next attempt in/ })
      .waitFor()
    assert.doesNotMatch(String(await fact('delivered').first().textContent()), /\b0 /)
    await page.getByRole('heading', { name: /delivering$/ }).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('job-deliveries')
    await show('jobs')
    const row = page.getByRole('listitem').filter({ hasText: 'to push erp' })
    await row.getByText('1 waiting').waitFor()
    await row.getByText(/ ago by /).waitFor()
    await page.getByLabel('State').selectOption('done')
    await row.waitFor({ state: 'detached' })
    await page.getByLabel('State').selectOption('running')
    await row.getByText('delivering', { exact: true }).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    const { out } = await site.run(['job', 'show', job.id])
    assert.match(out, /state +delivering\n/)
    assert.match(out, /^running +for .*; queueing took /m)
    assert.match(out, /1 waiting, 3 delivered; 4 events handed to the push/)
    const running = await site.run(['job', 'list', '--state', 'running'])
    assert.match(running.out, new RegExp(`${job.id}\t[^\t]+\tdelivering\t`))
    assert.doesNotMatch((await site.run(['job', 'list', '--state', 'done'])).out, new RegExp(job.id))
    assert.doesNotMatch((await site.run(['run', 'list'])).out, new RegExp(job.id))
    await daemon.invoke('subscription-pause', { name: 'erp', reason: 'the receiver moves' })
    await show(`jobs/${job.id}`)
    const paused = page.locator('.pause-list').getByText(/erp.* is paused by .*: the receiver moves/)
    await paused.waitFor()
    assert.equal(await page.locator('.facts').getByText('the receiver moves').count(), 0)
    assert.equal(await page.getByRole('button', { name: 'Pause the push …' }).count(), 0)
    await page.getByRole('button', { name: 'Resume subscription erp' }).click()
    await answer('Resume')
    await paused.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Cancel …' }).click()
    await dialog.getByText(/^What waits of it is withdrawn: 1 event\..*delivered: 3 events\.$/).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('job-cancel')
    await answer('Cancel the job')
    await page.getByText('The job is cancelled: 3 delivered, 1 withdrawn.', { exact: true }).waitFor()
    await page.getByRole('heading', { name: /cancelled$/ }).waitFor()
    await fact('delivered')
      .getByText(/^3 events, the last at /)
      .waitFor()
    await fact('withdrawn')
      .getByText(/^1 event, /)
      .waitFor()
    await page.getByText('1 event was withdrawn before the delivery.').waitFor()
    await page.getByText(/^Cancelled .+ ago, .+ by .+, after /).waitFor()
    await page
      .getByText(/^withdrawn$/)
      .first()
      .waitFor()
    assert.equal(await page.getByText('all delivered after').count(), 0)
    assert.equal(await page.getByRole('button', { name: 'Cancel …' }).count(), 0)
    await shots('job-cancelled')
    const entries = Object(await daemon.invoke('audit-list', { action: 'job-cancel' })).entries
    assert.deepEqual(entries[0].result, { withdrawn: 1 })
  })

  test('asks before a cancellation, but not any more when the job has ended meanwhile', async () => {
    const { job } = Object(await daemon.invoke('subscription-replay', { name: 'erp', since: '1h' }))
    await show(`jobs/${job.id}`)
    await fact('delivered')
      .getByText(/1 waiting/)
      .waitFor()
    await page.getByRole('button', { name: 'Cancel …' }).click()
    const confirm = dialog.getByRole('button', { name: 'Cancel the job' })
    await confirm.waitFor()
    assert.ok(await confirm.isEnabled())
    receiver.refuses = 'nothing'
    await daemon.invoke('subscription-retry', { name: 'erp' })
    await dialog.getByText('It has ended: done. Nothing is left to cancel.').waitFor()
    assert.ok(await confirm.isDisabled())
    await answer('Close')
    await page.getByRole('heading', { name: /done$/ }).waitFor()
  })

  test('an entry of the audit log has the number of retried letters, and names them', async () => {
    await daemon.invoke('dead-letter-retry', { all: true, group: 'orders' })
    await show('audit?action=dead-letter-retry')
    await page.getByText('Retried 3 dead letters').waitFor()
    await page.getByRole('link', { name: /ago$/ }).first().click()
    await page.locator('dl.facts a[href^="#/messages/"]').first().waitFor()
    assert.equal(await page.locator('dl.facts a[href^="#/messages/"]').count(), 3)
    assert.deepEqual(await faultsOf(page), [])
  })
})
