import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { goTo, openContext } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { startOidcProvider } from '../fixtures/oidc-provider.ts'
import { until } from '../fixtures/until.ts'

const CLIENT = { clientId: 'trivium', clientSecret: 'a-secret-of-the-client' }

describe('signing in to the console at an identity provider', { timeout: 600_000 }, async () => {
  // It does not answer until `provider.open` is called.
  const provider = await startOidcProvider()
  const routes = (roles: string) => `
gateways: { demo: { transport: cli } }
routes: [{ name: all, skill: fail, retry: { attempts: 1 } }]
schedules: [{ name: month-end, cron: "0 6 1 * *", skill: fail }]
console:
  oidc:
    issuer: ${provider.issuer}
    client-id: ${CLIENT.clientId}
    client-secret: ${CLIENT.clientSecret}
    allow: ["*@example.com"]
    roles: ${roles}
`
  const skills = { fail: `export default { description: 'fails', run() { throw new Error('no') } }` }
  const site = openSite({
    routes: routes('{ operator: [ada@example.com], viewer: ["*@example.com"] }'),
    skills,
  })
  const daemon = await site.start()
  const callback = `${daemon.control}/auth/callback`
  after(async () => {
    await provider.close()
  })

  /** The form of the provider, in a browser context of its own. */
  const openForm = async (view = 'gateways') => {
    const page = await (await openContext()).newPage()
    page.setDefaultTimeout(30_000)
    await goTo(page, `${daemon.control}/#/${view}`)
    await page.getByRole('link', { name: `Sign in with ${new URL(provider.issuer).host}` }).click()
    return page
  }
  const logIn = async (page: Page, account: string) => {
    await page.getByPlaceholder('Enter any login').fill(account)
    await page.getByPlaceholder('and password').fill('any')
    await page.getByRole('button', { name: 'Sign-in' }).click()
    await page.getByRole('button', { name: 'Continue' }).click()
  }
  const ask = (page: Page, method: string, path: string, body?: object) =>
    page.evaluate(
      async ([how, where, json]) => {
        const headers = { 'content-type': 'application/json' }
        const response = await fetch(String(where), {
          method: String(how),
          headers,
          ...(json && { body: json }),
        })
        return { status: response.status, answer: Object(await response.json()) }
      },
      [method, path, body && JSON.stringify(body)],
    )

  /** Checks that the enabled buttons of every view only show, copy, filter or navigate. */
  const checkButtons = async (page: Page) => {
    await site.run(['message', 'demo', 'hello', '--wait', '0'])
    const letters = async () => [await daemon.invoke('dead-letter-list')].flat()
    const [letter] = await until(
      async () => ((await letters()).length > 0 ? letters() : undefined),
      'a dead letter',
    )
    const { id } = Object(letter)
    const views = await page
      .locator('nav a[href^="#"]')
      .evaluateAll((links) => links.map((link) => link.getAttribute('href') ?? ''))
    const places = [
      ...views,
      `#/messages/${id}`,
      '#/gateways/demo',
      `#/conversations/demo/${id}`,
      `#/dead-letters/${id}`,
      '#/skills/fail',
    ]
    const harmless =
      /^(Sign out|Copy|Export CSV|Hide submitted|Hide sign-ins|Reload|Try again|Previous|Next|Save|Search|Show|\d|any|last|More|Help|Close|Go to|Model$|Skill$|Sender$|Day$|Refusals ↓$|Gateway$)/i
    for (const place of places) {
      await page.goto(`${daemon.control}/${place}`)
      await page.getByRole('heading', { level: 1 }).last().waitFor()
      const pressable = await page
        .locator('button:not([disabled]):not(.segments button):not(.menu):not(.sorts)')
        .evaluateAll((buttons) =>
          buttons.map((button) => String(button.getAttribute('aria-label') ?? button.textContent).trim()),
        )
      assert.deepEqual(
        pressable.filter((name) => !harmless.test(name)),
        [],
        place,
      )
    }
    await goTo(page, `${daemon.control}/#/dead-letters`)
    const retry = page.getByRole('button', { name: 'Retry' })
    await retry.waitFor()
    assert.equal(await retry.isDisabled(), true)
    assert.match((await retry.getAttribute('title')) ?? '', /viewer/)
  }

  /** Checks that skills, schedules and their pauses are shown. */
  const checkShown = async (page: Page) => {
    assert.equal((await ask(page, 'GET', '/v1/skills/fail')).answer.result.description, 'fails')
    await daemon.invoke('schedule-pause', { id: 'month-end' })
    for (const [path, name] of [
      ['skills', 'fail'],
      ['schedules', 'month-end'],
      ['paused', 'month-end'],
    ] as const) {
      await goTo(page, `${daemon.control}/#/${path}`)
      await page.locator('td a').getByText(name, { exact: true }).waitFor()
    }
    await page
      .getByRole('link', { name: /^Paused/ })
      .filter({ hasText: '1' })
      .waitFor()
    await goTo(page, `${daemon.control}/#/skills/fail`)
    const run = page.getByRole('button', { name: 'Run', exact: true })
    await run.waitFor()
    assert.equal(await run.isDisabled(), true)
  }

  test('reports that the provider cannot be reached; the control token still works', async () => {
    const page = await openForm()
    await page.getByText(/The identity provider .* cannot be used/).waitFor()
    await page.getByRole('link', { name: 'Back to sign-in' }).click()
    await page.getByLabel('Control token').fill(daemon.token)
    await page.getByRole('button', { name: 'Open the console' }).click()
    await page.getByText('Live', { exact: true }).waitFor()
    // The following tests need the provider.
    provider.open({ ...CLIENT, callback })
  })

  test('returns to the view, is valid in every tab, and gives the roles of the person', async () => {
    const page = await openForm('gateways')
    await logIn(page, 'ada@example.com')
    await page.getByRole('heading', { name: 'Gateways', level: 1 }).waitFor()
    assert.equal(page.url(), `${daemon.control}/#/gateways`)
    await page.getByText('ada@example.com', { exact: true }).waitFor()
    const tab = await page.context().newPage()
    await tab.goto(`${daemon.control}/#/messages`)
    await tab.getByText('Live', { exact: true }).waitFor()
    const { answer } = await ask(page, 'GET', '/v1/session')
    assert.deepEqual(
      [answer.result.person.id, answer.result.person.roles],
      ['oidc:ada@example.com', ['operator']],
    )
    assert.equal((await ask(page, 'POST', '/v1/reload', {})).status, 200)
  })

  test('lets a viewer see everything and change nothing; changed roles apply immediately', async () => {
    const page = await openForm('now')
    await logIn(page, 'vera@example.com')
    await page.getByText('vera@example.com (viewer)').waitFor()
    for (const [method, path, status] of [
      ['GET', '/v1/status', 200],
      ['GET', '/v1/configuration', 200],
      ['POST', '/v1/skills/message-list', 200],
      ['POST', '/v1/skills/schedule-list', 200],
      ['POST', '/v1/reload', 403],
      ['POST', '/v1/doctor', 403],
      ['POST', '/v1/messages', 403],
      ['POST', '/v1/skills/echo', 403],
      ['POST', '/v1/skills/dead-letter-drop', 403],
      ['POST', '/v1/skills/approval-decide', 403],
      ['POST', '/v1/skills/state-get', 403],
      ['POST', '/v1/artifacts', 403],
    ] as const) {
      const body = method === 'POST' ? {} : undefined
      assert.equal((await ask(page, method, path, body)).status, status, `${method} ${path}`)
    }
    const { entries } = Object(await daemon.invoke('audit-list', { by: 'vera', outcome: 'not-allowed' }))
    assert.deepEqual(
      entries.map(({ action }: { action: string }) => action),
      ['approval-decide', 'dead-letter-drop', 'message-submit', 'reload'],
    )
    await checkButtons(page)
    await checkShown(page)
    site.write('routes.yaml', routes('{ operator: [vera@example.com] }'))
    const roles = async () => (await ask(page, 'GET', '/v1/session')).answer.result.person?.roles
    await until(async () => String(await roles()) === 'operator', 'the new role')
    site.write(
      'routes.yaml',
      routes('{ operator: [ada@example.com] }').replace('*@example.com', 'ada@example.com'),
    )
    await page.getByText('Your session has ended.').waitFor()
  })

  test('refuses unverified addresses and other domains', async () => {
    site.write('routes.yaml', routes('{ operator: ["*@example.com"] }'))
    const config = async () => Object(Object(await daemon.get('/v1/configuration')).result).yaml
    // In `allow` and in `operator`.
    const wildcards = async () => [...String(await config()).matchAll(/\*@/g)].length
    await until(async () => (await wildcards()) === 2, 'the new configuration')
    for (const account of ['unproven@example.com', 'eve@example.com.evil.example', 'eve@evil.example']) {
      const page = await openForm()
      await logIn(page, account)
      await page.getByText(/may not sign in here/).waitFor()
      assert.equal(
        (await page.context().cookies()).filter(({ name }) => name.startsWith('trivium-session')).length,
        0,
      )
      await page.context().close()
    }
  })

  test('refuses allowed people who have no role; those in `viewer` get in', async () => {
    site.write('routes.yaml', routes('{ operator: [ada@example.com], viewer: [eva@example.com] }'))
    const config = async () => Object(Object(await daemon.get('/v1/configuration')).result).yaml
    await until(async () => String(await config()).includes('eva@'), 'the new configuration')
    const refused = await openForm()
    await logIn(refused, 'vera@example.com')
    await refused.getByText(/vera@example.com may not sign in here/).waitFor()
    const page = await openForm()
    await logIn(page, 'eva@example.com')
    await page.getByText('eva@example.com (viewer)').waitFor()
    site.write('routes.yaml', routes('{ operator: [ada@example.com], viewer: [] }'))
    await page.getByText('Your session has ended.').waitFor()
  })

  test('reports that the person has cancelled', async () => {
    const page = await openForm()
    await page.getByRole('link', { name: /Cancel/i }).click()
    await page.getByText('You are not signed in').waitFor()
    await page.getByText(/access_denied/).waitFor()
  })
})
