import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `# what the shop sends: the old secret was hunter2
gateways:
  shop: { transport: webhook, path: /hooks/shop, verify: { scheme: none } }
  bank:
    transport: webhook
    path: /hooks/bank
    verify: { scheme: github, secret: "written-in-the-file" } # not here
include: routes.d/*.yaml
routes:
  - { name: refunds, match: { gateway: shop, text: "*refund*" }, skill: echo }
  - { name: rest, match: { gateway: shop }, skill: echo }
`
const MORE = `routes:
  - name: storefront-complaints
    match: { gateway: bank, from: ["*@storefront-eu.example.com", "*@storefront-us.example.com"], text: "*complaint*" }
    skill: echo
  - { name: bank, match: { gateway: bank }, skill: echo }
`
/**
 * Measures the table of routes: the lines of its highest row (14 px are padding), by how many px it
 * is too wide, and its broken words.
 */
const MEASURE_TABLE = `(() => {
  const box = document.querySelector('[aria-label="All routes"]')
  const rows = [...box.querySelectorAll('tbody tr')]
  const line = (cell) => Number.parseFloat(getComputedStyle(cell).lineHeight)
  const linesOf = (row) => (row.getBoundingClientRect().height - 14) / line(row.querySelector('td'))
  const isBroken = (node, from, to) => {
    const range = document.createRange()
    range.setStart(node, from)
    range.setEnd(node, to)
    return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1
  }
  const broken = []
  const nodes = document.createTreeWalker(box, NodeFilter.SHOW_TEXT)
  while (nodes.nextNode())
    for (const { 0: word, index } of nodes.currentNode.data.matchAll(/[\\w@.]+/g))
      if (isBroken(nodes.currentNode, index, index + word.length)) broken.push(word)
  return { lines: Math.max(...rows.map(linesOf)), overflow: box.scrollWidth - box.clientWidth, broken }
})()`

describe('the configuration in the console', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: ROUTES })
  site.write('routes.d/bank.yaml', MORE)
  const daemon = await site.start()
  const { page, show, press, answer, shots } = await openConsole(() => daemon)
  const file = page.getByRole('region', { name: 'routes.yaml as read' })
  const lines = () => file.locator('.line-text').allTextContents()

  test('is shown as files with line numbers and colours, without secrets and comments', async () => {
    await show('configuration')
    await file.waitFor()
    const shown = await lines()
    const original = ROUTES.trimEnd().split('\n')
    assert.equal(shown.length, original.length)
    assert.deepEqual(shown.slice(1, 6), original.slice(1, 6))
    assert.equal(shown[6], '    verify: { scheme: github, secret: "[secret]" } # …')
    assert.doesNotMatch(shown.join('\n'), /hunter2|written-in-the-file/)
    await page.getByText('Comments are not shown here, because they may contain secrets.').waitFor()
    assert.equal(await file.locator('tr').nth(9).locator('.line-number').getAttribute('data-line'), '10')
    assert.deepEqual((await file.locator('.y-key').allTextContents()).slice(0, 2), ['gateways', 'shop'])
    await page
      .getByRole('region', { name: 'routes.d/bank.yaml as read' })
      .getByText('/hooks')
      .waitFor({ state: 'detached' })
    assert.deepEqual(await faultsOf(page), [])
    await shots('configuration')
  })

  test('has the real ports', async () => {
    const facts = page.locator('dl.facts > div')
    await facts.filter({ hasText: `control API${daemon.control.replace('http://', '')}` }).waitFor()
    await facts.filter({ hasText: /^file\/.*routes\.yaml$/ }).waitFor()
    await facts.filter({ hasText: /^variables\/.*\/\.env, or the environment/ }).waitFor()
    await facts.filter({ hasText: /^listens127\.0\.0\.1:[1-9]/ }).waitFor()
  })

  test('has the last change, line by line, and the history with each setting before and after', async () => {
    await press('Changes')
    await page.getByText('Nothing has changed since the daemon started').waitFor()
    site.write('routes.yaml', ROUTES.replace('*refund*', '*money back*'))
    const changes = page.getByRole('region', { name: 'Changes of routes.yaml' })
    await changes.waitFor()
    const removed = await changes.locator('.removed .line-text').allTextContents()
    const added = await changes.locator('.added .line-text').allTextContents()
    assert.deepEqual([removed.length, added.length], [1, 1])
    assert.match(`${removed[0]} ${added[0]}`, /−.*\*refund\*.* \+.*\*money back\*/)
    assert.equal(await changes.locator('.added .line-number').last().getAttribute('data-line'), '10')
    assert.deepEqual(await faultsOf(page), [])
    const settings = page.getByRole('region', { name: 'Settings' })
    await settings.first().getByText('*refund*').waitFor()
    await settings.first().getByText('*money back*').waitFor()
    await shots('configuration-change')
    const since = async () => String(await page.getByText('What was in force from').textContent())
    const before = await since()
    // The page shows seconds.
    const second = Math.floor(Date.now() / 1_000)
    await until(() => Math.floor(Date.now() / 1_000) > second, 'the next second')
    const reloaded = await fetch(`${daemon.control}/v1/reload`, {
      method: 'POST',
      headers: { authorization: `Bearer ${daemon.token}` },
    })
    assert.equal(reloaded.status, 200)
    await page.reload()
    await page.getByText('What was in force from').waitFor()
    assert.equal(await since(), before)
  })

  test('has the routes in their order, with their numbers of messages', async () => {
    for (const text of ['money back, please', 'hello', 'hello again'])
      await daemon.post('/hooks/shop', JSON.stringify({ text }))
    await press('Routes')
    const table = page.getByRole('region', { name: 'Routes', exact: true })
    await page.reload()
    await press('Routes')
    await table.getByRole('row').filter({ hasText: 'refunds' }).waitFor()
    await table.getByText('…', { exact: true }).first().waitFor({ state: 'detached' })
    const rows = await table
      .locator('tbody tr')
      .evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent)))
    assert.deepEqual(
      rows.map((cells) => cells.slice(0, 4)),
      [
        ['refunds', 'gateway: shop, text: *money back*', 'echo', '1'],
        ['rest', 'gateway: shop', 'echo', '2'],
        [
          'storefront-complaints',
          'gateway: bank, from: *@storefront-eu.example.com or *@storefront-us.example.com, text: *complaint*',
          'echo',
          '0',
        ],
        ['bank', 'gateway: bank', 'echo', '0'],
      ],
    )
    assert.deepEqual(await faultsOf(page), [])
    await shots('configuration-routes')
  })

  test('has routes that can be read on usual screens: whole words in at most three lines', async () => {
    await show('routes')
    await page
      .getByRole('region', { name: 'All routes' })
      .getByText(/storefront-eu/)
      .waitFor()
    for (const width of [1280, 1440, 1920]) {
      await page.setViewportSize({ width, height: 900 })
      const { lines, overflow, broken } = Object(await page.evaluate(MEASURE_TABLE))
      assert.ok(lines < 4, `${lines} lines at ${width}`)
      assert.deepEqual(broken, [], `words broken at ${width}`)
      assert.ok(overflow <= 1, `the table is ${overflow} px wider than its place at ${width}`)
    }
    await page.setViewportSize({ width: 1200, height: 900 })
    assert.deepEqual(await faultsOf(page), [])
    await shots('routes')
    await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Routes' }).waitFor()
  })

  test('has a page per route with its lines, its last messages and its pause', async () => {
    await page.getByRole('link', { name: 'rest', exact: true }).click()
    await page.getByRole('heading', { name: /^rest route/ }).waitFor()
    await page.getByText('In routes.yaml, line 11').waitFor()
    const code = page.getByRole('region', { name: 'The route rest' })
    assert.equal(await code.locator('.line-number').getAttribute('data-line'), '11')
    assert.match(
      String(await code.locator('.line-text').textContent()),
      /name: rest, match: \{ gateway: shop/,
    )
    await page.getByRole('list', { name: 'Last messages' }).getByRole('link').first().waitFor()
    await page.getByRole('link', { name: 'refunds', exact: true }).waitFor()
    await page.locator('.figure', { hasText: /^Failed\s*0of these$/ }).waitFor()
    assert.match(
      String(await page.getByRole('link', { name: 'Test …' }).getAttribute('href')),
      /compose\?gateway=shop$/,
    )
    await press('Pause route rest')
    await answer('until it is resumed')
    await page.getByRole('button', { name: 'Resume route rest' }).click()
    await page.getByRole('button', { name: 'Pause route rest' }).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('route')
    await daemon.invoke('gateway-pause', { gateway: 'shop' })
    await daemon.post('/hooks/shop', JSON.stringify({ text: 'wait' }))
    await show('configuration?show=routes')
    const state = page
      .getByRole('region', { name: 'Routes', exact: true })
      .getByRole('row')
      .filter({ hasText: 'refunds' })
    await state.getByText('gateway shop paused').waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await daemon.invoke('gateway-resume', { gateway: 'shop' })
    await show('configuration/nothing')
    await page.getByText('There is no route with this name.').waitFor()
  })

  test('a route that can never match says why, in the table and on the route', async () => {
    const leftover = '  - { name: leftover, match: { gateway: shop }, fallback: true, skill: echo }\n'
    site.write('routes.yaml', ROUTES.replace('  - { name: rest,', `${leftover}  - { name: rest,`))
    await show('configuration')
    await press('Reload …')
    await answer('Reload')
    await page.getByText('The configuration was reloaded.').waitFor()
    await show('routes')
    const row = page.getByRole('row').filter({ hasText: 'leftover' })
    await row.getByText(/^never matches: "rest" .* already takes everything it matches$/).waitFor()
    assert.equal(await page.getByText(/never matches/).count(), 1)
    await page.getByRole('columnheader', { name: 'of these failed' }).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('routes-warning')
    await page.getByRole('link', { name: 'leftover' }).click()
    await page.getByText(/^never matches: "rest"/).waitFor()
    const marked = page.getByRole('navigation', { name: 'Views' }).locator('[aria-current=page]')
    assert.match(String(await marked.textContent()), /Routes/)
    assert.match(await page.title(), /^Routes/)
  })

  test('a warning leads to its line, and a variable to the gateway that uses it', async () => {
    const leftover = '  - { name: leftover, match: { gateway: shop }, fallback: true, skill: echo }\n'
    const changed = ROUTES.replace('  - { name: rest,', `${leftover}  - { name: rest,`)
    site.write('routes.yaml', changed.replace('path: /hooks/bank', `path: "\${BANK_PATH:-/hooks/bank}"`))
    await show('configuration')
    await page.getByText('BANK_PATH', { exact: true }).waitFor()
    const variable = page.getByRole('listitem').filter({ hasText: 'BANK_PATH' })
    assert.equal(await variable.getByRole('link', { name: 'bank' }).getAttribute('href'), '#/gateways/bank')
    await page.getByRole('link', { name: 'routes.yaml:11' }).click()
    await page.waitForURL(/configuration\?.*line=11/)
    await file.locator('tr.wanted').getByText('leftover').waitFor()
    assert.deepEqual(await faultsOf(page), [])
  })
})
