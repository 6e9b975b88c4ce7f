import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { intercept } from '../fixtures/intercept.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none } }
  desk: { transport: webhook, path: /desk, verify: { scheme: none }, conversation: data.body.talk }
routes:
  - { name: slow, match: { gateway: shop, text: "*hang*" }, skill: hang, retry: { attempts: 1 } }
  - { name: stock, match: { gateway: shop, text: "*stock*" }, skill: stock, retry: { attempts: 4, delay: 1h } }
  - { name: customs, match: { gateway: shop, text: "*customs*" }, skill: charge, retry: { attempts: 4, delay: 190m, max-delay: 40h } }
  - { name: dues, match: { gateway: shop, text: "*dues*" }, skill: dues, retry: { attempts: 5, delay: 20ms } }
  - { name: charges, match: { gateway: shop, text: "*charge*" }, skill: charge, retry: { attempts: 1 } }
  - name: refunds
    match: { gateway: shop, text: "*refund*" }
    skill: echo
    approval: { title: "Refund 20 EUR · order 4711", timeout: 90m }
  - { name: desk, match: { gateway: desk }, skill: echo }
  - { name: rest, match: { gateway: shop }, skill: echo }
`
const HANG = `export default { description: 'hangs', run: ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))) }`
const CHARGE = `export default { description: 'charges', run() { throw new Error('no money') } }`
const DUES = `export default { description: 'asks for dues', async run() { await new Promise((done) => setTimeout(done, 1_100)); throw new Error('the bank is shut') } }`
const STOCK = `let n = 0
export default { description: 'asks the warehouse', run() { if (n++ === 0) throw new Error('the warehouse is away') } }`

describe('attempts and outcomes in the console', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: { hang: HANG, charge: CHARGE, stock: STOCK, dues: DUES } })
  const daemon = await site.start()
  const { page, dialog, show, press, answer } = await openConsole(() => daemon)
  const post = async (text: string): Promise<string> => {
    await daemon.post('/shop', JSON.stringify({ text }))
    const { messages } = Object(await daemon.invoke('message-search', { text, limit: 1 }))
    return messages[0].id
  }
  const timeline = page.locator('.timeline')

  test('a running attempt is in the timeline; a cancelled one names who cancelled it', async () => {
    await show(`messages/${await post('hang on')}`)
    const running = timeline.getByRole('listitem').filter({ hasText: 'running' })
    await running.getByText('route slow · skill hang').waitFor()
    await page.getByText('Attempt 1 of route slow runs').waitFor()
    await press('Cancel the attempt …')
    await dialog.getByText('hang on', { exact: true }).waitFor()
    await dialog.getByText(/^Attempt 1 of route slow has run for \d+ (?:s|min)\.$/).waitFor()
    await answer('Keep running')
    await press('Cancel the attempt …')
    await dialog.getByLabel('Reason').fill('it hangs')
    await answer('Cancel the attempt')
    await page.getByText(/Attempt 1 was cancelled by control token: it hangs/).waitFor()
    await timeline.getByText(/^cancelled by control token/).waitFor()
    await running.waitFor({ state: 'detached' })
    await page.getByText('failed permanently').waitFor({ state: 'detached' })
  })

  test('attempts that fail with the same error are folded; after a retry, the time begins there', async () => {
    const id = await post('dues')
    await until(async () => Object(await daemon.invoke('message-show', { id })).outcome === 'dead', 'its end')
    await show(`messages/${id}`)
    const first = timeline.getByRole('listitem').filter({ hasText: 'attempt 1 failed' })
    await first.getByText(/^1\.\d+ s, began \d\d:\d\d:\d\d/).waitFor()
    await timeline.getByText('attempt 5 failed permanently').waitFor()
    assert.equal(await timeline.getByText('attempt 3 failed').count(), 0)
    await timeline.getByText('attempts 2 to 4 failed').click()
    await timeline.getByText('attempt 3 failed').waitFor()
    assert.deepEqual(await faultsOf(page), [])
  })

  test('an attempt that has run for long is on its route, which can end it, and in the list of routes', async () => {
    const id = await post('hang for long')
    const restore = await intercept(page, '**/v1/skills/message-attempts', async (route) => {
      const response = await route.fetch()
      const json = await response.json()
      for (const attempt of json.result) if (attempt.outcome === 'running') attempt.since -= 17 * 60_000
      await route.fulfill({ response, json })
    })
    await show('routes')
    const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'slow', exact: true }) })
    const running = row.getByRole('link', { name: /^1 running for 1[78] min$/ })
    await running.waitFor()
    assert.match(String(await running.getAttribute('href')), new RegExp(`messages/${id}$`))
    await show('configuration/slow')
    const banner = page.locator('.now-it').filter({ hasText: /^hang for long has run for 1[78] min\./ })
    await banner.getByRole('link', { name: 'hang for long' }).waitFor()
    const figure = (name: string) => page.locator('.figure').filter({ hasText: name })
    for (const name of ['Waited', 'Ran'])
      await figure(name)
        .getByText(/^without the\s+1 that runs$/)
        .waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await press('Cancel the attempt …')
    await answer('Cancel the attempt')
    await banner.waitFor({ state: 'detached' })
    await restore()
  })

  test('a message in back-off is retried before its time', async () => {
    const id = await post('stock of product 1?')
    await show(`messages/${id}`)
    await page
      .getByText(
        /^Attempt 1 of 4 failed: the warehouse is away. The next attempt begins in .*after attempt 4,/,
      )
      .waitFor()
    await press('Retry now')
    await page.getByText('The next attempt begins now.').waitFor()
    await page.getByRole('heading', { name: /done$/ }).waitFor()
    await timeline
      .getByRole('listitem')
      .filter({ hasText: 'retried now' })
      .getByText('by control token')
      .waitFor()
    assert.equal(await page.getByRole('button', { name: 'Retry now' }).count(), 0)
  })

  test('a message in back-off is given up, and says by whom and why', async () => {
    await show(`messages/${await post('customs of order 12')}`)
    await press('Give up …')
    await dialog.getByLabel('Reason').fill('declared by hand')
    assert.deepEqual(await faultsOf(page), [])
    await answer('Give up')
    await page.getByText(/^It was given up by control token: declared by hand\. Nothing happens/).waitFor()
    await timeline.getByText(/^given up by control token: declared by hand/).waitFor()
    await show(`messages/${await post('customs of order 13')}`)
    await press('Give up …')
    await dialog.getByText('drop it', { exact: true }).click()
    await answer('Give up')
    await page.getByRole('heading', { name: /dropped$/ }).waitFor()
  })

  test('a row of a message in back-off shows its error and the next attempt; after a retry, the page says that it failed again', async () => {
    const id = await post(`customs ${'of a very long order '.repeat(20)}`)
    await page.setViewportSize({ width: 1440, height: 900 })
    await show('messages?outcome=retrying')
    const row = page.getByRole('listitem').filter({ hasText: 'customs' })
    await row.locator('.run-time').filter({ hasText: 'again in' }).waitFor()
    const fits = (name: string) => row.locator(name).evaluate((each) => each.scrollWidth <= each.clientWidth)
    assert.equal(await fits('.run-time'), true)
    const end = async (name: string) => {
      const box = await row.locator(name).boundingBox()
      return Number(box?.x) + Number(box?.width)
    }
    assert.ok((await end('.error')) <= (await end('a.message-row')) + 1, 'the error is not cut off')
    const effect = /^This is attempt 2 of 4\. If it fails too, the next one begins .+ to .+ later\.$/
    const title = await row
      .getByRole('button', { name: /^Retry .* now$/, includeHidden: true })
      .getAttribute('title')
    assert.match(String(title), effect)
    await show(`messages/${id}`)
    await page.getByText(effect).waitFor()
    let reads = 0
    const restore = await intercept(page, '**/v1/skills/message-attempts', async (route) => {
      const response = await route.fetch()
      const json = await response.json()
      // As if the attempt had ended after its outcome was read.
      if (json.result[0]?.attempt === 2 && reads++ < 2) json.result[0].outcome = 'running'
      await route.fulfill({ response, json })
    })
    await press('Retry now')
    await page.getByText(/^It failed again\. The next attempt begins in \d+ (?:h|min)\.$/).waitFor()
    await restore()
    assert.match(await page.title(), /^customs of a very long order/)
    await show('messages?outcome=retrying')
    const next = row.locator('.run-time')
    await next.filter({ hasText: 'again in' }).waitFor()
    await row.hover()
    await page.getByRole('button', { name: `Retry ${id} now` }).click()
    await next.filter({ hasText: /^again in/ }).waitFor()
    assert.equal(await next.isVisible(), true, 'also beside the button')
    const button = await page.getByRole('button', { name: `Retry ${id} now` }).boundingBox()
    assert.ok(Number(button?.x) + Number(button?.width) <= Number((await next.boundingBox())?.x))
    await show('messages?search="No money"')
    await page.getByRole('link', { name: /^\d+ error:"No money"$/ }).click()
    await row.first().waitFor()
    await show('routes')
    const route = page
      .getByRole('row')
      .filter({ has: page.getByRole('link', { name: 'customs', exact: true }) })
    await route.getByRole('link', { name: '1 tried again' }).waitFor()
    await route.getByRole('link', { name: 'customs', exact: true }).click()
    await page.getByText(/^1 message is tried again after a failed attempt\.$/).waitFor()
    const retried = page.getByRole('list', { name: 'Tried again' }).getByRole('link')
    assert.match(String(await retried.textContent()), /attempt \d failed, again in \d+ (?:h|min)/)
    await page.getByRole('list', { name: 'Why attempts failed' }).getByText('no money').waitFor()
    await page.setViewportSize({ width: 390, height: 844 })
    const text = await retried.locator('.one-line').boundingBox()
    assert.ok(Number(text?.width) > 250, 'on a phone, the text of a message has the width')
    await page.setViewportSize({ width: 1440, height: 900 })
  })

  test('the attempts of messages that come in are loaded about once a second', async () => {
    await page.setViewportSize({ width: 1440, height: 900 })
    // While the pointer is on the list, no row moves.
    await page.mouse.move(0, 0)
    await show('messages?text=parcel')
    await page.getByText('0 messages', { exact: true }).waitFor()
    const begun = performance.now()
    let requests = 0
    let underWay = 0
    let most = 0
    const restore = await intercept(page, '**/v1/skills/message-attempts', async (route) => {
      requests++
      most = Math.max(most, ++underWay)
      const response = await route.fetch()
      underWay--
      await route.fulfill({ response })
    })
    for (const each of Array(12).keys()) {
      await post(`parcel ${each}`)
      const row = page.getByRole('listitem').filter({ hasText: `parcel ${each}` })
      await row.first().waitFor()
      // The first one does not wait.
      if (each === 0)
        await row
          .locator('.run-time')
          .filter({ hasText: /^[\d.]+ m?s$/ })
          .waitFor()
    }
    const times = page.locator('.run-time').filter({ hasText: /^[\d.]+ m?s$/ })
    await until(async () => (await times.count()) === 12, 'the times of all messages')
    const seconds = (performance.now() - begun) / 1_000
    assert.ok(requests <= seconds + 2, `${requests} requests in ${seconds} s`)
    assert.equal(most, 1)
    await restore()
  })

  test('a request for attempts that is never answered does not hold up the next ones', async () => {
    await page.setViewportSize({ width: 1440, height: 900 })
    // While the pointer is on the list, no row moves.
    await page.mouse.move(0, 0)
    await show('messages?text=tent')
    await page.getByText('0 messages', { exact: true }).waitFor()
    await page.evaluate(
      '{ const { timeout } = AbortSignal; AbortSignal.timeout = (ms) => timeout.call(AbortSignal, ms / 20) }',
    )
    let requests = 0
    const restore = await intercept(page, '**/v1/skills/message-attempts', (route) =>
      requests++ === 0 ? undefined : route.continue(),
    )
    const row = (text: string) => page.getByRole('listitem').filter({ hasText: text })
    await post('tent 1')
    await row('tent 1').waitFor()
    await until(() => requests > 0, 'the request')
    await post('tent 2')
    await row('tent 2')
      .locator('.run-time')
      .filter({ hasText: /^[\d.]+ m?s$/ })
      .waitFor()
    await restore()
  })

  test('a message shows that its reply was not sent', async () => {
    await show(`messages/${await post('hello')}`)
    await page.getByText(/It was handled, but its reply was not sent: .*respond: result/).waitFor()
  })

  test('after a retry, a notice shows the outcome, and the message who retried it', async () => {
    const id = await post('charge 1')
    await until(
      async () => [await daemon.invoke('dead-letter-list', { group: 'charges' })].flat().length === 1,
      'a dead letter',
    )
    await show('dead-letters?group=charges')
    const search = page.getByLabel('Search dead letters')
    await search.fill('"nothing such"')
    await page.getByRole('link', { name: 'Search all messages for "nothing such"' }).waitFor()
    await search.fill('"charge 1" money')
    await page.waitForURL(/search=%22charge\+1%22\+money/)
    await page.getByText('1 in 1 kind').waitFor()
    await show('dead-letters?group=charges')
    await page.getByText('from 1 sender', { exact: false }).first().waitFor()
    await press('Retry')
    // It is soon replaced by the outcome.
    const begun = page.locator('.toast').getByText('1 dead letter is being retried …').waitFor()
    await Promise.all([begun, answer('Retry')])
    await page.locator('.toast').getByText('Retried, and failed again: 1 dead letter.').waitFor()
    await page.locator('.toast').getByRole('link', { name: 'See the message' }).waitFor()
    await page
      .locator('p[role=status]')
      .getByText('Retried, and failed again: 1 dead letter. no money')
      .waitFor()
    await show(`messages/${id}`)
    await timeline.getByText('retried', { exact: true }).waitFor()
    await timeline.getByText(/by control token/).waitFor()
  })

  test('a retried dead letter whose first attempt fails says why, and when the next one begins', async () => {
    const id = await post('customs again')
    const state = async () => Object(await daemon.invoke('message-show', { id })).outcome
    await until(async () => (await state()) === 'retrying', 'the end of the first attempt')
    await daemon.invoke('run-cancel', { messageId: id, reason: 'for a probe' })
    await show('dead-letters?group=customs&error=probe')
    await press('Retry')
    await answer('Retry')
    const text = /^Retried, and failed again: no money\. The next attempt begins in \d+ (?:h|min)\./
    await page.locator('p[role=status]').getByText(text).waitFor()
  })

  test('the error of a dead message is in its row, and a search for it leads to the dead letters', async () => {
    await show('messages?outcome=dead')
    const row = page.locator('.row').filter({ hasText: 'charges' })
    await row.locator('.cause').getByText('no money', { exact: true }).waitFor()
    assert.match(
      (await row.locator('.has-cause').textContent()) ?? '',
      /charge.*no money/,
      'the text is first',
    )
    await page.getByLabel('Outcome').selectOption('failed')
    await row.waitFor()
    await show('messages?search=status:dead "no money"')
    await page.getByText('Words are not searched in errors.', { exact: false }).waitFor()
    await page.getByRole('link', { name: '1 charges: no money' }).click()
    await page.getByRole('heading', { name: 'Dead letters of charges' }).waitFor()
    await page.getByRole('link', { name: /charge 1/ }).click()
    await page.locator('#main').getByRole('link', { name: 'See the message' }).waitFor()
    await page.getByRole('definition').getByRole('link', { name: 'shop', exact: true }).waitFor()
    // The first attempt, and that of the retry.
    const failures = timeline.getByText(/no money$/)
    await failures.first().waitFor()
    assert.equal(await failures.count(), 2)
  })

  test('the audit log shows the title of a decision, and is filtered by the target', async () => {
    await post('refund')
    let request: { id?: string } = {}
    await until(async () => {
      request = Object([await daemon.invoke('approval-list')].flat()[0])
      return request.id !== undefined
    }, 'a request')
    await daemon.invoke('approval-decide', { id: request.id, approve: true })
    await show('audit?action=approval-decide')
    const row = page.getByRole('row').filter({ hasText: 'Refund 20 EUR · order 4711' })
    await row.getByRole('link', { name: /ago$/ }).click()
    await page.getByRole('heading', { name: /^Approved/ }).waitFor()
    const title = page.locator('.audit-sentence').getByRole('link', { name: 'Refund 20 EUR · order 4711' })
    assert.match((await title.getAttribute('href')) ?? '', new RegExp(`approvals.*${request.id}`))
    await show('audit')
    await page.getByLabel('Search the audit log').fill('charges')
    await page
      .getByRole('cell', { name: /dead letter/ })
      .filter({ hasText: 'charges' })
      .first()
      .waitFor()
    await page.getByRole('cell', { name: /^Approved/ }).waitFor({ state: 'detached' })
  })

  test('the palette resumes a paused route, and finds routes and what can be retried', async () => {
    const find = async (text: string, option: string | RegExp) => {
      await page.keyboard.press('Control+k')
      await page.keyboard.type(text)
      await page.getByRole('option', { name: option }).waitFor()
    }
    await find('pause route rest', /Pause route rest/)
    await page.keyboard.press('Enter')
    await dialog.getByLabel('Reason').fill('a test')
    await page.keyboard.press('Enter')
    const paused = async () => [await daemon.invoke('pause-list')].flat().length
    await until(async () => (await paused()) === 1, 'the pause')
    await find('resume', /Resume route rest/)
    await page.keyboard.press('Enter')
    await until(async () => (await paused()) === 0, 'the end of the pause')
    for (const [text, option] of [
      ['retry', /Retry dead letters/],
      ['cancel', /Cancel a running attempt/],
      ['replay', /Replay events/],
      ['charges', /charges.*route/],
    ] as const) {
      await find(text, option)
      await page.keyboard.press('Escape')
    }
  })

  test('the help with search words is closed by Escape or a click outside, which does nothing else', async () => {
    await show('messages')
    const help = page.getByRole('dialog', { name: 'Search words' })
    await press('Help with search words')
    await help.waitFor()
    await page.keyboard.press('Escape')
    await help.waitFor({ state: 'detached' })
    await press('Help with search words')
    const { x = 0, y = 0, width = 0 } = (await help.boundingBox()) ?? {}
    await page.mouse.click(x + width + 20, y + 20)
    await help.waitFor({ state: 'detached' })
    await page.getByRole('heading', { name: 'Messages' }).waitFor()
  })

  test('a paused gateway shows who paused it and why', async () => {
    await daemon.invoke('gateway-pause', { gateway: 'shop', reason: 'moving house' })
    await show('gateways/shop')
    await page
      .locator('.pause-note')
      .getByText(/moving house/)
      .waitFor()
    await daemon.invoke('gateway-resume', { gateway: 'shop' })
  })

  test('a route and its skill say what waits, and which conversation is taken over', async () => {
    const id = await post('refund of order 4712')
    await until(async () => {
      const { outcome } = Object(await daemon.invoke('message-show', { id }))
      return outcome === 'approval'
    }, 'the request for approval')
    const waits = page.getByText(/^\d+ messages? waits? for an approval/)
    await show('configuration/refunds')
    await waits.waitFor()
    await show('skills/echo')
    await waits.filter({ hasText: '(route refunds)' }).waitFor()
    const hello = () => daemon.post('/desk', JSON.stringify({ text: 'hello', talk: 'ada' }))
    await hello()
    const { messages } = Object(await daemon.invoke('message-search', { gateway: 'desk', limit: 1 }))
    const of = { gateway: 'desk', conversation: messages[0].conversation }
    await daemon.invoke('conversation-pause', of)
    await hello()
    await show('configuration/desk')
    await page.getByText(`The conversation ${of.conversation} is taken over`).waitFor()
    await page.getByText('Only this conversation is held. The route handles all others.').waitFor()
    await daemon.invoke('conversation-resume', of)
    await show(`messages/${await post('a charge with links')}`)
    const facts = page.locator('.facts')
    await facts.getByRole('link', { name: 'charges', exact: true }).waitFor()
    await facts.getByRole('link', { name: 'charge', exact: true }).waitFor()
  })

  test('a route shows its messages over time, and why they failed', async () => {
    await post('another charge of a route')
    await until(async () => {
      const groups = await daemon.invoke('dead-letter-groups', { group: 'charges' })
      return Array.isArray(groups) && groups.length > 0
    }, 'its dead letter')
    await show('configuration/charges')
    const traffic = page.getByRole('region', { name: 'Traffic' })
    await traffic.getByRole('img', { name: /^Messages over time\. .* failed/ }).waitFor()
    const causes = traffic.getByRole('list', { name: 'Why messages failed' })
    await causes.getByText(/^no money$/).waitFor()
    await traffic.getByRole('combobox').selectOption('6h')
    await until(() => page.url().endsWith('configuration/charges?since=6h'), 'the range in the address')
    const figure = (name: RegExp) => traffic.locator('.figure').filter({ hasText: name })
    const failed = figure(/^Failed\d/).getByRole('link', { name: /^\d+ \(\d+ %\)$/ })
    await failed.waitFor()
    await figure(/^More than one attempt/).waitFor()
    await figure(/^Waited, p50 \/ p95\s*\d.* \/ \d/).waitFor()
    await figure(/^Ran, p50 \/ p95\s*\d.* \/ \d/).waitFor()
    // The causes are those of the failed messages, whenever these failed.
    await until(async () => {
      const counts = await causes.locator('b').allTextContents()
      const all = Number.parseInt(String(await failed.textContent()), 10)
      return all === counts.reduce((sum, many) => sum + Number(many), 0)
    }, 'as many causes as failed messages')
    assert.deepEqual(await faultsOf(page), [])
    await causes.getByRole('link').first().click()
    await page.getByText(/^Only those of messages that arrived since /).waitFor()
    assert.match(page.url(), /group=charges&arrivedSince=/)
  })
})
