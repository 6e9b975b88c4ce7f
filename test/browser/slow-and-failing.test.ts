import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Route } from 'playwright-core'
import { faultsOf } from '../fixtures/axe.ts'
import { goTo, openConsole, openPage } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { intercept } from '../fixtures/intercept.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /hooks/shop, verify: { scheme: none } }
routes:
  - { name: all, skill: broken, retry: { attempts: 1 } }
`
const BROKEN = `export default { name: 'broken', description: 'Fails.', async run() { throw new Error('out of stock') } }\n`

describe('the console on a slow line and with failing requests', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: { broken: BROKEN } })
  const daemon = await site.start()
  const id = String(Object((await daemon.post('/hooks/shop', '{"text":"the blue book"}')).body).id)
  const letters = async () => [await daemon.invoke('dead-letter-list', {})].flat()
  await until(async () => (await letters()).length === 1, 'the dead letter')
  const [found] = [await daemon.invoke('dead-letter-groups', {})].flat()
  const { queue, group, code, pattern } = Object(found)
  const kind = new URLSearchParams({ queue, group, code, pattern })
  const { conversation } = Object(Object(await daemon.invoke('message-show', { id })).message)
  const { page, show, shots } = await openConsole(() => daemon)
  const main = page.getByRole('main')
  const loading = main.getByText('Loading …').first()
  const tryAgain = main.getByRole('button', { name: 'Try again' })

  /** Views that load data from the daemon, and a text of this data. */
  const views: [view: string, text: string | RegExp][] = [
    ['now?since=6h', 'On the way'],
    ['messages', 'the blue book'],
    [`messages/${id}`, 'Timeline'],
    ['conversations?show=all', 'the blue book'],
    [`conversations/shop/${encodeURIComponent(conversation)}`, 'the blue book'],
    ['dead-letters', /1 in 1 kind/],
    [`dead-letters?${kind}`, 'the blue book'],
    [`dead-letters/${id}?queue=${queue}`, 'out of stock'],
    ['approvals', 'Nothing waits for a decision.'],
    ['queues', 'Push subscriptions'],
    ['gateways', 'None since this daemon started.'],
    ['gateways/shop', /Not tested since the daemon started/],
    ['skills', 'broken'],
    ['skills/broken', 'Fails.'],
    ['cost', 'No model was used in this time.'],
    ['paused', 'Nothing is paused.'],
    ['jobs', 'There are no jobs.'],
    ['compose', 'the skill broken runs'],
    ['people?who=shop:nobody', 'What is kept'],
    ['audit', 'signed in'],
    ['configuration', 'routes.yaml'],
  ]
  const interceptAll = (answer: (route: Route) => Promise<unknown>) =>
    intercept(page, (url) => /^\/v1\/(?!session|stream)/.test(url.pathname), answer)

  for (const [view, text] of views) {
    test(`shows in ${view} that it is loading, and then the data`, async () => {
      const released = Promise.withResolvers<void>()
      const restore = await interceptAll(async (route) => {
        await released.promise
        await route.continue()
      })
      await show(view)
      try {
        const notice = view.startsWith('people') ? main.getByText(/^Reading all places/) : loading
        if (view !== 'queues') await notice.waitFor()
        if (view === 'messages') {
          // The code of the view may still be on its way too.
          await page.getByRole('heading', { name: 'Messages', level: 1 }).waitFor()
          assert.deepEqual(await faultsOf(page), [])
          await shots('slow-messages')
        }
      } finally {
        released.resolve()
      }
      await main.getByText(text).first().waitFor()
      await loading.waitFor({ state: 'detached' })
      await restore()
    })

    test(`shows in ${view} what failed, and tries again`, async () => {
      const body = JSON.stringify({ error: { code: 'internal', message: 'The disk is full.' } })
      await show('nowhere')
      await main.getByText('There is no such page').waitFor()
      const restore = await interceptAll((route) =>
        route.fulfill({ status: 500, contentType: 'application/json', body }),
      )
      await show(view)
      await main
        .getByText(/The disk is full\./)
        .first()
        .waitFor()
      if (view === 'dead-letters') {
        assert.deepEqual(await faultsOf(page), [])
        await shots('failed-dead-letters')
      }
      await restore()
      await until(async () => {
        if ((await tryAgain.count()) === 0) return true
        // The button may disappear before the click, since the page also tries again by itself.
        await tryAgain
          .first()
          .click({ timeout: 1_000 })
          .catch(() => undefined)
        // A click restarts the request: one that comes too early would interrupt it.
        await tryAgain
          .first()
          .waitFor({ state: 'detached', timeout: 3_000 })
          .catch(() => undefined)
        return false
      }, `${view} tries again`)
      await main.getByText(text).first().waitFor()
      await until(async () => (await main.getByText(/The disk is full/).count()) === 0, `${view} is complete`)
    })
  }

  test('keeps loaded data with its age if a reload fails', async () => {
    await show('paused')
    await main.getByText('Nothing is paused.').waitFor()
    await show('audit')
    await main.getByText('signed in').first().waitFor()
    const restore = await interceptAll((route) => route.abort())
    await main
      .getByText(/What you see of the audit log is \d+ (?:s|min) old\. The daemon is not responding\./)
      .waitFor()
    await main.getByText('signed in').first().waitFor()
    await shots('old-audit')
    await restore()
    await tryAgain.waitFor({ state: 'detached' })
  })

  test('calls nothing empty before the state of the daemon is known', async () => {
    const restore = await intercept(page, '**/v1/stream?*', () => undefined)
    for (const view of ['now', 'queues', 'gateways', 'gateways/shop']) {
      await show(view)
      await page.reload()
      await loading.waitFor()
      for (const text of ['All is well.', /^Nobody reads events/, /^None yet/, 'It does not run.'])
        assert.equal(await main.getByText(text).count(), 0, view)
    }
    await restore()
  })

  test('reports a script that cannot be loaded, and loads it later', async () => {
    const restore = await intercept(page, '**/later-*.js', (route) => route.abort())
    await show('audit')
    await page.reload()
    await main.getByText(/could not be loaded/).waitFor()
    await restore()
    // The script may be loaded for another reason before the click.
    await tryAgain.or(main.getByText('signed in')).first().click()
    await main.getByText('signed in').first().waitFor()
  })

  test('loads styles that could not be loaded with the next page', async () => {
    // A page of its own, as a browser may still have the styles in memory.
    const fresh = await openPage()
    const content = fresh.getByRole('main')
    let attempts = 0
    const restore = await intercept(fresh, '**/later-*.css', (route) => {
      attempts++
      return route.abort()
    })
    await fresh.goto(`${daemon.control}/#token=${daemon.token}`)
    await fresh.getByText('Live', { exact: true }).waitFor()
    await goTo(fresh, `${daemon.control}/#/audit`)
    await content.getByText(/could not be loaded/).waitFor()
    await goTo(fresh, `${daemon.control}/#/now`)
    await content.getByText('On the way').first().waitFor()
    await goTo(fresh, `${daemon.control}/#/audit`)
    await until(() => attempts > 1, 'another attempt')
    await content.getByText(/could not be loaded/).waitFor()
    await restore()
    await goTo(fresh, `${daemon.control}/#/schedules`)
    await content.getByRole('heading', { name: 'Schedules' }).waitFor()
    await goTo(fresh, `${daemon.control}/#/audit`)
    await content.getByText('signed in').first().waitFor()
    const rules = await fresh.evaluate("document.getElementById('later-styles').sheet.cssRules.length")
    assert.ok(Number(rules) > 0)
  })
})
