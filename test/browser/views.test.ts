import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { goTo, openPage } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { intercept } from '../fixtures/intercept.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /hooks/shop, verify: { scheme: none } }
  chat: { transport: websocket, path: /chat }
  bank: { transport: webhook, path: /hooks/bank, verify: { scheme: github, secret: "\${BANK_SECRET}" } }
subscriptions:
  - { name: crm, topic: orders, url: "http://127.0.0.1:9/crm", allow-private: true, secret: whsec_${'c2VjcmV0'.repeat(5)} }
routes:
  - { name: refunds, match: { gateway: shop, text: "*refund*" }, skill: fail, retry: { attempts: 1 } }
  - { name: rest, match: { gateway: shop }, skill: echo }
`
const FAIL = `export default { description: 'fails', run() { throw new Error('no') } }`
const PAY = `import { z } from 'zod'
export default {
  description: 'Pays back',
  args: z.strictObject({
    note: z.string().optional(),
    order: z.string().min(3).describe('Its number'),
    amount: z.number().max(500).default(20),
    reason: z.enum(['late', 'broken']).default('late'),
    tags: z.array(z.string()).default([]),
    to: z.object({ city: z.string() }).optional(),
  }),
  metadata: { annotations: { destructiveHint: true } },
  run: ({ args }) => ({ said: '<b>paid</b>', args }),
}`
const WIPE = `import { z } from 'zod'
export default {
  description: 'Wipes a disk',
  args: z.strictObject({ disk: z.string(), how: z.string().default('fast') }),
  metadata: { approval: true },
  run: ({ args }) => 'wiped ' + args.disk,
}`
const SECRET = 'of-the-environment-1'

describe('the views of an operator', { timeout: 600_000 }, async () => {
  const site = openSite({
    routes: ROUTES,
    skills: { fail: FAIL, pay: PAY, wipe: WIPE },
    env: { BANK_SECRET: SECRET },
  })
  const daemon = await site.start()
  const page = await openPage()
  const show = (view: string) => goTo(page, `${daemon.control}/#/${view}`)
  const press = (name: string | RegExp) => page.getByRole('button', { name }).click()
  const dialog = page.getByRole('dialog')
  const answer = (name: string) => dialog.getByRole('button', { name }).click()

  test('Now lists troubles, worst first, with links, without moving the rest of the page', async () => {
    await page.goto(`${daemon.control}/#token=${daemon.token}`)
    await page.getByText('All is well.').waitFor()
    const chart = page.getByRole('figure', { name: 'Messages a second' })
    await chart.locator('canvas').waitFor()
    const place = await chart.boundingBox()
    await daemon.invoke('subscription-pause', { name: 'crm' })
    await daemon.post('/hooks/shop', JSON.stringify({ text: 'a refund' }))
    await page.getByRole('link', { name: '1 dead letter of refunds', exact: true }).waitFor()
    await page.getByRole('link', { name: 'Push crm is paused' }).waitFor()
    const titles = page.getByRole('region', { name: 'What is wrong' }).locator('a[data-row]')
    assert.deepEqual(await titles.allTextContents(), ['1 dead letter of refunds', 'Push crm is paused'])
    assert.deepEqual(await chart.boundingBox(), place)
    await titles.first().click()
    await page.getByRole('heading', { name: 'Dead letters of refunds' }).waitFor()
  })

  test('a push is resumed, and the unread events of a group are skipped, after a confirmation', async () => {
    await daemon.invoke('event-subscribe', { topic: 'orders', queue: 'audit' })
    await daemon.invoke('event-emit', { topic: 'orders', data: 1 })
    await show('queues')
    await press('Resume crm')
    await dialog.getByText('Push to crm again?').waitFor()
    await answer('Resume')
    await press('Pause crm')
    await answer('Cancel')
    await page.getByText('ECONNREFUSED').first().waitFor()
    await press('Skip what audit has not read of orders')
    await answer('Skip 1 event')
    await until(async () => {
      const { groups } = Object(Object(await daemon.get('/v1/status')).result)
      return groups.some((each: object) => Object(each).group === 'audit' && Object(each).lag === 0)
    }, 'a group that has nothing left')
  })

  test('a gateway is checked only on request', async () => {
    const methods: string[] = []
    page.on('request', (request) => {
      if (request.url().endsWith('/v1/doctor')) methods.push(request.method())
    })
    await show('gateways/shop')
    await page.getByText('Not tested since the daemon started.', { exact: false }).waitFor()
    assert.ok(!methods.includes('POST'))
    const released = Promise.withResolvers<void>()
    const restore = await intercept(page, '**/v1/doctor', async (route) => {
      await released.promise
      await route.continue()
    })
    await press('Check now')
    await page.getByText(/^Checking for \d+ s/).waitFor()
    released.resolve()
    await page.getByText(/^Checked .* ago\.$/).waitFor()
    await restore()
    await page.getByText('senders are not verified', { exact: false }).first().waitFor()
    await show('gateways')
    await press('Check all')
    await page.getByText('All checks are ok.').waitFor()
  })

  test('similar requests for approval show how they differ, are decided after a confirmation, and stay in place', async () => {
    const results = ['a', '<i>b</i>'].map((disk) => daemon.invoke('wipe', { disk }).catch(String))
    await show('approvals')
    const requests = page.getByRole('article')
    await requests.nth(1).waitFor()
    const titles = await page.getByRole('heading', { level: 2 }).allTextContents()
    assert.deepEqual(
      titles.toSorted(),
      ['<i>b</i>', 'a'].map((disk) => `Run wipe: Wipes a disk disk ${disk}`),
    )
    await press(/^Approve .*disk a,/)
    await dialog.getByText('It runs immediately').waitFor()
    assert.match((await dialog.textContent()) ?? '', /Approve: Run wipe.*disk a/)
    await requests.getByText('fast').first().waitFor()
    await answer('Approve wipe')
    assert.equal(await results[0], 'wiped a')
    await page.getByText('approved by').waitFor()
    await press(/^Deny .*<i>b/)
    await dialog.getByLabel('Reason').fill('too late')
    await answer('Deny wipe')
    assert.match(String(await results[1]), /too late/)
    await page.getByText('too late').waitFor()
    assert.equal(await requests.count(), 2)
    assert.equal(await page.locator('main i').count(), 0)
  })

  test('a gateway shows its state, checks and refusals as text, and reconnects', async () => {
    await daemon.post('/hooks/bank', '{"x":"<i>no</i>"}')
    await show('gateways/bank')
    await page.getByText('signature_invalid').first().waitFor()
    await page.getByText('What was sent').click()
    await page.getByText('{"x":"<i>no</i>"}').waitFor()
    assert.equal(await page.locator('main i').count(), 0)
    await page.getByText(/verify github/).waitFor()
    // A webhook has no connection of its own.
    assert.equal(await page.getByRole('button', { name: 'Reconnect' }).count(), 0)
    await show('gateways/chat')
    await press('Reconnect')
    await page.getByText('chat is connected anew.').waitFor()
    assert.match(daemon.output(), /the gateway reconnects, as requested/)
  })

  test('a skill is run by a form of its schema: errors are at their fields, and a destructive one needs a confirmation', async () => {
    await show('skills/pay')
    const error = (name: string) => page.locator(`#field-${name}-error`)
    await press('Run')
    assert.equal(await error('order').textContent(), 'This is required.')
    assert.equal(await page.locator(':focus').getAttribute('id'), 'field-order')
    await page.getByLabel('order').fill('42')
    await page.getByLabel('to', { exact: true }).fill('{ "city": ')
    await press('Run')
    await error('to').getByText('Invalid JSON').waitFor()
    await page.getByLabel('to', { exact: true }).fill('{ "city": 7 }')
    await press('Run')
    await dialog.getByText('"city": 7').waitFor()
    await answer('Run pay')
    await error('order').getByText('expected at least').waitFor()
    await error('to').getByText('city').waitFor()
    await page.getByLabel('order').fill('4242')
    await page.getByLabel('to', { exact: true }).fill('')
    await page.getByLabel('reason').selectOption('broken')
    await page.getByLabel('tags').fill('a\nb')
    await press('Run')
    await answer('Run pay')
    const result = await page.getByLabel('Result', { exact: true }).textContent()
    const args = { order: '4242', amount: 20, reason: 'broken', tags: ['a', 'b'] }
    assert.deepEqual(JSON.parse(result ?? ''), { said: '<b>paid</b>', args })
  })

  test('a test message shows its route before it is sent, and then its reply', async () => {
    await show('compose?gateway=shop')
    const verdict = page.locator('.verdict')
    await verdict.getByText('rest answers: the skill echo runs.').waitFor()
    await page.getByLabel('text').fill('a refund, please')
    await verdict.getByText('refunds answers: the skill fail runs.').waitFor()
    const messages = async () => Object(await daemon.invoke('message-search', {})).messages.length
    assert.equal(await messages(), 1)
    await page.getByLabel('text').fill('<u>hello</u>')
    await verdict.getByText('rest answers').waitFor()
    await press('Send test message')
    await dialog.getByText('Send this message to shop?').waitFor()
    await answer('Send test message')
    await page.getByLabel('Reply').getByText('<u>hello</u>').waitFor()
    assert.equal(await messages(), 2)
  })

  test('the configuration is shown as read, without secrets; a failed reload is shown with its place, also in Now', async () => {
    await show('configuration')
    const file = page.getByLabel('routes.yaml as read')
    await file.getByText('BANK_SECRET').waitFor()
    const shown = await page.locator('main').textContent()
    assert.ok(!shown?.includes(SECRET) && !shown?.includes('whsec_'), shown ?? '')
    site.write('routes.yaml', ROUTES.replace('skill: echo', 'skil: echo'))
    await page
      .getByLabel('What is wrong')
      .getByText(/routes\.yaml:10.*unknown key "skil"/)
      .waitFor()
    await show('now')
    await page.getByRole('link', { name: 'The last reload failed' }).waitFor()
    site.write('routes.yaml', ROUTES)
    await page.getByRole('link', { name: 'The last reload failed' }).waitFor({ state: 'detached' })
  })

  test('a configuration in several files is shown file by file', async () => {
    site.write('routes.d/team.yaml', 'assistant: { timezone: Europe/Berlin }\n')
    site.write('routes.yaml', `include: routes.d/*.yaml\n${ROUTES}`)
    await show('configuration')
    await page.getByLabel('routes.d/team.yaml as read').getByText('Europe/Berlin').waitFor()
    await page.getByLabel('routes.yaml as read').getByText('BANK_SECRET').waitFor()
    site.write('routes.yaml', ROUTES)
    await page.getByLabel('routes.d/team.yaml as read').waitFor({ state: 'detached' })
  })
})
