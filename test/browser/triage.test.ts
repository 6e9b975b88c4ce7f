import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { leaveLists, openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { intercept } from '../fixtures/intercept.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none } }
  cli: { transport: cli }
routes:
  - { name: charges, match: { gateway: shop, text: "*charge*" }, skill: charge, retry: { attempts: 2, backoff: fixed, delay: 10ms } }
  - { name: slow, match: { gateway: shop, text: "*slow*" }, skill: charge, retry: { attempts: 3, backoff: fixed, delay: 1h } }
  - { name: silent, match: { gateway: cli, text: "*nothing*" }, skill: quiet }
  - { name: rest, match: { gateway: cli }, skill: echo }
`
const CHARGE = `export default { description: 'charges', run({ args }) { throw new Error('no money today') } }`
const QUIET = `export default { description: 'says nothing', run() {} }`

describe('what failed, from its number to its cause', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: { charge: CHARGE, quiet: QUIET } })
  const daemon = await site.start()
  const { page, show, press, dialog } = await openConsole(() => daemon, { width: 1440 })
  for (const text of ['charge 1', 'charge 2', 'slow 1', 'slow 2', 'slow 3'])
    await daemon.post('/shop', JSON.stringify({ text }))
  for (const text of ['hello', 'nothing'])
    await fetch(`${daemon.control}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ gateway: 'cli', conversation: 'desk', from: 'ada', text }),
    })
  const found = async (outcome: string): Promise<{ id: string; text: string }[]> =>
    Object(await daemon.invoke('message-search', { outcome })).messages
  const has = async (outcome: string, many: number) => (await found(outcome)).length === many
  await until(() => has('dead', 2), 'two dead letters')
  await until(() => has('retrying', 3), 'three messages in back-off')
  await until(() => has('done', 2), 'two handled messages')
  const rows = page.getByRole('listitem').filter({ has: page.locator('.message-row') })
  const focused = () => page.evaluate("document.activeElement?.getAttribute('href') ?? ''")

  test('the failed attempts of a route lead to these runs of its skill, and to no others', async () => {
    const runs = page.getByRole('region', { name: 'Last runs' }).locator('tbody tr')
    await show('routes')
    const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'slow', exact: true }) })
    await row.getByRole('link', { name: /^3 \(100 %\)$/ }).click()
    await page.getByRole('button', { name: 'Remove the filter by caller' }).waitFor()
    await until(async () => (await runs.count()) === 3, 'the three runs')
    await show('configuration/charges')
    const card = page.locator('.figure').filter({ hasText: 'Failed attempts' })
    await card.getByRole('link', { name: /^4 (?:of|\()/ }).click()
    await until(async () => (await runs.count()) === 4, 'the four runs')
    await press('Remove the filter by caller')
    await until(async () => (await runs.count()) === 7, 'all failed runs')
  })

  test('the routes can be searched, and keep their numbers while these are counted again', async () => {
    await show('routes')
    const region = page.getByRole('region', { name: 'All routes' })
    await region.getByRole('link', { name: /^3 \(100 %\)$/ }).waitFor()
    await show('now')
    await page.getByRole('heading', { name: 'Now', exact: true }).waitFor()
    const restore = await intercept(page, '**/v1/skills/skill-usage', () => undefined)
    await show('routes')
    await region.getByRole('link', { name: /^3 \(100 %\)$/ }).waitFor()
    await restore()
    await page.getByRole('searchbox', { name: 'Search routes' }).fill('cli')
    await until(async () => (await region.locator('tbody tr').count()) === 2, 'the routes of cli')
  })

  test('a dead message leads to its dead letter and to the others with its error', async () => {
    const [{ id } = { id: '' }] = await found('dead')
    await show(`messages/${id}`)
    const state = page.locator('.now-it')
    await state.getByText(/^It failed permanently after 2 attempts: no money today/).waitFor()
    await daemon.invoke('dead-letter-retry', { id })
    await state.getByText(/^It failed permanently after 4 attempts, 2 of them since the retry/).waitFor()
    await page.locator('.timeline').getByText('attempt 2 after the retry failed permanently').waitFor()
    await state.getByRole('link', { name: '1 other failed with this error' }).click()
    await page.getByText('2 dead letters').first().waitFor()
    await show(`messages/${id}`)
    await state.getByRole('link', { name: 'See its dead letter' }).click()
    await page.getByRole('heading', { name: 'no money today' }).waitFor()
    await page.getByRole('link', { name: '1 other failed with this error' }).waitFor()
  })

  test('the page of a message has its place in the conversation, and the timeline before that on a phone', async () => {
    const [{ id } = { id: '' }] = (await found('done')).filter(({ text }) => text === 'nothing')
    await show(`messages/${id}`)
    await page.locator('.chat .here').getByText('this message').waitFor()
    await page.setViewportSize({ width: 390, height: 844 })
    const top = async (name: string) => (await page.getByRole('heading', { name }).boundingBox())?.y ?? 0
    const isBefore = async () => (await top('Timeline')) < (await top('The conversation'))
    await until(isBefore, 'the timeline before the conversation')
    // No program has ever pulled.
    assert.equal(await page.getByText('receive road').count(), 0)
    await page.setViewportSize({ width: 1440, height: 900 })
  })

  test('a message has its state, its text and its answer on the first screen of a phone, above its ids', async () => {
    const [{ id } = { id: '' }] = (await found('done')).filter(({ text }) => text === 'hello')
    await page.setViewportSize({ width: 390, height: 844 })
    await show(`messages/${id}`)
    const answer = page.getByLabel('Reply')
    await answer.getByText('hello').waitFor()
    const place = async (part: ReturnType<typeof page.locator>) => Object(await part.boundingBox())
    const [text, sent, ids] = [
      page.getByLabel('Text', { exact: true }),
      answer,
      page.locator('dt:text-is("id")'),
    ]
    const { y, height } = await place(sent)
    assert.ok(y + height <= 844, `the answer ends at ${y + height}`)
    assert.ok((await place(page.locator('.now-it'))).y < (await place(text)).y)
    assert.ok((await place(text)).y < y && y < (await place(ids)).y, 'text, answer, ids')
    await page.locator('.timeline').getByText('attempt 1 done').waitFor()
    await page.locator('.timeline').getByText('answer sent to ada').waitFor()
    // The rarer actions are in a menu, which Escape closes without leaving the page.
    const erase = page.getByRole('button', { name: 'Erase …' })
    assert.equal(await erase.isVisible(), false)
    await page.getByText('More', { exact: true }).click()
    await erase.waitFor()
    await page.keyboard.press('Escape')
    await erase.waitFor({ state: 'hidden' })
    assert.match(page.url(), new RegExp(`messages/${id}$`))
    await page.setViewportSize({ width: 1440, height: 900 })
  })

  test('a short payload is open where there is room, and folded on the next page if somebody folds it', async () => {
    const [first, second] = await found('dead')
    await show(`messages/${first?.id}`)
    await page
      .locator('.gist')
      .getByText(/^charge \d$/)
      .waitFor()
    const payload = page.getByLabel('Text', { exact: true })
    await payload.getByText('"text":').waitFor()
    await page.setViewportSize({ width: 390, height: 844 })
    await payload.waitFor({ state: 'hidden' })
    // Its details are far below there.
    const ids = page.locator('.ids')
    await ids.getByRole('link', { name: 'charges', exact: true }).waitFor()
    assert.match((await ids.textContent()) ?? '', new RegExp(`…${first?.id.slice(-8)}`))
    await page.setViewportSize({ width: 1440, height: 900 })
    await payload.waitFor()
    await page.getByText(/^Payload/).click()
    await payload.waitFor({ state: 'hidden' })
    await show(`messages/${second?.id}`)
    await page.getByText(/^Payload/).waitFor()
    assert.equal(await payload.isVisible(), false)
    await page.getByText(/^Payload/).click()
    await payload.getByText('"text":').waitFor()
  })

  test('a row says whether its sender got an answer', async () => {
    await show('messages?gateway=cli')
    await rows.filter({ hasText: 'hello' }).getByText('answered', { exact: true }).waitFor()
    await rows.filter({ hasText: 'nothing' }).getByText('no answer', { exact: true }).waitFor()
  })

  test('Enter in a search moves the focus to the first row', async () => {
    await show('messages')
    await page.getByRole('combobox', { name: 'Search messages' }).fill('charge')
    await page.keyboard.press('Enter')
    const [{ id } = { id: '' }] = await found('dead')
    await until(async () => (await focused()) === `#/messages/${id}`, 'the focus on the row')
    await show('audit')
    await page.getByRole('combobox', { name: 'Search the audit log' }).fill('action:dead-letter-retry')
    await page.keyboard.press('Enter')
    await until(async () => String(await focused()).startsWith('#/audit/'), 'the focus on the entry')
  })

  test('the menus show what the search says, and replace it', async () => {
    await show('messages?search=gateway:shop%20status:failed%20charge')
    const [gateway, outcome] = [page.getByLabel('Gateway'), page.getByLabel('Outcome')]
    await until(async () => (await gateway.inputValue()) === 'shop', 'the gateway of the search')
    assert.equal(await outcome.inputValue(), 'failed')
    await outcome.selectOption('retrying')
    await page.waitForURL(/outcome=retrying/)
    await until(
      async () =>
        (await page.getByRole('combobox', { name: 'Search messages' }).inputValue()) ===
        'gateway:shop charge',
      'the search without its outcome',
    )
  })

  test('failed messages have their causes above them', async () => {
    await show('messages?outcome=failed')
    await page.getByRole('list', { name: 'Why they failed' }).getByText('no money today').waitFor()
  })

  test('Ctrl+Enter confirms a question, and Enter does not close it unanswered', async () => {
    await show('dead-letters')
    await press('Retry all …')
    await dialog.getByText('Retry all 2 dead letters?').waitFor()
    await dialog.getByText('Ctrl Enter').waitFor()
    assert.equal(await page.evaluate('document.activeElement.textContent.startsWith("Retry")'), true)
    await page.keyboard.press('Control+Enter')
    await page.getByText('Began to retry 2 dead letters.').waitFor()
    await press('Drop all …')
    await dialog.getByText(/^Drop all 2/).waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
  })

  test('selected messages, and all of a route, are tried again at once', async () => {
    const retried = async () => {
      const shown = (await found('retrying')).map(({ id }) => daemon.invoke('message-show', { id }))
      return (await Promise.all(shown)).filter((one) => JSON.stringify(one).includes('retried early')).length
    }
    await show('messages?outcome=retrying')
    await rows.filter({ hasText: 'slow 1' }).getByRole('checkbox').click()
    await rows.filter({ hasText: 'slow 2' }).getByRole('checkbox').click()
    await press('Retry 2 now …')
    await dialog.getByText('Retry 2 messages now?').waitFor()
    await page.keyboard.press('Enter')
    await page.getByText('The next attempt of 2 messages begins now.').waitFor()
    await until(async () => (await retried()) === 2, 'the attempts of the selected ones')
    await leaveLists(page)
    const { out } = await site.run(['message', 'retry', '--all', '--search', 'slow 3'])
    assert.match(out, /1 retried: 1 failed, tried again later/)
    assert.equal(await retried(), 3)
    await show('configuration/slow')
    await press('Retry all now …')
    await dialog.getByText('Retry all messages of route slow now?').waitFor()
    await page.keyboard.press('Control+Enter')
    await until(() => has('retrying', 0), 'the last attempts')
  })
})
