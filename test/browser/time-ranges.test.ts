import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { intercept } from '../fixtures/intercept.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /hooks/shop, verify: { scheme: none } }
routes: [{ name: all, skill: echo, reply: none }]
`
const WIPE = `import { z } from 'zod'
export default { description: 'Wipes', args: z.strictObject({ disk: z.string() }), metadata: { approval: true }, run: () => '' }`

describe('the time range of approvals, jobs and groups', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: { wipe: WIPE } })
  const daemon = await site.start()
  const { page, show, shots } = await openConsole(() => daemon)
  const time = page.getByRole('combobox', { name: 'Time' })
  /** A time in which nothing had happened. */
  const LONG_AGO = 'until=2020-01-01T00:00:00Z'

  test('selects decisions, and the search in them', async () => {
    void daemon.invoke('wipe', { disk: 'a' }).catch(String)
    const pending = async () => [await daemon.invoke('approval-list', { status: 'pending' })].flat()
    await until(async () => (await pending()).length === 1, 'the request')
    const { id } = Object((await pending())[0])
    await show('approvals')
    await page.getByRole('article').waitFor()
    assert.equal(await time.count(), 0)
    await daemon.invoke('approval-decide', { id, approve: false, reason: 'not tonight' })
    await show('approvals?show=decided')
    const rows = page.getByRole('region', { name: 'Decided' }).getByRole('row')
    await time.selectOption('15m')
    await page.waitForURL(/since=15m/)
    await rows.getByText(/^not tonight/).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('approvals-time')
    await show(`approvals?show=decided&${LONG_AGO}`)
    await page.getByText('No decision matches.').waitFor()
    assert.equal(await time.inputValue(), 'custom')
    await page.getByRole('link', { name: 'Show all decisions' }).click()
    await rows.getByText(/^not tonight/).waitFor()
  })

  test('selects jobs', async () => {
    await daemon.invoke('event-subscribe', { topic: 'orders', queue: 'audit' })
    await daemon.invoke('event-emit', { topic: 'orders', data: { order: 4711 } })
    await daemon.invoke('event-replay', { topic: 'orders', queue: 'audit' })
    await show('jobs')
    const job = page.getByRole('region', { name: 'All jobs' }).getByRole('listitem')
    await job.waitFor()
    await time.selectOption('1h')
    await page.waitForURL(/since=1h/)
    await job.waitFor()
    assert.equal(await page.getByText('is no parameter of').count(), 0)
    assert.deepEqual(await faultsOf(page), [])
    await show(`jobs?${LONG_AGO}`)
    await page.getByText('No job matches.').waitFor()
    await page.getByRole('link', { name: 'Show all jobs' }).click()
    await job.waitFor()
  })

  test('selects the backlog of a group, its rate, and its events', async () => {
    const at = Date.now()
    const points = [120_000, 60_000].map((ago) => ({ at: at - ago, lag: 3, behind: 1_000, perMinute: 42 }))
    const restore = await intercept(page, '**/v1/skills/event-groups', async (route) => {
      const response = await route.fetch()
      const { result } = await response.json()
      const isLongAgo = route.request().postDataJSON().until !== undefined
      const history = isLongAgo ? result[0].history : points
      await route.fulfill({ response, json: { result: [{ ...result[0], history }] } })
    })
    await show('queues/orders/audit')
    const chart = (name: string) => page.getByRole('figure', { name: new RegExp(`^${name}, last `) })
    await chart('Behind, in events').locator('canvas').waitFor()
    await chart('Read, events a minute').locator('canvas').waitFor()
    await time.selectOption('15m')
    await page.waitForURL(/queues\/orders\/audit\?since=15m/)
    const event = page.getByRole('list', { name: 'Newest events of orders' }).getByRole('listitem')
    await event.getByText('4711').waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('group-time')
    await show(`queues/orders/audit?${LONG_AGO}`)
    await page.getByText('This daemon has no measurements of this time.').waitFor()
    await page.getByText('No event of this time is retained.').waitFor()
    assert.equal(await page.getByRole('figure').count(), 0)
    await restore()
  })
})
