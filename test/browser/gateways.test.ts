import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole, untilCopied } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { intercept } from '../fixtures/intercept.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none } }
  hub:
    transport: webhook
    path: /hub
    challenge: { at: query.hub.challenge, when: { query.hub.verify_token: "\${HUB_TOKEN}" } }
    verify: { scheme: github, secret: "\${HUB_SECRET}" }
  till: { transport: webhook, path: /till, verify: { scheme: github, secret: "secret-of-the-till" } }
  post:
    transport: email
    address: post@shop.example
    imap: { host: 127.0.0.1, port: 1, tls: none, user: clerk, pass: closed }
    smtp: { host: 127.0.0.1, port: 1, tls: none }
routes:
  - { name: mails, match: { gateway: post }, skill: echo }
  - { name: hubs, match: { gateway: hub }, skill: echo }
  - { name: all, skill: echo }
`
/** The secret of the sender; the gateway still has the old one. */
const NEW_SECRET = 'new-secret-of-the-hub'

describe('gateways in the console', { timeout: 600_000 }, async () => {
  const site = openSite({
    routes: ROUTES,
    env: {
      HUB_SECRET: 'old-secret-of-the-hub',
      HUB_TOKEN: 'token-of-the-hub',
      TRIVIUM_PUBLIC_URL: 'https://bots.example.com/',
    },
  })
  const daemon = await site.start()
  const { page, show, press, shots } = await openConsole(() => daemon)
  const deliver = (n: number, path = '/hub') => {
    const body = `{"text":"<i>${n}</i>"}`
    const signature = createHmac('sha256', NEW_SECRET).update(body).digest('hex')
    return daemon.post(path, body, {
      'x-github-event': 'ping',
      'x-hub-signature-256': `sha256=${signature}`,
    })
  }

  test('show their rate, last message and refusals; refusals are grouped with their likely cause', async () => {
    for (let n = 0; n < 12; n++) await deliver(n)
    for (let n = 0; n < 3; n++) await daemon.post('/shop', `{"n":${n}}`)
    await show('gateways')
    await page.getByRole('article', { name: 'shop' }).getByText('0.6 a minute').waitFor()
    await page.getByRole('article', { name: 'hub' }).getByText('12 refused (100 %)').waitFor()
    await page.getByRole('article', { name: 'hub' }).getByText('no message yet').waitFor()
    await page.getByRole('article', { name: 'hub' }).getByText('refuses all').waitFor()
    // First the broken gateway, then the one that refuses all, then the others in the order of the
    // file.
    assert.deepEqual(await page.locator('.gateway-card h2').allTextContents(), [
      'post',
      'hub',
      'shop',
      'till',
      'cli',
    ])
    await page.getByRole('article', { name: 'hub' }).getByText('last hour, peak: 12 a minute').waitFor()
    await page.getByRole('navigation').getByRole('link', { name: 'Gateways 2' }).waitFor()
    const group = page.locator('.refusal-groups > li')
    await group.getByText('100 % of the deliveries since then, last').waitFor()
    await group.getByText('the secret here probably differs from that of the sender').waitFor()
    assert.match((await group.textContent()) ?? '', /^12 hub/)
    assert.deepEqual(await faultsOf(page), [])
    await shots('gateways')
  })

  test('the page of one has its full address and its routes', async () => {
    await show('gateways/till')
    const fact = (name: string) => page.locator('.facts > div').filter({ hasText: name })
    await fact('address for its sender').getByText('https://bots.example.com/till').waitFor()
    await press('Copy')
    await untilCopied(page, 'https://bots.example.com/till')
    await fact('routes').getByRole('link', { name: 'all', exact: true }).waitFor()
    assert.equal(await fact('routes').getByRole('link', { name: 'mails' }).count(), 0)
    // Not each of those that the assistant has on every gateway.
    await fact('routes')
      .getByText(/^all and \d+ that come with skills$/)
      .waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('gateway-flow')
    // Their link leads to these alone.
    const ofSkills = fact('routes').getByRole('link', { name: /^\d+ that come with skills$/ })
    const many = Number.parseInt((await ofSkills.textContent()) ?? '', 10)
    await ofSkills.click()
    await page.getByText(`${many} routes of skills that took nothing`).waitFor()
    assert.match(page.url(), /search=(@|%40)webhook/)
  })

  test('try another secret on refused deliveries without showing it', async () => {
    await show('gateways/hub')
    const failing = page.locator('.checks > li').filter({ hasText: 'deliveries' })
    await failing.getByText('failing', { exact: true }).waitFor()
    await failing
      .getByText(/Refuses every delivery: 12 of 12 deliveries .* the secret here probably differs/)
      .waitFor()
    await page.getByText('The state above is from its own traffic.', { exact: false }).waitFor()
    const field = page.getByLabel('Try another secret on the refused deliveries')
    assert.equal(await field.getAttribute('type'), 'password')
    await press('Try')
    await page.getByText('Type or paste the secret first.').waitFor()
    await field.fill('not-it-either')
    await press('Try')
    await page.getByText('it does not fit').waitFor()
    await field.fill(` ${NEW_SECRET}`)
    await press('Try')
    await page.getByText('It has blanks around it, which were removed for this check.').waitFor()
    await field.fill(NEW_SECRET)
    await press('Try')
    await page.getByText('It has blanks around it').waitFor({ state: 'detached' })
    await page.getByText('it fits').waitFor()
    await page.getByText('It fits all 12 refused deliveries that are kept.').waitFor()
    const line = `secret: ["\${HUB_SECRET}", "\${HUB_SECRET_NEW}"]`
    await page.getByText(line, { exact: true }).waitFor()
    await press('Copy the line')
    await untilCopied(page, line)
    await page
      .getByRole('definition')
      .getByText(/verify\.secret in routes\.yaml, line 8, from HUB_SECRET in \.env/)
      .waitFor()
    assert.ok(!(await page.locator('main').textContent())?.includes(NEW_SECRET))
    assert.equal(await page.locator('main i').count(), 0)
    assert.deepEqual(await faultsOf(page), [])
    await shots('gateway')
    await page.locator('.try-secret').getByRole('link', { name: 'routes.yaml, line 8' }).click()
    await page.locator('.code .wanted').getByText('verify:').waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: /^hub/ }).waitFor()
    // A faulty correction is named where somebody waits for its effect.
    const failed = page.getByRole('region', { name: 'The last reload failed' })
    site.write('routes.yaml', ROUTES.replace('skill: echo', 'skil: echo'))
    await failed.getByText(/unknown key "skil"/).waitFor()
    await page.getByRole('heading', { name: /^hub/ }).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await field.fill(NEW_SECRET)
    await press('Try')
    await page.getByText('it fits').waitFor()
    // The secret may be corrected now: what is shown is from before.
    const change = async (second: string) => {
      site.write('routes.yaml', ROUTES.replace(`"\${HUB_SECRET}"`, `["\${HUB_SECRET}", "${second}"]`))
      const headers = { authorization: `Bearer ${daemon.token}` }
      assert.ok((await fetch(`${daemon.control}/v1/reload`, { method: 'POST', headers })).ok)
    }
    await change(NEW_SECRET)
    await page
      .getByText('The configuration was read again since the secret was tried. Try it again.')
      .waitFor()
    assert.equal(await page.locator('.try-secret .new-line').count(), 0)
    assert.equal(await failed.count(), 0)
    await page
      .getByText(/^The gateway was changed .* after the last refused delivery.* Nothing was delivered since/)
      .waitFor()
    await page.getByRole('heading', { name: 'hub changed, not proven yet' }).waitFor()
    const group = page.locator('.refusal-groups > li')
    await group.getByText(/^The new configuration would accept all 12 refused deliveries/).waitFor()
    await field.fill(NEW_SECRET)
    await press('Try')
    await page.getByText('It is in force already. Let the sender repeat').waitFor()
    assert.equal(await page.locator('.new-line').count(), 0)
    await change('another-secret')
    await group.getByText(/would refuse all 12 refused deliveries that are kept again/).waitFor()
    await page.getByRole('heading', { name: 'hub refuses all' }).waitFor()
    await show('now')
    await page.getByText(/^Daemon started .* ago\)$/).waitFor()
  })

  test('show their messages and refusals over a range, which the address has', async () => {
    await show('gateways/hub')
    const figure = (name: string) => page.locator('.figure').filter({ hasText: name })
    await figure('Refused').getByText('12 (100 %)').waitFor()
    const chart = page.getByRole('img', { name: /^Refused deliveries over time\. .*: 1?\d/ })
    await chart.waitFor()
    const range = page.locator('.traffic-over-time').getByRole('combobox')
    await range.selectOption('6h')
    await chart.getByText(/^up to 12 in 5 minutes$/).waitFor()
    assert.match(page.url(), /gateways\/hub\?since=6h$/)
    await page.reload()
    await figure('Refused').getByText('12 (100 %)').waitFor()
    assert.equal(await range.inputValue(), '6h')
    assert.deepEqual(await faultsOf(page), [])
    await shots('gateway-traffic')
    await show('gateways/shop?since=24h')
    await figure('Messages').getByRole('link', { name: '3', exact: true }).click()
    await page.getByRole('heading', { name: 'Messages' }).waitFor()
    assert.match(page.url(), /#\/messages\?gateway=shop&since=/)
  })

  test('a count that takes several calls is not begun anew, and another range has no numbers of the last one', async () => {
    const other = await page.context().newPage()
    await other.addInitScript('const real = Date.now; Date.now = () => real() + (window.later ?? 0)')
    let calls = 0
    let finish = () => {}
    const finished = new Promise<void>((resolve) => {
      finish = resolve
    })
    await intercept(other, '**/v1/skills/gateway-traffic', async (route) => {
      const { since } = route.request().postDataJSON()
      if (since === undefined) return route.continue()
      if (since === '7d') {
        const error = { code: 'store_unavailable', message: 'no store' }
        return route.fulfill({ status: 503, json: { error } })
      }
      calls++
      const response = await route.fetch()
      const json = await response.json()
      const [{ history }] = json.result
      // As if it had taken too long to count the oldest messages.
      if (calls === 1) history.countedTo = history.from + history.width
      else await finished
      return route.fulfill({ response, json })
    })
    await other.goto(`${daemon.control}/#/gateways/shop?since=24h`)
    await other.getByText(/^Messages before .* are not counted yet\.$/).waitFor()
    await until(() => calls === 2, 'the second call')
    await other.evaluate('window.later = 600_000')
    await other
      .getByText(/^1\d min ago$/)
      .first()
      .waitFor()
    finish()
    const messages = other.locator('.figure').filter({ hasText: 'Messages' })
    await messages.getByRole('link', { name: '3', exact: true }).waitFor()
    assert.equal(calls, 2)
    await other.locator('.traffic-over-time').getByRole('combobox').selectOption('7d')
    await other.getByText('The traffic could not be read: no store Trying again.').waitFor()
    assert.equal(await messages.count(), 0)
    await other.close()
  })

  test('that refuse all deliveries are shown at their routes, and first on a phone', async () => {
    // Since the change above, none was delivered.
    await deliver(12)
    await show('routes')
    const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'hubs', exact: true }) })
    await row.getByRole('link', { name: 'hub refuses every delivery' }).waitFor()
    await row.getByRole('link', { name: 'hubs', exact: true }).click()
    await page.getByText(/^Its gateway hub refuses every delivery for .*\(signature_invalid\)/).waitFor()
    await page.setViewportSize({ width: 390, height: 844 })
    await show('gateways/hub')
    const topOf = async (heading: string) =>
      (await page.getByRole('heading', { name: heading, exact: true }).boundingBox())?.y ?? 0
    await page.getByRole('heading', { name: 'Newest messages' }).waitFor()
    await page.getByLabel('Try another secret on the refused deliveries').waitFor()
    assert.ok((await topOf('Refusals')) < (await topOf('Newest messages')))
    assert.ok((await topOf('Refusals')) < (await topOf('Traffic')))
    assert.deepEqual(await faultsOf(page), [])
    await page.setViewportSize({ width: 1200, height: 900 })
  })

  test('that are paused do not count as working, here and on their page', async () => {
    await daemon.invoke('gateway-pause', { gateway: 'shop', reason: 'stocktaking' })
    await daemon.post('/shop', '{"text":"waits"}')
    await show('gateways')
    const shop = page.getByRole('article', { name: 'shop' })
    const head = shop.getByRole('banner').or(shop.locator('header'))
    await head.getByText('paused', { exact: true }).waitFor()
    assert.equal(await head.getByText('works').count(), 0)
    await shop.getByText(/^Paused by control token for .*, until it is resumed: stocktaking/).waitFor()
    await shop.getByRole('link', { name: '1 message', exact: true }).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('gateways-paused')
    await show('gateways/shop')
    await page.getByRole('heading', { name: 'shop paused' }).waitFor()
    await shots('gateway-paused')
    await show('now')
    await page.getByText('stocktaking. 1 message waits.').waitFor()
    await page.getByRole('row').filter({ hasText: 'dispatch' }).getByText('1 held by pauses').waitFor()
    await shots('now-paused')
    await daemon.invoke('gateway-resume', { gateway: 'shop' })
  })

  test('from which workers pull have their backlog, and Now counts only these', async () => {
    await daemon.invoke('gateway-receive', { gateway: 'shop', timeout: 0 })
    await show('gateways/shop')
    const facts = page.getByRole('definition')
    await facts
      .getByText(/^\d+ messages? not pulled, oldest .*, last pull .* ago by control token$/)
      .waitFor()
    const waiting = async () =>
      Object(await daemon.invoke('gateway-show', { gateway: 'shop' })).pulled.messages
    const before = await waiting()
    await daemon.invoke('gateway-receive', { gateway: 'shop', timeout: 0 })
    assert.equal(await waiting(), before - 1)
    await facts.getByText(new RegExp(`^${before - 1} messages? not pulled`)).waitFor()
    await show('now')
    const road = page.getByRole('row').filter({ hasText: 'receive' })
    await road.getByText(/^\d+ not pulled; last pull \d+ (?:s|min) ago$/).waitFor()
    await show('gateways/hub')
    await page.getByRole('heading', { name: /^hub/ }).waitFor()
    assert.equal(await facts.getByText(/not pulled/).count(), 0)
  })

  test('show since when a mailbox cannot be read, and its login', async () => {
    await show('gateways')
    await page
      .getByRole('article', { name: 'post' })
      .getByText(/^for \d+ (?:s|min)$/)
      .waitFor()
    await page.getByRole('link', { name: 'post', exact: true }).click()
    const fact = (name: string) => page.locator('dl.facts > div').filter({ hasText: name })
    await fact('does not work')
      .getByText(/for \d+ (?:s|min), since/)
      .waitFor()
    await fact('login').getByText('clerk at 127.0.0.1:1').waitFor()
    await fact('what to do').getByText('Check login, address and token of the provider').waitFor()
    await show('routes')
    const route = page
      .getByRole('row')
      .filter({ has: page.getByRole('link', { name: 'mails', exact: true }) })
    await route.getByText('post does not work', { exact: true }).waitFor()
    await route.getByRole('link', { name: 'mails', exact: true }).click()
    await page.getByText(/^Its gateway post does not work/).waitFor()
    // Not in `/readyz`, which needs no token.
    assert.doesNotMatch(JSON.stringify(await (await fetch(`${daemon.control}/readyz`)).json()), /clerk/)
    await shots('gateway-down')
  })

  test('keep the filter of the refusals in the address', async () => {
    await show('gateways/hub')
    const search = page.getByLabel('Search the refusals')
    await search.fill('reason:signature_invalid nothing-like-it')
    await page.getByText('None of the kept refusals matches.').waitFor()
    assert.match(page.url(), /reason=signature_invalid&text=nothing-like-it$/)
    await page.reload()
    await page.getByText('None of the kept refusals matches.').waitFor()
    assert.equal(await search.inputValue(), 'reason:signature_invalid nothing-like-it')
    await search.fill('')
    await page.locator('.refusal-groups > li').getByText('signature_invalid').waitFor()
    assert.match(page.url(), /#\/gateways\/hub$/)
  })

  test('count on a phone towards the number of problems, which is that of Now', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    await show('dead-letters')
    const { troubles } = Object(await daemon.invoke('troubles', {}))
    const wrong = Array.from(troubles).filter((each) => Object(each).severity !== 'info').length
    await page.getByRole('button', { name: new RegExp(`^Dead letters .*${wrong}$`) }).waitFor()
    await page.setViewportSize({ width: 1200, height: 900 })
  })

  test('have a list of refusals that keeps a quiet gateway beside a noisy one, and says what it leaves out', async () => {
    await deliver(0, '/till')
    for (let n = 0; n < 50; n++) await deliver(n)
    await show('gateways')
    const list = page.locator('details', { hasText: 'Each refusal, newest first' }).first()
    await list.locator('summary', { hasText: '(the newest 50 of each gateway are kept)' }).waitFor()
    await list.locator('summary').first().click()
    await list.locator('.refusals > li').filter({ hasText: 'till' }).waitFor()
    await list.locator('.refusals > li').filter({ hasText: 'hub' }).getByText('50 ×').waitFor()

    // Many more than the rows shown: refusals of one millisecond are not in the order of delivery,
    // so some share a row.
    for (let n = 0; n < 45; n++) {
      await deliver(n)
      await deliver(n, '/till')
    }
    await show('gateways/hub')
    await page.getByText('(the newest 50 are kept)').waitFor()
    await show('gateways')
    await page.getByText('(the newest 50 rows are shown)').waitFor()
    assert.equal(await page.locator('.refusals > li').count(), 50)
  })

  test('find no refusal by a part that it does not have', async () => {
    await daemon.post('/nowhere', '')
    await show('gateways?text=nowhere')
    await page.locator('.refusals > li').getByText('not_found').waitFor()
    await show('gateways?text=undefined')
    await page.getByText('None of the kept refusals matches.').waitFor()
  })
})
