import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { intercept } from '../fixtures/intercept.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways: { shop: { transport: webhook, path: /hooks/shop, verify: { scheme: none } } }
routes: [{ name: orders, match: { gateway: shop }, skill: fail, retry: { attempts: 5, delay: 10m } }]
`
const FAIL = `export default { description: 'fails', run() { throw new Error('the stock service is down') } }`

/** Troubles by their codes and places, with the addresses where they are handled. */
const PLACES: [code: string, where: Record<string, string>, address: string][] = [
  [
    'retrying',
    { gateway: 'shop', road: 'dispatch', group: 'orders' },
    'messages?gateway=shop&route=orders&outcome=retrying',
  ],
  ['retrying', { gateway: 'desk', road: 'outbox' }, 'messages?gateway=desk&outcome=replying'],
  ['backlog', { gateway: 'shop', road: 'dispatch' }, 'messages?gateway=shop&outcome=waiting'],
  ['backlog', { gateway: 'shop', road: 'receive' }, 'gateways/shop'],
  ['attempt-hangs', { messageId: 'm-1' }, 'messages/m-1'],
  ['unrouted', { gateway: 'shop' }, 'messages?outcome=unrouted'],
  ['dead-letters', {}, 'dead-letters'],
  ['refusals', { gateway: 'bank' }, 'gateways/bank'],
  ['refusals', { gateway: '-' }, 'gateways'],
  ['gateway-down', { gateway: 'post' }, 'gateways/post'],
  ['group-stalled', { topic: 'orders', group: 'audit' }, 'queues/orders/audit'],
  ['group-lag', { topic: 'orders', group: 'audit' }, 'queues/orders/audit'],
  ['approval-waiting', {}, 'approvals'],
  ['unanswered', {}, 'conversations?show=person'],
  ['budget', { reason: '20 EUR/30d' }, 'cost?by=skill&since=30d'],
  ['budget', { reason: '5k tokens/1d', skill: 'ship' }, 'cost?by=sender&since=24h&skill=ship'],
  ['skill-broken', { skill: 'ship' }, 'skills/ship'],
]

describe('the troubles on Now', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: { fail: FAIL } })
  const daemon = await site.start()
  const { page, show } = await openConsole(() => daemon)

  /** The console gets a state of the daemon with these troubles, and nothing after it. */
  const showTroubles = async () => {
    const state = await stateOf(daemon)
    const troubles = PLACES.map(([code, where], at) => {
      const texts = { title: `Trouble ${at}.`, text: `Text ${at}`, todo: '' }
      return { key: String(at), code, severity: 'warning', where, since: Date.now() - 600_000, ...texts }
    })
    const body = `event: now\ndata: ${JSON.stringify({ ...state, troubles })}\n\n`
    await intercept(page, '**/v1/stream?*', (route) =>
      route.fulfill({ contentType: 'text/event-stream', body }),
    )
    await page.reload()
  }

  test('lead to where they are handled', async () => {
    await showTroubles()
    await show('now')
    for (const [at, [code, , address]] of PLACES.entries()) {
      const title = page.getByRole('link', { name: `Trouble ${at}.` })
      assert.equal(await title.getAttribute('href'), `#/${address}`, code)
    }
  })

  test('show the messages that are tried again, with the time of their next attempt', async () => {
    await daemon.post('/hooks/shop', '{"text":"a red lamp"}')
    const retrying = async () => Object(await daemon.invoke('message-search', { outcome: 'retrying' }))
    await until(async () => (await retrying()).messages.length === 1, 'a message in back-off')
    await page.getByRole('link', { name: 'Trouble 0.' }).click()
    const row = page.getByRole('listitem').filter({ hasText: 'a red lamp' })
    await row.getByText('the stock service is down').waitFor()
    await row.getByText(/^again in \d+ (min|s)$/).waitFor({ state: 'attached' })
  })
})

/** The state that the daemon sends first to a console. */
async function stateOf({ control, token }: { control: string; token: string }): Promise<object> {
  const headers = { authorization: `Bearer ${token}` }
  const response = await fetch(`${control}/v1/stream?only=now`, { headers })
  let text = ''
  for await (const part of response.body ?? []) {
    text += Buffer.from(part).toString()
    const [, data] = /^event: now\n(?:id: .*\n)?data: (.*)\n/m.exec(text) ?? []
    if (data !== undefined) return JSON.parse(data)
  }
  throw new Error(`no state in ${text}`)
}
