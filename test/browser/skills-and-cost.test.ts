import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, describe, test } from 'node:test'
import type { Locator } from 'playwright-core'
import { faultsOf } from '../fixtures/axe.ts'
import { goTo, openConsole, untilCopied } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { startOpenAiServer } from '../fixtures/openai-server.ts'
import { until } from '../fixtures/until.ts'

const HELPER = (name: string) => `---
name: ${name}
description: Answers questions about orders.
allowed-tools: echo
---
Answer :arg[text]
`
const FLAKY = `export default {
  description: 'Looks up an order, and fails for some',
  run({ args }) { if (/bad/.test(args.text)) throw new Error('no such <i>order</i>'); return 'fine' },
}`
const BROKEN = `export default { description: 'Fails', run() { throw new Error('no stock') } }`
const QUICK = `export default { description: 'Answers at once', run: () => 'here' }`
const WIPE = `import { z } from 'zod'
export default {
  description: 'Wipes a disk',
  args: z.strictObject({ disk: z.string() }),
  metadata: { approval: { title: 'Wipe {disk}' } },
  run: ({ args }) => 'wiped ' + args.disk,
}`

/** Runs until the test calls `endSlow`, or an operator cancels it. */
const SLOW = `export default {
  description: 'Takes long',
  run: ({ signal }) => new Promise((end, fail) => {
    globalThis.endSlow = () => end('late')
    signal.addEventListener('abort', () => fail(signal.reason))
  }),
}`

/** Whether the top of a part of the page is in the window. */
async function isInView(part: Locator): Promise<boolean> {
  const { y = -1 } = (await part.boundingBox()) ?? {}
  return y >= 0 && y < 900
}

describe('skills and cost in the console', { timeout: 600_000 }, async () => {
  const answers = Array.from({ length: 20 }, (_, at) => () => ({
    text: 'Four.',
    usage: { input: 1_000 * (at + 1), output: 300 },
  }))
  const model = await startOpenAiServer(answers)
  after(() => model.close())
  const site = openSite({
    routes: `
gateways: { shop: { transport: webhook, path: /shop, verify: { scheme: none } } }
model:
  name: "openai-compatible:tiny"
  base-url: "${model.url}"
  api-key: "test-key-123456"
  budget: { total: [20 EUR/30d, 10k tokens/1d], sender: 100k tokens/1d, skill: { helper: 1M tokens/7d } }
  prices: { "*:tiny": { input: 3, output: 15 } }
routes:
  - { name: unused, match: { gateway: shop, event: never }, skill: flaky }
  - { name: exports, match: { gateway: shop, text: "export*" }, skill: slow, timeout: 30m }
  - { name: thrice, match: { gateway: shop, text: "thrice*" }, skill: broken, retry: { attempts: 3, delay: 10ms } }
  - { name: orders, match: { gateway: shop }, skill: flaky, retry: { attempts: 1 } }
`,
    skills: { flaky: FLAKY, wipe: WIPE, slow: SLOW, broken: BROKEN, quick: QUICK },
  })
  site.write('skills/helper/SKILL.md', HELPER('helper'))
  site.write(
    'skills/triage/SKILL.md',
    HELPER('triage').replace('allowed', 'model: openai-compatible:free\nallowed'),
  )
  const daemon = await site.start()
  const { page, show, press, answer, shots } = await openConsole(() => daemon)

  test('a skill shows its runs, errors and callers, and its last runs with their messages', async () => {
    for (const text of ['good', 'good', 'bad'])
      await daemon.post('/shop', text, { 'content-type': 'text/plain' })
    const three = async () => Object(await daemon.invoke('skill-usage', { name: 'flaky' })).runs === 3
    await until(three, 'three runs')
    await show('skills/flaky')
    const usage = page.getByRole('region', { name: 'How it does' })
    await usage.getByText('1 (33 %)').waitFor()
    await usage.getByText('route orders 3 runs').waitFor()
    await usage.getByText('route unused no run').waitFor()
    await usage
      .getByRole('img', { name: /^Runs, all of them in the last 24 hours\..*3 runs, 1 failed/ })
      .waitFor()
    await usage.getByRole('row').filter({ hasText: 'no such <i>order</i>' }).first().waitFor()
    assert.equal(await page.locator('main i').count(), 0)
    await page.getByRole('link', { name: /flaky 3 runs 1 failed/ }).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('skill')
    const errors = usage.getByRole('region', { name: 'Errors' })
    await errors.getByRole('row').nth(1).getByText('no such <i>order</i>').waitFor()
    await usage.getByRole('link', { name: '1 (33 %)' }).click()
    const last = usage.getByRole('region', { name: 'Last runs' })
    await until(async () => (await last.getByRole('row').count()) === 2, 'only the failed run')
    await usage.getByLabel('Outcome').selectOption('ok')
    await until(async () => (await last.getByRole('row').count()) === 3, 'the others')
    await usage.getByLabel('Outcome').selectOption('')
    await last.getByRole('link', { name: 'bad' }).click()
    await page.getByRole('heading', { name: /dead$/ }).waitFor()
  })

  test('own skills are in a table that is sorted by any column, and other skills in closed groups', async () => {
    await daemon.invoke('echo', { text: 'x' })
    await show('skills')
    const table = page.getByRole('region', { name: 'Your skills' })
    const named = async () => {
      const cells = await table.locator('.skill-name a').allTextContents()
      return cells.filter((name) => ['flaky', 'wipe', 'helper', 'echo'].includes(name))
    }
    const flaky = table.getByRole('row').filter({ hasText: 'flaky' })
    assert.match(
      String(await flaky.getByRole('link', { name: '1 (33 %)' }).getAttribute('href')),
      /skills\/flaky\?outcome=failed$/,
    )
    await flaky.getByText('route orders').waitFor()
    await flaky.getByText('failed').waitFor()
    assert.equal((await named())[0], 'flaky')
    assert.equal(await page.getByText('gateway-send').first().isVisible(), false)
    assert.equal(await table.getByText('remember-note').count(), 0)
    assert.deepEqual(await faultsOf(page), [])
    await shots('skills')
    await table.getByRole('button', { name: 'skill', exact: true }).click()
    await until(async () => (await named())[1] === 'flaky', 'by name: echo, flaky')
    await page.getByText('Words of the assistant').click()
    await page.getByText('keeps a note').first().waitFor()
    await page.getByLabel('Search skills').fill('gateway-send')
    await page
      .getByRole('link', { name: /^gateway-send/ })
      .first()
      .click()
    await page.getByRole('heading', { name: 'gateway-send' }).waitFor()
  })

  test('a run under way is listed with its start and its message, and then among the last runs', async () => {
    await daemon.post('/shop', 'export 12', { 'content-type': 'text/plain' })
    await show('skills')
    await page.getByLabel('Search skills').fill('')
    const row = page.getByRole('region', { name: 'Your skills' }).getByRole('row').filter({ hasText: 'slow' })
    await row.getByText('running', { exact: true }).waitFor()
    await row.getByRole('link', { name: 'slow' }).click()
    const running = page.getByRole('region', { name: 'Running now' })
    await running.getByText(/^for \d+ (?:s|min)$/).waitFor()
    await page.getByText('route exports running', { exact: true }).waitFor()
    assert.equal(
      await running.getByRole('link', { name: 'exports' }).getAttribute('href'),
      '#/routes/exports',
    )
    assert.deepEqual(await faultsOf(page), [])
    await shots('skill-running')
    await running.getByRole('link', { name: 'export 12' }).click()
    await page.getByRole('heading', { name: /running$/ }).waitFor()
    await page.getByText(/The timeout of the route ends it at .*, in \d+ (min|h)/).waitFor()
    await page.goBack()
    Object(globalThis).endSlow()
    const last = page.getByRole('region', { name: 'Last runs' })
    await last.getByText('done', { exact: true }).waitFor()
    await running.waitFor({ state: 'detached' })
  })

  test('a run is cancelled where it is listed as running, and is then not a failed one', async () => {
    await daemon.post('/shop', 'export 13', { 'content-type': 'text/plain' })
    await show('skills/slow')
    const running = page.getByRole('region', { name: 'Running now' })
    await running.getByRole('button', { name: 'Cancel the attempt' }).click()
    await page.getByLabel('Reason').fill('wrong month')
    await answer('Cancel the attempt')
    await running.waitFor({ state: 'detached' })
    const usage = page.getByRole('region', { name: 'How it does' })
    await usage.getByRole('link', { name: '1', exact: true }).click()
    const row = usage.getByRole('region', { name: 'Last runs' }).getByRole('row').nth(1)
    await row.getByText('cancelled', { exact: true }).waitFor()
    await row.getByText(/wrong month/).waitFor()
    const table = usage.getByRole('region', { name: 'Last runs' }).getByRole('table').locator('..')
    assert.equal(await table.evaluate((box) => box.scrollWidth - box.clientWidth), 0)
    await usage.locator('.figure', { hasText: /^Failed\s*0$/ }).waitFor()
    assert.deepEqual(await faultsOf(page), [])
  })

  test('a skill that needs an approval can be approved where it was started', async () => {
    await show('skills/wipe')
    await page.getByLabel('disk').fill('sda1')
    await press('Run')
    await answer('Request approval')
    await press('Approve Wipe sda1')
    await answer('Approve wipe')
    await page.getByLabel('Result', { exact: true }).getByText('wiped sda1').waitFor()
  })

  test('cost is shown by model, skill, sender and day, with budgets; tokens without a price are marked', async () => {
    await show('cost')
    await page.getByText('No model was used in this time.').waitFor()
    await page.getByText(/Budgets are set in model.budget/).waitFor()
    for (const skill of ['helper', 'helper', 'triage']) await daemon.invoke(skill, { text: 'x' })
    await page.reload()
    const row = (name: string) => page.getByRole('row').filter({ hasText: name })
    await page.getByRole('figure').getByText('Tokens a day by skill').waitFor()
    await press('Model')
    await row('openai-compatible:tiny').getByText('0.018 EUR').waitFor()
    await row('openai-compatible:free').getByText('no price').waitFor()
    await page.getByText('tokens are not in the cost').waitFor()
    const ofAll = page
      .getByRole('list', { name: 'Budgets' })
      .getByRole('listitem')
      .filter({ hasText: '20 EUR/30d' })
    await ofAll.getByText('0.02 of 20.00 EUR spent, 19.98 EUR left').waitFor()
    await ofAll.getByText(/\(about [\d,]+ runs\)/).waitFor()
    await ofAll.getByText(/Free again: 0\.02 EUR more at /).waitFor()
    assert.equal(await page.getByText('20 EUR/30d', { exact: true }).count(), 1, 'each budget once')
    await page.getByText(/^When a budget is used up, messages keep their places/).waitFor()
    await page.getByRole('figure').getByText('Tokens a day by model').waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('cost')
    await row('openai-compatible:tiny').getByRole('link').click()
    await row('helper').waitFor()
    assert.equal(await row('triage').count(), 0)
    await press('Day')
    await row(new Date().toISOString().slice(0, 10)).waitFor()
    assert.match(page.url(), /by=day.*model=|model=.*by=day/)
    await page.getByRole('button', { name: /^Remove the filter model/ }).click()
    await row('no price').or(page.getByText('+ ?')).first().waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await press('Skill')
    await row('helper').getByText('0.0090 EUR').waitFor()
    await page.getByRole('figure').getByText('Tokens a day by skill').waitFor()
    await page.getByText('The bars as a table').click()
    const bars = page.getByRole('region', { name: 'The bars as a table' })
    await bars.getByRole('columnheader', { name: 'triage' }).waitFor()
    await bars.getByRole('row').nth(1).getByText('3.6k tokens', { exact: true }).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    const download = page.waitForEvent('download')
    await press('Export the bars as CSV')
    const csv = await readFile(await (await download).path(), 'utf8')
    assert.match(csv, /^time,skill,inputTokens,.*\r\n\d{4}-\d\d-\d\d,helper,3000,600,2,0\.018,,EUR/)
    await page.getByRole('row').filter({ hasText: 'helper' }).getByRole('link', { name: 'its runs' }).click()
    await page.getByRole('region', { name: 'How it does' }).waitFor()
    assert.match(page.url(), /#\/skills\/helper\?since=7d&at=runs$/)
    const lastRuns = page.getByRole('region', { name: 'Last runs' })
    await until(() => isInView(lastRuns), 'the last runs in view')
    await show('skills/helper')
    await page.getByText('0.018 EUR').waitFor()
    await page.getByRole('list', { name: 'Budgets' }).getByText('Budget of this skill').waitFor()
    await page.getByText('The budget of all skills, 20 EUR/30d, has 19.98 EUR left.').waitFor()
  })

  test('failed attempts say how many messages they were at', async () => {
    for (const text of ['thrice', 'thrice again'])
      await daemon.post('/shop', text, { 'content-type': 'text/plain' })
    const six = async () => Object(await daemon.invoke('skill-usage', { name: 'broken' })).failed === 6
    await until(six, 'six attempts')
    await show('skills')
    const row = page.getByRole('region', { name: 'Your skills' }).getByRole('row')
    await row.filter({ hasText: 'broken' }).getByText('6 (100 %) of 2 messages').waitFor()
    await show('skills/broken')
    await page.locator('.figure', { hasText: 'attempts at 2 messages' }).getByText('6 (100 %)').waitFor()
    await page.getByRole('link', { name: /broken 6 runs 6 failed \(2 messages\)/ }).waitFor()
    await page.getByRole('region', { name: 'Errors' }).getByText('of 2 messages').waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('skill-attempts')
  })

  test('the time range of skills and cost is in the address, and is copied with it', async () => {
    const time = page.getByRole('combobox', { name: 'Time' })
    const figure = (name: string) => page.locator('.figure').filter({ hasText: name })
    await show('skills/flaky')
    await figure('Runs').getByText('3', { exact: true }).waitFor()
    assert.equal(await time.inputValue(), '7d')
    await time.selectOption('15m')
    await page.getByRole('heading', { name: 'Last 15 minutes' }).waitFor()
    await figure('Runs').getByText('3', { exact: true }).waitFor()
    await show('skills/flaky?outcome=failed')
    await page.getByRole('region', { name: 'How it does' }).waitFor()
    assert.equal(await page.getByText('is no parameter of').count(), 0)
    await show('skills/flaky?since=3h&until=2h')
    await page.getByText('It has not run in this time.').waitFor()
    await page.reload()
    await page.getByText('It has not run in this time.').waitFor()
    assert.equal(await time.inputValue(), 'custom')
    assert.deepEqual(await faultsOf(page), [])

    await show('cost?by=model')
    await time.selectOption('1h')
    await page.getByText(/By model, .*\d\d:\d[05] to .* \(UTC\)/).waitFor()
    const bars = page.getByRole('figure').filter({ hasText: 'Tokens in 5 minutes' })
    const number = await bars.locator('.slot').count()
    assert.ok(number === 13 || number === 14, `${number} bars of 5 minutes`)
    await time.selectOption('24h')
    await page.getByRole('figure').getByText('Tokens an hour').waitFor()
    await time.selectOption('1h')
    await bars.waitFor()
    await press('Copy link')
    await goTo(page, await untilCopied(page, /#\/cost\?by=model&since=1h$/))
    await page.reload()
    assert.equal(await time.inputValue(), '1h')
    await show('cost?since=3h&until=2h')
    await page.getByText('No model was used in this time.').waitFor()
    assert.deepEqual(await faultsOf(page), [])
  })

  test('a skill with more runs than are kept offers those, and says so below the last one', async () => {
    for (let at = 0; at < 103; at += 1) await daemon.invoke('quick', {})
    const all = async () => Object(await daemon.invoke('skill-usage', { name: 'quick' })).runs === 103
    await until(all, '103 runs')
    await show('skills/quick')
    const last = page.getByRole('region', { name: 'Last runs' })
    await press('Show up to 100')
    await page.getByText('The newest 100 runs are kept.').waitFor()
    await until(async () => (await last.getByRole('row').count()) === 101, '100 runs')
    assert.equal(await page.getByText(/^Show up to/).count(), 0)
    const printed = await site.run(['skill', 'usage', 'quick', '--limit', '200'])
    assert.match(printed.out, /The newest 100 runs are kept\.\s*$/)
    const few = await site.run(['skill', 'usage', 'quick'])
    assert.doesNotMatch(few.out, /are kept/)
  })
})
