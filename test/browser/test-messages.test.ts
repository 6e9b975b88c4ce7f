import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole, untilCopied } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { intercept } from '../fixtures/intercept.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  hub: { transport: webhook, path: /hub, verify: { scheme: github, secret: a-secret-of-the-hub } }
  shop: { transport: webhook, path: /shop, verify: { scheme: none } }
routes:
  - { name: pushes, match: { gateway: hub, event: push, data.body.ref: refs/heads/main }, skill: pushed }
  - { name: paid, match: { gateway: shop, event: order.paid }, skill: flaky, retry: { attempts: 1 } }
`
const PUSHED = `export default { description: 'notes a push', run: ({ message }) => 'pushed by ' + message.data.body.pusher.name }`
const FLAKY = `export default { description: 'fails', run() { throw new Error('out of stock') } }`

describe('test messages in the console', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: { pushed: PUSHED, flaky: FLAKY } })
  const daemon = await site.start()
  const { page, dialog, show, press, answer, shots } = await openConsole(() => daemon)
  const verdict = page.locator('.verdict')
  const start = page.getByLabel('start from')
  const countMessages = async () => Object(await daemon.invoke('message-search', {})).messages.length

  test('start from a sample of the provider, and show which route answers and why', async () => {
    await show('compose')
    await page.getByLabel('gateway').selectOption('hub')
    await start.selectOption('push')
    await verdict.getByText('pushes answers: the skill pushed runs.').waitFor()
    const routing = page.locator('.would')
    await routing.getByText('event wants').first().waitFor()
    assert.equal(await routing.getByText('remember').first().isVisible(), false)
    const text = page.getByLabel('text')
    await text.fill((await text.inputValue()).replace('refs/heads/main', 'refs/heads/next'))
    await verdict.getByText('No route matches.').waitFor()
    await routing.locator('li li').filter({ hasText: 'data.body.ref' }).first().waitFor()
    await start.selectOption('issues: opened')
    await start.selectOption('push')
    await verdict.getByText('pushes answers').waitFor()
    assert.deepEqual(await faultsOf(page), [])
  })

  test('show their result and reply, are sent again without a confirmation, and stay in the history', async () => {
    // The reply is recorded after the outcome: the first two answers have the outcome, but no reply
    // yet.
    let answersWithoutReply = 2
    const restore = await intercept(page, '**/v1/skills/message-show', async (route) => {
      const response = await route.fetch()
      const json = await response.json()
      const { outcome, history } = json.result
      if (outcome === 'done' && answersWithoutReply-- > 0)
        json.result.history = history.filter(({ road }: { road: string }) => road !== 'outbox')
      await route.fulfill({ response, json })
    })
    await press('Send test message')
    await dialog.getByText('Send this message to hub?').waitFor()
    await dialog.getByText(/becomes a dead letter/).waitFor()
    await dialog.getByText('No consumer group and no push gets it.').waitFor()
    await answer('Send test message')
    await page.getByLabel('Reply').getByText('pushed by ada').waitFor()
    assert.ok(answersWithoutReply <= 0)
    await restore()
    const took = page.locator('.came').getByLabel('What took it')
    await took.getByText('route pushes by event').waitFor()
    await took.getByText('skill pushed').waitFor()
    await page.locator('.came').getByText('It is a test: its reply is not sent.').waitFor()
    await page.locator('.came').getByRole('button', { name: 'Copy as curl' }).click()
    await untilCopied(page, /v1\/messages.*"test":true/)
    assert.equal(await countMessages(), 1)
    await page.locator('.came').getByRole('button', { name: 'Send again' }).click()
    await until(async () => (await countMessages()) === 2, 'another message')
    const tests = page.getByRole('region', { name: 'Tests of this browser' }).getByRole('row')
    await tests.nth(2).waitFor()
    await page.reload()
    await tests.nth(2).getByText('done').waitFor()
    assert.equal(await page.getByLabel('gateway').inputValue(), 'hub')
    await tests.nth(1).getByRole('button', { name: 'Edit' }).click()
    await verdict.getByText('pushes answers').waitFor()
    assert.match(await page.getByLabel('text').inputValue(), /refs\/heads\/main/)
    assert.deepEqual(await faultsOf(page), [])
    await shots('tests')
    await press('Forget them')
    await tests.first().waitFor({ state: 'detached' })
  })

  test('get their event from the body like a delivery, show a failure, and start from an earlier message', async () => {
    await daemon.post('/shop', JSON.stringify({ type: 'order.open', id: 7 }))
    await show('compose?gateway=shop')
    await start.selectOption('JSON with a type')
    await verdict.getByText('paid answers: the skill flaky runs.').waitFor()
    await press('Send test message')
    await answer('Send test message')
    await page.locator('.came').getByText('out of stock').first().waitFor()
    await page.getByLabel('text').fill('{"type":"order.sent"}')
    await verdict.getByText('No route matches.').waitFor()
    const arrived = start.locator('option').filter({ hasText: 'order.open' })
    await arrived.waitFor({ state: 'attached' })
    await start.selectOption((await arrived.getAttribute('value')) ?? '')
    await until(async () => /order\.open/.test(await page.getByLabel('text').inputValue()), 'its body')
  })

  test('keep a sample that is chosen as soon as another gateway is shown', async () => {
    await show('compose?gateway=hub')
    await start.waitFor()
    // In the task in which the gateway is shown, as on a slow machine.
    await page.evaluate(`new Promise((resolve) => {
      const choose = () => {
        const start = document.querySelector('#compose-start')
        start.value = [...start.options].find(({ text }) => text === 'JSON with a type').value
        start.dispatchEvent(new Event('change', { bubbles: true }))
        resolve()
      }
      addEventListener('hashchange', choose, { once: true })
      location.hash = '#/compose?gateway=shop'
    })`)
    await verdict.getByText('paid answers').waitFor()
  })

  test('point out a text that is broken JSON; a field with an error has no routing', async () => {
    await show('compose?gateway=shop')
    await start.selectOption('JSON with a type')
    await verdict.getByText('paid answers').waitFor()
    const text = page.getByLabel('text')
    const font = () =>
      page.evaluate<string>("getComputedStyle(document.querySelector('#field-text')).fontFamily")
    assert.match(await font(), /mono/)
    await text.fill('{"type": "order.paid",\n"name": "#9001", broken')
    const hint = 'Not valid JSON, line 2, column 18: expected a name in double quotes, found broken'
    await page.locator('#field-text-error').getByText(hint).waitFor()
    await verdict.getByText('No route matches. The text is not valid JSON').waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('broken-body')
    await press('Send test message')
    await dialog.getByText('The text is sent as it is. Not valid JSON, line 2').waitFor()
    await answer('Cancel')
    await text.fill('{"type": "order.paid"}')
    await verdict.getByText('paid answers').waitFor()
    await page.getByLabel('headers').fill('{ "a": ')
    await verdict.getByText('Not checked. headers: Invalid JSON, line 1, column 8').waitFor()
    assert.equal(await page.locator('.would').getByText('gateway wants').count(), 0)
    await page.getByLabel('headers').fill('')
    await text.fill('paid, thank you')
    assert.doesNotMatch(await font(), /mono/)
    await page.locator('#field-text-error').getByText('Not valid JSON').waitFor({ state: 'detached' })
  })

  test('show on a phone which route takes the message, while the text is typed', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    await show('compose?gateway=hub')
    await show('compose?gateway=shop')
    const line = page.locator('.send-bar .verdict')
    await page.getByLabel('text').fill('{"type": "order.paid"}')
    await line.getByText('paid answers').waitFor()
    const { y, height } = Object(await line.boundingBox())
    assert.ok(y + height < 844, `the line ends at ${y + height}`)
    assert.deepEqual(await faultsOf(page), [])
    await page.setViewportSize({ width: 1200, height: 900 })
    await line.waitFor({ state: 'detached' })
  })

  test('are marked in the lists of messages and dead letters and on their page, others are not', async () => {
    await show('messages?gateway=shop')
    const marked = page.locator('.list .row').filter({ hasText: 'order.paid' })
    await marked.getByText('test', { exact: true }).waitFor()
    const arrived = page.locator('.list .row').filter({ hasText: 'order.open' })
    await arrived.waitFor()
    assert.equal(await arrived.getByText('test', { exact: true }).count(), 0)
    await marked.locator('a').click()
    await page.getByRole('heading', { level: 1 }).getByText('test', { exact: true }).waitFor()
    await show('dead-letters')
    await page.locator('.group-head').getByText('test', { exact: true }).waitFor()
    await page.getByText('1 in 1 kind, 1 of them a test').waitFor()
    const { troubles } = Object(await daemon.invoke('troubles', {}))
    assert.doesNotMatch(JSON.stringify(troubles), /dead-letters/)
    const navigation = page.getByRole('navigation', { name: 'Views' })
    const deadLetters = navigation.getByRole('link', { name: 'Dead letters' })
    assert.equal(String(await deadLetters.textContent()).trim(), 'Dead letters')
    const metrics = await (await fetch(`${daemon.control}/metrics`)).text()
    assert.match(metrics, /trivium_dead_letters\{queue="dispatch"\} 0/)
    const { out } = await site.run(['status'])
    assert.match(out, /^dispatch +0 +(- +)?0/m)
    const shown = await site.run(['route', 'show', 'paid'])
    assert.match(shown.out, /^last day +1 +0 /m)
    assert.match(shown.out, /dead letters +0/)
    await show('routes')
    const paid = page.getByRole('row').filter({ hasText: 'paid' })
    await paid.waitFor()
    assert.doesNotMatch(String(await paid.textContent()), /dead letter/)
    await show('configuration/paid')
    await page
      .locator('.figure')
      .filter({ hasText: /^Failed/ })
      .getByRole('link', { name: '0', exact: true })
      .waitFor()
    await show('dead-letters')
    await page.locator('.group-head').getByRole('link', { name: 'paid' }).click()
    await page.locator('.list .row').getByText('test', { exact: true }).waitFor()
    await show('skills/flaky')
    await page.getByRole('region', { name: 'Last runs' }).getByText('test', { exact: true }).waitFor()
    const usage = Object(await daemon.invoke('skill-usage', { name: 'flaky' }))
    assert.deepEqual([usage.runs, usage.tests], [0, 1])
    assert.equal(usage.failed, 0)
    assert.deepEqual(usage.errors, [])
  })

  test('say before they are sent that they wait for a pause', async () => {
    await show('compose?gateway=shop')
    await page.getByLabel('text').fill('{"type": "order.paid"}')
    await verdict.getByText('paid answers: the skill flaky runs.').waitFor()
    await daemon.invoke('gateway-pause', { gateway: 'shop' })
    const waits =
      /the message waits while gateway shop \(until it is resumed\) is paused; then the skill flaky runs\./
    await page.locator('.verdict.warn').getByText(waits).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await press('Send test message')
    await dialog.getByText(waits).waitFor()
    await answer('Cancel')
    const draft = ['message', 'send', 'shop', '{"type": "order.paid"}', '--event', 'order.paid', '--explain']
    assert.match(
      (await site.run(draft)).out.replaceAll(/\s+/g, ' '),
      /The message would wait: gateway shop is paused until somebody resumes it\. `trivium gateway resume shop` resumes it\./,
    )
    await daemon.invoke('gateway-resume', { gateway: 'shop' })
    await daemon.invoke('route-pause', { route: 'paid', for: '2d' })
    await verdict.getByText(/while route paid \(until \d+ \w+ \d\d:\d\d\) is paused/).waitFor()
    assert.match((await site.run(draft)).out, /route paid is paused until \d{4}-\d\d-\d\d/)
    await daemon.invoke('route-resume', { route: 'paid' })
    await page.locator('.verdict.good').getByText('paid answers: the skill flaky runs.').waitFor()
    assert.doesNotMatch((await site.run(draft)).out, /would wait/)
    // Also a pause that ends before the daemon reports it, which it does every second.
    let isFirst = true
    const answered = Promise.withResolvers<void>()
    const restore = await intercept(page, '**/v1/explain', async (route) => {
      if (!isFirst) return route.continue()
      isFirst = false
      await daemon.invoke('route-pause', { route: 'paid' })
      const response = await route.fetch()
      await daemon.invoke('route-resume', { route: 'paid' })
      await route.fulfill({ response })
      answered.resolve()
    })
    await page.getByLabel('text').fill('{"type": "order.paid", "n": 1}')
    await answered.promise
    await page.locator('.verdict.good').getByText('paid answers: the skill flaky runs.').waitFor()
    await restore()
  })

  test('count the routes of the assistant instead of listing them', async () => {
    await show('compose?gateway=cli')
    const assistantRoutes = page.locator('.would details').filter({ hasText: 'routes of the assistant' })
    await assistantRoutes.waitFor()
    assert.equal(await page.locator('.would').getByText('remember-note').first().isVisible(), false)
    await page.getByLabel('text').fill('help')
    await verdict.getByText('help-words').waitFor()
  })

  test('begin with a real message, and show what became of it on each road', async () => {
    await daemon.invoke('event-subscribe', { topic: 'gateway-message', queue: 'archive' })
    const { body } = await daemon.post('/shop', JSON.stringify({ type: 'order.shipped', order: 5031 }))
    await show(`messages/${Object(body).id}`)
    await page.getByText('More', { exact: true }).click()
    await page.getByRole('link', { name: 'Send as a test' }).click()
    await page.getByText('A copy of a message').waitFor()
    assert.equal(await page.getByText('is no parameter of').count(), 0)
    await until(
      async () => /5031/.test(await page.getByLabel('text').inputValue()),
      'the body of the message',
    )
    await press('Send test message')
    await answer('Send test message')
    const roads = page.getByLabel('What took it')
    await roads.getByText('no route matches').waitFor()
    await roads.getByText('0 of 1 got it').waitFor()
    await daemon.invoke('event-wait', { topic: 'gateway-message', queue: 'archive', timeout: 1_000 })
    assert.deepEqual(await faultsOf(page), [])
    await shots('roads')
  })

  test('name the groups and pushes that get them, with what else these filter', async () => {
    const topic = 'gateway-message'
    const url = 'http://127.0.0.1:9/analytics'
    await daemon.invoke('event-subscribe', { topic, queue: 'archive' })
    await daemon.invoke('event-subscribe', { topic, queue: 'of-the-hub', match: { gateway: 'hub' } })
    await daemon.invoke('event-subscribe', { topic, queue: 'regex', match: { gateway: '/^sh/' } })
    await daemon.invoke('event-subscribe', {
      topic,
      queue: 'big',
      match: { gateway: 'SH*', 'data.body.big': 'true' },
    })
    await daemon.invoke('subscription-create', {
      name: 'analytics',
      topic,
      url,
      allowPrivate: true,
      match: { transport: 'webhook' },
    })
    await daemon.invoke('subscription-pause', { name: 'analytics' })
    await show('compose?gateway=shop')
    await page.getByLabel('text').fill('{"type": "order.named"}')
    await press('Send test message')
    await dialog.getByRole('listitem').first().waitFor()
    const named = await dialog.getByRole('listitem').allTextContents()
    assert.deepEqual(named.toSorted(), [
      'group archive',
      'group big if it matches data.body.big: true',
      'group regex if it matches gateway: /^sh/',
      'push analytics, when it is resumed',
    ])
    assert.deepEqual(await faultsOf(page), [])
    await shots('receivers')
    await answer('Cancel')
  })

  test('lose the sample and its headers with its gateway, but not a text that was changed', async () => {
    await show('compose?gateway=hub')
    const gateway = page.getByLabel('gateway')
    const text = page.getByLabel('text')
    const headers = page.getByLabel('headers')
    await start.selectOption('ping')
    await press('Send test message')
    await answer('Send test message')
    await page.getByLabel('What took it').waitFor()
    await gateway.selectOption('shop')
    await until(async () => /"type": "order.paid"/.test(await text.inputValue()), 'what its route wants')
    await verdict.getByText('paid answers: the skill flaky runs.').waitFor()
    assert.equal(await headers.inputValue(), '')
    await page.locator('.came summary').getByText('Result of the test at hub').waitFor()
    assert.equal(await page.getByLabel('What took it').isVisible(), false)
    await gateway.selectOption('hub')
    await page.getByLabel('What took it').waitFor()
    await start.selectOption('ping')
    await text.fill('{"zen": "mine"}')
    await gateway.selectOption('shop')
    await page
      .getByText('Written for hub, kept because you changed it: text. Check that it fits shop.')
      .waitFor()
    assert.equal(await text.inputValue(), '{"zen": "mine"}')
    assert.equal(await headers.inputValue(), '')
    assert.deepEqual(await faultsOf(page), [])
    await shots('other-gateway')
    await start.selectOption('plain text')
    await page.getByText('Written for hub').waitFor({ state: 'detached' })
  })

  test('that wait have no duration and, once erased, no text; an edited text stays when the page is left', async () => {
    await daemon.invoke('route-pause', { route: 'paid', for: '2h' })
    await show('compose?gateway=shop')
    const text = page.getByLabel('text')
    await text.fill('{"type": "order.paid", "note": "call Ada"}')
    await verdict.getByText(/the message waits while route paid/).waitFor()
    const { y, height } = Object(await page.getByRole('button', { name: 'Send test message' }).boundingBox())
    assert.ok(y + height <= 900, 'the button is in view')
    await press('Send test message')
    await dialog.getByText('a test is only retried in its first 5 minutes').waitFor()
    await answer('Send test message')
    const row = page.getByRole('region', { name: 'Tests of this browser' }).getByRole('row').nth(1)
    await row.getByText('waiting').waitFor()
    assert.equal(await row.locator('td.number').textContent(), '')
    const id = (await row.getByRole('link').first().getAttribute('href'))?.split('/').at(-1)
    await daemon.invoke('message-erase', { id, confirm: true, wait: 60_000 })
    await row.getByText('Its message is no longer kept: it was erased, or is too old.').waitFor()
    assert.equal(await row.getByRole('button').count(), 0)
    assert.doesNotMatch(await page.evaluate('localStorage.getItem("trivium-tests")'), /call Ada/)
    // Leave before the browser draws the text.
    await text.evaluate((field) => {
      Object(field).value = '{"type": "order.paid", "note": "mine"}'
      field.dispatchEvent(new Event('input', { bubbles: true }))
      Object(globalThis).location.hash = '#/routes'
    })
    await page.getByRole('region', { name: 'Routes', exact: true }).waitFor()
    await show('compose')
    await until(async () => /mine/.test(await text.inputValue()), 'the edited text')
    assert.equal(await page.getByLabel('gateway').inputValue(), 'shop')
    await daemon.invoke('route-resume', { route: 'paid' })
  })
})
