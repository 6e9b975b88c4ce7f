import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { goTo, openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /hooks/shop, verify: { scheme: none } }
subscriptions:
  - { name: crm, topic: orders, url: "http://127.0.0.1:9/crm", allow-private: true, secret: whsec_${'c2VjcmV0'.repeat(5)} }
schedules:
  - { name: nightly, cron: "0 3 * * *", skill: refund, args: { order: none, amount: 0 } }
routes:
  - { name: refunds, match: { gateway: shop, text: "*refund*" }, skill: refund, args: { order: "4711", amount: 20 } }
  - name: guarded
    match: { gateway: shop, text: "*guard*" }
    skill: echo
    approval: { title: "Echo for {from}: {text}", timeout: 90m }
  - { name: desk, match: { gateway: shop, text: "*desk*" }, skill: desk }
  - { name: rest, match: { gateway: shop }, skill: echo }
`
const REFUND = `import { z } from 'zod'
export default {
  description: 'Pays back',
  args: z.object({ order: z.string(), amount: z.number() }),
  metadata: { approval: { title: 'Refund {amount} · order {order}', timeout: '2h' } },
  run: ({ args }) => 'paid ' + args.amount,
}`
const LONG_REASON = `the box was empty. ${'It was very empty. '.repeat(20)}End of the reason.`
const DESK = `export default {
  description: 'Answers customers',
  run: ({ manager }) => manager.invoke('payback', { order: '4711', reason: ${JSON.stringify(LONG_REASON)} }),
}`
const PAYBACK = `import { z } from 'zod'
export default {
  description: 'Pays back',
  args: z.object({ order: z.string(), reason: z.string() }),
  metadata: { approval: { title: 'Pay back order {order}' } },
  run: () => 'paid',
}`

describe('pauses and approvals in the console', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: { refund: REFUND, desk: DESK, payback: PAYBACK } })
  const daemon = await site.start()
  const { page, dialog, show, press, answer, shots } = await openConsole(() => daemon)
  const names = async () =>
    [await daemon.invoke('pause-list')].flat().map((each) => `${Object(each).kind} ${Object(each).name}`)

  test('a skill and a route are paused with a reason; one view lists everything that is paused', async () => {
    await show('skills')
    await press('Pause skill refund')
    await dialog.getByLabel('Reason').fill('wrong amounts')
    assert.deepEqual(await faultsOf(page), [])
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Resume skill refund' }).waitFor()
    // Enter in the reason pauses for an hour.
    await page
      .getByRole('row')
      .filter({ hasText: 'refund' })
      .getByText(/^paused until /)
      .waitFor()
    await daemon.invoke('subscription-pause', { name: 'crm' })
    await daemon.invoke('schedule-pause', { id: 'nightly' })
    await show('paused')
    await page.getByText('wrong amounts').waitFor()
    await page.getByLabel('Name').selectOption('rest')
    await press('Pause …')
    await dialog.getByText('Pause: route rest?').waitFor()
    await answer(/^for an hour/)
    await page.getByRole('button', { name: 'Resume route rest' }).waitFor()
    await page
      .getByRole('row')
      .filter({ hasText: 'rest' })
      .getByText(/^in \d+ min$/)
      .waitFor()
    assert.deepEqual(await names(), ['skill refund', 'route rest', 'subscription crm', 'schedule nightly'])
    await daemon.post('/hooks/shop', JSON.stringify({ text: 'a letter of news' }))
    await until(
      async () => [await daemon.invoke('pause-list')].flat().some((each) => Object(each).waiting === 1),
      'a held message',
    )
    await show('configuration/rest')
    await page.getByRole('list', { name: 'Waiting messages' }).getByText('a letter of news').waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('paused-route')
    await show('configuration?show=routes')
    const routes = page.locator('.route-table tbody tr')
    await routes.filter({ hasText: 'refund' }).getByText('skill refund paused').first().waitFor()
    const routeRow = routes.filter({ has: page.getByRole('link', { name: 'rest', exact: true }) })
    await routeRow.getByText(/^paused until /).waitFor()
    await routeRow.getByText('by control token', { exact: true }).waitFor()
    await routeRow.getByRole('button', { name: 'Resume route rest' }).waitFor()
    await show('paused')
    await page.getByRole('link', { name: '1 message', exact: true }).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('paused')
    await page.getByRole('link', { name: '1 message', exact: true }).click()
    await page.waitForURL('**/#/messages?outcome=waiting&route=rest')
    const rows = page.getByRole('list', { name: 'Messages' }).getByRole('listitem')
    await rows.filter({ hasText: 'a letter of news' }).waitFor()
    assert.equal(await rows.count(), 1)
    // On a narrow screen the column of the route is left out.
    await page.setViewportSize({ width: 1440, height: 900 })
    await rows.getByText('paused: route rest').waitFor()
    await rows.locator('.route').getByText('rest', { exact: true }).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('held-rows')
    await page.setViewportSize({ width: 1200, height: 900 })
    const id = (await rows.locator('a').getAttribute('href'))?.split('/').at(-1) ?? ''
    const attempts = await site.run(['message', 'attempts', id])
    assert.match(attempts.out, /rest\s.*waiting\s+paused: route rest/)
    await show('now')
    const card = page.getByRole('listitem').filter({ hasText: 'Route rest is paused' })
    await card.getByText('1 message waits.').waitFor()
    await card.getByRole('link', { name: 'See it' }).click()
    await page.waitForURL('**/#/messages?outcome=waiting&route=rest')
    await page.getByRole('button', { name: 'route: rest ✕' }).waitFor()
    await show('routes')
    await page
      .getByRole('row')
      .filter({ hasText: 'rest' })
      .getByText(/^paused until /)
      .waitFor()
    await show('paused')
    await press('Change the pause of route rest')
    // Enter keeps the end.
    await dialog.getByLabel('Reason').fill('still broken')
    await page.keyboard.press('Enter')
    const rest = page.getByRole('row').filter({ hasText: 'rest' })
    await rest.getByText('still broken').waitFor()
    await rest.getByText(/^in \d+ min$/).waitFor()
    await press('Change the pause of route rest')
    await answer(/^\+4 hours, until/)
    await page.getByText(/^The pause of route rest is changed: until .*\d\d:\d\d\.$/).waitFor()
    await rest.getByText(/^in [45] h$/).waitFor()
    // An end before the present one says so.
    await press('Change the pause of route rest')
    await answer('until …')
    await dialog.getByLabel('Date and time').fill(localTime(Date.now() + 2 * 3_600_000))
    await dialog.getByText(/^The pause is then [23] h.* shorter\.$/).waitFor()
    await answer('Cancel')
    const top = async () =>
      Object(await page.getByRole('button', { name: 'Resume schedule nightly' }).boundingBox()).y
    const before = await top()
    const wordOf = (name: string) => page.getByRole('button', { name }).textContent()
    assert.equal(await wordOf('Resume skill refund'), 'Resume')
    assert.equal(await wordOf('Resume route rest'), 'Resume …')
    await press('Resume skill refund')
    await press('Resume route rest')
    await dialog.getByText('1 message waits and runs now, oldest first.').waitFor()
    await answer('Resume')
    await page.getByText('The route rest is resumed. 1 message had waited, and runs now.').waitFor()
    await press('Resume subscription crm')
    await rest.getByText('1 message had waited:').waitFor()
    const done = await rest.getByRole('link', { name: '1 done' }).getAttribute('href')
    assert.match(done ?? '', /^#\/messages\?outcome=done&route=rest&since=.*&until=/)
    const found = await page.context().newPage()
    await found.goto(`${daemon.control}/${done}`)
    await found.getByRole('list', { name: 'Messages' }).getByText('a letter of news').waitFor()
    await found.close()
    assert.ok(Math.abs((await top()) - before) < 8, 'the next button is where it was')
    await press('Resume schedule nightly')
    assert.deepEqual(await faultsOf(page), [])
    await shots('resumed')
    await until(async () => (await names()).length === 0, 'no pause')
    await page.reload()
    await page.getByText('Nothing is paused.').waitFor()
    assert.deepEqual(await names(), [])
  })

  test('a request has a title with its arguments and a countdown, and is decided by keys', async () => {
    const results = [20, 35].map((amount) =>
      daemon.invoke('refund', { order: '<i>1</i>', amount }).catch(String),
    )
    await show('approvals')
    const request = page.getByRole('article', { name: 'Refund 20 · order <i>1</i>' })
    await request.getByText(/Denied automatically in 11\d min/).waitFor()
    await page.getByRole('article', { name: 'Refund 35' }).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('approvals')
    // The first request gets the focus: either of the two.
    await page.keyboard.press('j')
    const focused = () => page.evaluate("document.activeElement.querySelector('h2')?.textContent ?? ''")
    const first = String(await focused())
    await page.keyboard.press('j')
    assert.notEqual(await focused(), first)
    await page.keyboard.press('k')
    assert.equal(await focused(), first)
    await page.keyboard.press('d')
    await dialog.getByText(/^It does not run; (the caller|whoever called refund) gets the reason\./).waitFor()
    assert.equal(await dialog.getByText('order').count(), 1, 'the dialog does not repeat the arguments')
    await shots('approval-dialog')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('article').filter({ hasText: 'Deny …' }).first().focus()
    await page.keyboard.press('d')
    await dialog.getByLabel('Reason').fill('not this one')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Control+Enter')
    await page.getByText('denied by').waitFor()
    const leftOf = async (title: string) =>
      Object(await page.getByRole('article').getByText(title).first().boundingBox()).x
    assert.equal(await leftOf('Refund 20'), await leftOf('Refund 35'), 'a decided title does not move')
    await dialog.waitFor({ state: 'detached' })
    // Without a focused request, the first key opens the dialog of the first one that waits, and
    // what follows is its reason.
    await page.reload()
    await page.getByRole('article').filter({ hasText: 'Approve …' }).waitFor()
    await page.keyboard.type('aadd a photo')
    await page.keyboard.press('Enter')
    assert.equal(await dialog.getByLabel('Reason').inputValue(), 'add a photo')
    assert.deepEqual(await faultsOf(page), [])
    await shots('approval-typed')
    await answer('Approve refund')
    const texts = (await Promise.all(results)).map(String)
    await show('audit?what=Refund 35')
    await page.getByRole('row').filter({ hasText: 'Refund 35' }).waitFor()
    assert.equal(await page.getByRole('row').filter({ hasText: 'Refund 20' }).count(), 0)
    await page.getByRole('link', { name: /^Refund 35/ }).waitFor()
    await show('audit?action=skill-pause')
    assert.match(
      String(await page.getByRole('link', { name: 'refund', exact: true }).getAttribute('href')),
      /skills\/refund$/,
    )
    await show('audit?action=subscription-pause')
    assert.match(
      String(await page.getByRole('link', { name: 'crm', exact: true }).getAttribute('href')),
      /queues\/orders\/crm$/,
    )
    await show('audit?what=nothing of it')
    await page.getByRole('link', { name: 'Clear the filters' }).waitFor()
    await show('approvals')
    assert.ok(
      texts.some((text) => /not this one/.test(text)) && texts.some((text) => /^paid /.test(text)),
      texts.join(),
    )
  })

  test('requests that end in another order than they came can be ordered by their deadlines', async () => {
    const result = daemon.invoke('refund', { order: 'late', amount: 1 }).catch(String)
    const pending = async () => [await daemon.invoke('approval-list', { status: 'pending' })].flat()
    await until(async () => (await pending()).length === 1, 'the first request')
    await daemon.post('/hooks/shop', JSON.stringify({ text: 'guard, but late' }))
    await until(async () => (await pending()).length === 2, 'the second request')
    await show('approvals?search=late')
    const titles = () => page.getByRole('article').getByRole('heading').allTextContents()
    await until(async () => (await titles()).length === 2, 'both')
    assert.match((await titles())[0] ?? '', /Refund 1/)
    await page.getByLabel('Order', { exact: true }).selectOption('next deadline first')
    await until(async () => /guard, but late/.test((await titles())[0] ?? ''), 'the shorter time first')
    for (const each of await pending())
      await daemon.invoke('approval-decide', { id: Object(each).id, approve: false })
    await result
  })

  test('requests are ordered and searched by amount, and several are decided in one dialog', async () => {
    const amounts = [70, 30, 45, 400]
    const results = amounts.map((amount) => daemon.invoke('refund', { order: 'box', amount }).catch(String))
    await show('approvals?search=box')
    const cards = page.getByRole('article')
    const titles = async () =>
      (await cards.getByRole('heading').allTextContents()).map((text) =>
        Number(/Refund (\d+)/.exec(text)?.[1]),
      )
    await until(async () => (await titles()).length === 4, 'all requests')
    await page.getByLabel('Order', { exact: true }).selectOption('amount, lowest first')
    await until(async () => (await titles()).join() === '30,45,70,400', 'the lowest first')
    await page.getByLabel('Order', { exact: true }).selectOption('amount, highest first')
    await until(async () => (await titles()).join() === '400,70,45,30', 'the highest first')
    await page.getByRole('searchbox').fill('box amount<50')
    await until(async () => (await titles()).join() === '45,30', 'those below 50')
    // The first key selects the focused card.
    await cards.first().focus()
    await page.keyboard.press('x')
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await page.getByText('2 selected').waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('approvals-selected')
    await page.keyboard.press('d')
    await page.getByRole('heading', { name: 'Deny 2 requests?' }).waitFor()
    await dialog.getByText('Refund 45').waitFor()
    await dialog.getByLabel(/^Reason for /).fill('not these')
    assert.deepEqual(await faultsOf(page), [])
    await page.keyboard.press('Control+Enter')
    await page.locator('.toast').getByText('2 requests denied.').waitFor()
    assert.equal(await page.getByText('2 selected').count(), 0)
    await until(
      async () => (await cards.getByText(/denied by control token.*: not these/).count()) === 2,
      'both',
    )
    // They stay in the list, but no longer wait; the search still matches.
    await page.getByRole('button', { name: 'Waiting', exact: true }).waitFor()
    await page.getByRole('button', { name: /^Decided 2$/ }).waitFor()
    await page.getByRole('searchbox').fill('box')
    await page.getByRole('button', { name: /^Waiting 2$/ }).waitFor()
    await page.getByRole('checkbox', { name: 'Select Refund 70' }).check()
    await page.getByRole('checkbox', { name: 'Select Refund 400' }).check()
    await press('Approve 2 …')
    await dialog.getByText('2 calls run immediately.').waitFor()
    await answer('Approve 2')
    const [seventy, thirty] = (await Promise.all(results)).map(String)
    assert.equal(seventy, 'paid 70')
    assert.match(String(thirty), /not these/)
  })

  test('a request is also decided on its message, in the same dialog, which names the route', async () => {
    const { body } = await daemon.post('/hooks/shop', JSON.stringify({ text: 'guard\nme \u202e' }))
    const { id } = Object(body)
    const pending = async () => [await daemon.invoke('approval-list', { status: 'pending' })].flat()
    const [request] = await until(async () => {
      const found = await pending()
      return found.length > 0 ? found : undefined
    }, 'a request')
    assert.match(String(Object(request).title), /^Echo for .*: .*guard.*me/)
    assert.doesNotMatch(String(Object(request).title), /[\n\u202e]/)
    assert.equal(Object(request).route, 'guarded')
    await show('approvals')
    await page.getByLabel('The message').getByText(/guard/).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('approval-quote')
    await show(`messages/${id}`)
    await press(/^Approve Echo for/)
    await dialog.getByText('route guarded').waitFor()
    await dialog.getByLabel('The message').getByText(/guard/).waitFor()
    await answer('Approve echo')
    await page.getByRole('heading', { name: /done$/ }).waitFor()
  })

  test('an approval says for which pauses its call waits; the message says which held it, and how the run ended', async () => {
    const { body } = await daemon.post('/hooks/shop', JSON.stringify({ text: 'guard the gate' }))
    const { id } = Object(body)
    const asked = async () =>
      [await daemon.invoke('approval-list', { status: 'pending' })].flat().length > 0 || undefined
    await until(asked, 'a request')
    await daemon.invoke('gateway-pause', { gateway: 'shop', reason: 'the gate is stuck', for: '2h' })
    await daemon.invoke('route-pause', { route: 'guarded' })
    await show('approvals')
    const request = page.getByRole('article').filter({ hasText: 'guard the gate' })
    await request
      .getByText('Once approved: It runs when gateway shop and route guarded are resumed.')
      .waitFor()
    await request.getByRole('button', { name: /^Approve/ }).click()
    await dialog.getByText('It does not run yet.').waitFor()
    await dialog
      .getByText(/gateway shop is paused by control token for .*, until .*: the gate is stuck/)
      .waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('approval-paused-dialog')
    await dialog.getByLabel('Reason').fill('I know the gate')
    await answer('Approve echo')
    await request.getByText(/^approved by control token, .* ago\): I know the gate$/).waitFor()
    await request.getByText('It runs when gateway shop and route guarded are resumed.').waitFor()
    // Both pauses hold it, so both count it, and the route lists it.
    await show('configuration/guarded')
    await page.getByRole('heading', { name: 'Waiting messages' }).waitFor()
    await page.getByRole('list', { name: 'Waiting messages' }).getByText('guard the gate').waitFor()
    await page.getByText(/^The gateway shop is paused by control token/).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('paused-route-and-gateway')
    await show(`messages/${id}`)
    await page
      .locator('.now-it')
      .getByText('It runs when gateway shop and route guarded are resumed.')
      .waitFor()
    await daemon.invoke('route-resume', { route: 'guarded' })
    await daemon.invoke('gateway-resume', { gateway: 'shop' })
    const entries = page.getByRole('listitem')
    await entries.filter({ hasText: /approved by control token \(console\): I know the gate/ }).waitFor()
    await entries
      .filter({ hasText: 'held by the pause of gateway shop by control token: the gate is stuck' })
      .waitFor()
    await entries.filter({ hasText: 'held by the pause of route guarded by control token' }).waitFor()
    await page.getByText(/^It ran .* ago, in/).waitFor()
    assert.equal(await page.getByText('Requested by:').count(), 0)
    await page.getByText('Its text').click()
    await page.getByLabel('Text of the request').getByText('Requested by:').waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('message-held')
    await page
      .getByRole('link', { name: /^Echo for .*guard the gate/ })
      .first()
      .click()
    await page
      .getByRole('article')
      .getByText(/^approved by control token/)
      .waitFor()
  })

  test('a denied request says so on its message, to the sender, and among the decided ones', async () => {
    const { body } = await daemon.post('/hooks/shop', JSON.stringify({ text: 'guard the moon' }))
    const { id } = Object(body)
    const request = await until(async () => {
      const [found] = [await daemon.invoke('approval-list', { status: 'pending' })].flat()
      return found ? Object(found) : undefined
    }, 'a request')
    await daemon.invoke('approval-decide', { id: request.id, approve: false, reason: 'not tonight' })
    await show(`messages/${id}`)
    const state = page.locator('.now-it')
    await state
      .getByText('Not approved: denied by control token: not tonight. The call did not run.')
      .waitFor()
    await page.getByLabel('Reply').getByText('an operator denied it: not tonight').waitFor()
    await state.getByRole('link', { name: 'Not approved' }).click()
    await page.getByText(/^denied by control token, .* ago\): not tonight \(to .+\)$/).waitFor()
    await page.getByRole('heading', { level: 1, name: /guard the moon/ }).waitFor()
    // Also what the sender got for it.
    await page.getByLabel('Answer to the sender').getByText('an operator denied it: not tonight').waitFor()
    await show('approvals')
    await press('Decided')
    const first = page.getByRole('region', { name: 'Decided' }).locator('tbody tr').first()
    await first.getByText(/guard the moon/).waitFor()
    await first.getByRole('cell', { name: 'control token', exact: true }).waitFor()
    await first.getByText(/^not tonight/).waitFor()
    await first.getByText(/^was (not )?told: .*an operator denied it: not tonight/).waitFor()
    await first.getByText(/^\d+ [A-Z]\w+, \d\d:\d\d:\d\d$/).waitFor()
    await first.getByRole('link', { name: /^Audit entry of/ }).click()
    await page.waitForURL(/#\/audit\?what=/)
    await page
      .locator('main')
      .getByText(/not tonight/)
      .first()
      .waitFor()
    await page.goBack()
    const search = page.getByRole('searchbox', { name: 'Search in the requests' })
    await search.fill('no such thing')
    await first.waitFor({ state: 'detached' })
    await press('Waiting')
    await search.fill('moon tonight')
    await page.getByText('No waiting request matches.').waitFor()
    await press('Show 1 decided one')
    await first.getByText(/guard the moon/).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('approvals-decided')
  })

  test('five requests fit on a screen; one unfolds, and its dialog says who gets the reason', async () => {
    const pending = async () =>
      [await daemon.invoke('approval-list', { status: 'pending' })].flat().map(Object)
    for (let at = 0; at < 5; at++) await daemon.post('/hooks/shop', JSON.stringify({ text: `desk ${at}` }))
    await until(async () => (await pending()).length === 5, 'five requests')
    await page.setViewportSize({ width: 1440, height: 900 })
    await show('approvals')
    const cards = page.getByRole('article')
    await cards.nth(4).waitFor()
    await cards.nth(4).getByText('desk 4').waitFor()
    await shots('approvals-five')
    const { y, height } = Object(await cards.nth(4).boundingBox())
    assert.ok(y + height < 900, `the last card ends at ${y + height}`)
    assert.equal(await cards.getByText('pending').count(), 0)
    assert.deepEqual(await faultsOf(page), [])
    await shots('approvals-five')
    const first = cards.first()
    const [{ message }] = await pending()
    assert.equal(
      await first.getByRole('link', { name: 'the conversation' }).getAttribute('href'),
      `#/conversations/shop/${message.conversation}`,
    )
    // What a folded card leaves out is in the dialog.
    await first.getByRole('button', { name: /^Deny/ }).click()
    await dialog.getByText('It does not run; the skill desk gets the reason and writes the answer.').waitFor()
    await dialog.getByText(/End of the reason/).waitFor()
    await page.keyboard.press('Escape')
    await first.getByRole('button', { name: /^More/ }).click()
    await first.getByText(/End of the reason/).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('approval-unfolded')
    await first.getByRole('button', { name: /^Deny/ }).click()
    assert.equal(await dialog.getByText(/End of the reason/).count(), 0)
    // The dialog covers the card, so it shows the person and the message.
    await dialog.getByText(/^For /).waitFor()
    await dialog.getByLabel('The message').getByText(/desk/).waitFor()
    await dialog.getByLabel('Reason for the skill desk').fill('the box was full')
    await answer('Deny payback')
    await first.getByText(/^denied by control token, .*: the box was full \(to the skill desk\)$/).waitFor()
    await page.getByRole('button', { name: /^Waiting 4$/ }).waitFor()
    assert.equal(await page.locator('.toast').count(), 0, 'the card shows the decision')
    for (const { id } of await pending()) await daemon.invoke('approval-decide', { id, approve: false })
    await page.setViewportSize({ width: 1200, height: 900 })
  })

  test('a request says what was decided for the same person', async () => {
    const guard = (text: string) =>
      fetch(`${daemon.control}/v1/messages`, {
        method: 'POST',
        headers: { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ gateway: 'shop', from: 'ada', text }),
      })
    const pending = async () =>
      [await daemon.invoke('approval-list', { status: 'pending' })].flat().map(Object)
    const request = () => until(async () => (await pending())[0], 'a request')
    await guard('guard one')
    await daemon.invoke('approval-decide', { id: (await request()).id, approve: false })
    await guard('guard two')
    const { by } = await request()
    await show('approvals')
    // The card of the first request may still be there: what ends while it is visible stays.
    const card = page.getByRole('article').filter({ hasText: 'guard two' })
    await card.getByRole('link', { name: 'earlier: 1 denied' }).waitFor()
    // The dialog covers the card, and says it too; so does the page of the request.
    await card.getByRole('button', { name: /^Deny/ }).click()
    await dialog.getByRole('link', { name: 'earlier: 1 denied' }).waitFor()
    await page.keyboard.press('Escape')
    await guard('guard three')
    await card.getByRole('link', { name: /^also waiting: Echo for .*guard three/ }).waitFor()
    const third = (await pending()).find(({ title }) => /guard three/.test(title))
    await show(`approvals?id=${third.id}`)
    await page.getByRole('link', { name: /^also waiting: Echo for .*guard two/ }).waitFor()
    await daemon.invoke('approval-decide', { id: third.id, approve: false })
    await show('approvals')
    await card.getByRole('link', { name: 'earlier: 2 denied' }).waitFor()
    await card.getByRole('button', { name: /^More/ }).click()
    await card.getByRole('heading', { name: 'Earlier decisions' }).waitFor()
    await card.getByRole('link', { name: /guard one/ }).waitFor()
    assert.equal(
      await card.getByRole('link', { name: 'the person' }).getAttribute('href'),
      `#/people?who=${encodeURIComponent(by)}`,
    )
    assert.deepEqual(await faultsOf(page), [])
    await card.getByRole('link', { name: 'earlier: 2 denied' }).click()
    await page
      .getByRole('region', { name: 'Decided' })
      .getByRole('cell', { name: 'ada', exact: true })
      .first()
      .waitFor()
    await daemon.invoke('approval-decide', { id: (await request()).id, approve: false })
  })

  test('on a phone, the text comes before the buttons, and the dialog has all of it', async () => {
    const from = 'bartholomew.featherstonehaugh@customers.example'
    const text = `guard ${'I would like my money back. '.repeat(40)}End of the text.`
    await fetch(`${daemon.control}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ gateway: 'shop', from, text }),
    })
    await page.setViewportSize({ width: 390, height: 844 })
    await show('approvals')
    const card = page.getByRole('article').filter({ hasText: from })
    await card.getByText(from, { exact: true }).first().waitFor()
    const quote = Object(await card.getByLabel('The message').boundingBox())
    const deny = card.getByRole('button', { name: /^Deny/ })
    assert.ok(Object(await deny.boundingBox()).y >= quote.y + quote.height, 'the text comes first')
    await deny.click()
    const whole = dialog.getByLabel('The message')
    await whole.focus()
    await page.keyboard.press('End')
    const isAtEnd = () =>
      whole.evaluate((box) => Math.abs(box.scrollHeight - box.scrollTop - box.clientHeight) < 2)
    await until(isAtEnd, 'the end')
    assert.match(String(await whole.textContent()), /End of the text\.$/)
    assert.equal(
      await whole.locator('.quoted').evaluate((box) => box.scrollHeight > box.clientHeight + 1),
      false,
    )
    assert.deepEqual(await faultsOf(page), [])
    await dialog.getByLabel(/^Reason/).fill('a long reason, '.repeat(30))
    await answer('Deny echo')
    await card.getByText(/^denied by/).waitFor()
    await page.setViewportSize({ width: 1440, height: 900 })
    await press('Decided')
    const cell = page.getByRole('cell', { name: from, exact: true })
    await cell.waitFor()
    const lines = await cell.evaluate((box) => {
      const range = box.ownerDocument.createRange()
      range.selectNodeContents(box)
      return range.getClientRects().length
    })
    assert.equal(lines, 1, 'an address is not broken')
    await page.setViewportSize({ width: 1200, height: 900 })
  })

  test('a skill is paused by three presses, also on a phone and by keyboard', async () => {
    const paused = async () => Object([await daemon.invoke('pause-list')].flat()[0])
    for (const width of [1200, 390]) {
      await page.setViewportSize({ width, height: 844 })
      await show('now')
      await show('skills')
      await press('Pause skill refund')
      await dialog.getByText(/^Messages of route refunds are accepted, but wait/).waitFor()
      // A field with the focus would open the keyboard of the phone over the buttons.
      const focused = width === 390 ? 'button.primary' : 'input'
      await dialog.locator(`${focused}:focus`).waitFor()
      assert.deepEqual(await faultsOf(page), [])
      await answer(/^for an hour, until .*\d\d:\d\d$/)
      await page.getByRole('button', { name: 'Resume skill refund' }).waitFor()
      const left = (await paused()).until - Date.now()
      assert.ok(left > 3_500_000 && left <= 3_601_000, String(left))
      await press('Resume skill refund')
      await page.getByText('The skill refund is resumed. No message had waited.').first().waitFor()
      await page.getByRole('button', { name: 'Pause skill refund' }).waitFor()
    }
    await page.setViewportSize({ width: 1200, height: 900 })
    const opener = page.getByRole('button', { name: 'Pause skill refund' })
    await opener.focus()
    await page.keyboard.press('Enter')
    await dialog.getByText('Pause: skill refund?').waitFor()
    await page.keyboard.press('Escape')
    // The focus is back on the button.
    await page.keyboard.press('Enter')
    await dialog.getByText('Pause: skill refund?').waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Resume skill refund' }).waitFor()
    const left = (await paused()).until - Date.now()
    assert.ok(left > 800_000 && left <= 901_000, String(left))
    await page.keyboard.press('Enter')
    await opener.waitFor()
  })

  test('the pause dialog says what happens to running and waiting messages, and takes a clock time', async () => {
    await show('routes')
    await page.getByRole('link', { name: 'rest', exact: true }).click()
    await press('Pause route rest')
    await dialog.getByText('Running attempts finish: none runs now. No message waits yet.').waitFor()
    await dialog.getByLabel('Reason').pressSequentially('new label printer')
    await answer('until …')
    const time = dialog.getByLabel('Date and time')
    await time.fill('2020-01-01T10:00')
    await dialog.getByText('This time is past.').waitFor()
    assert.equal(await dialog.getByRole('button', { name: 'Pause until then' }).isDisabled(), true)
    const local = localTime(Date.now() + 5 * 3_600_000)
    await time.fill(local)
    assert.deepEqual(await faultsOf(page), [])
    await shots('pause-until')
    await answer('Pause until then')
    await page.getByRole('button', { name: 'Resume route rest' }).waitFor()
    const [pause] = [await daemon.invoke('pause-list')].flat().map(Object)
    assert.equal(pause.reason, 'new label printer')
    assert.ok(Math.abs(pause.until - Date.parse(local)) < 5_000)
    await daemon.post('/hooks/shop', JSON.stringify({ text: 'first' }))
    await daemon.post('/hooks/shop', JSON.stringify({ text: 'second' }))
    await until(async () => Object([await daemon.invoke('pause-list')].flat()[0]).waiting === 2, 'two wait')
    await press('Resume route rest')
    await dialog.getByText('2 messages wait and run now, oldest first.', { exact: true }).waitFor()
    await answer('Cancel')
    assert.deepEqual(await names(), ['route rest'])
    const { messages } = Object(await daemon.invoke('message-search', { outcome: 'waiting', route: 'rest' }))
    const { gateway, conversation } = messages[0]
    await daemon.invoke('conversation-pause', { gateway, conversation })
    await press('Resume route rest')
    await dialog
      .getByText('1 message waits and runs now, oldest first. Another pause still holds 1')
      .waitFor()
    await answer('Cancel')
    await daemon.invoke('conversation-resume', { gateway, conversation })
    await show('now')
    const trouble = page.getByRole('listitem').filter({ hasText: 'Route rest is paused' })
    await trouble.getByRole('button', { name: 'Resume rest' }).click()
    await dialog.getByText(/^2 messages wait/).waitFor()
    await answer('Resume')
    await until(async () => (await names()).length === 0, 'no pause')
  })

  test('the card of a paused gateway says who, why and until when, and its buttons stay in their places', async () => {
    await show('gateways')
    const card = page.getByRole('article', { name: 'shop' })
    const place = async (name: string) =>
      (await card.getByRole('button', { name }).boundingBox()) ?? undefined
    // The card changes its height when its traffic has loaded.
    await card.getByText(/^last hour, peak/).waitFor()
    const before = await place('Pause gateway shop')
    await press('Pause gateway shop')
    await dialog.getByLabel('Reason').fill('wrong amounts, which the bank has noticed')
    await answer('for 4 hours')
    await card.getByText(/^Paused by control token for .*, until .*: wrong amounts, which the bank/).waitFor()
    assert.deepEqual(await place('Resume gateway shop'), before)
    assert.deepEqual(await faultsOf(page), [])
    await shots('paused-gateway-card')
    await press('Resume gateway shop')
    await card.getByRole('button', { name: 'Pause gateway shop' }).waitFor()
  })

  test('the way back has the name of the parent, also from another list and after a reload', async () => {
    const { body } = await daemon.post('/hooks/shop', JSON.stringify({ text: 'a letter' }))
    const { id } = Object(body)
    await show('gateways')
    await page.getByRole('link', { name: 'shop', exact: true }).click()
    await goTo(page, `${daemon.control}/#/messages/${id}`)
    const back = page.getByRole('navigation', { name: 'Way back' }).getByRole('link').first()
    const name = async () => String(await back.textContent()).trim()
    await back.waitFor()
    assert.equal(await name(), '← Messages')
    await page.reload()
    await back.waitFor()
    assert.equal(await name(), '← Messages')
    await back.click()
    await page.waitForURL('**/#/messages')
  })

  test('a title with an unknown argument of the skill is refused with its place', async () => {
    site.write(
      'routes.yaml',
      ROUTES.replace('Echo for {from}', 'Refund {amount} of {ordre}').replace('skill: echo', 'skill: refund'),
    )
    const { err, out } = await site.run(['route', 'check'])
    assert.match(err + out, /routes\.yaml:\d+:\d+.*\n?.*there is no argument "ordre"; did you mean "order"\?/)
  })
})

/** A time (Unix ms) as in a field for date and time. */
function localTime(at: number): string {
  return new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
