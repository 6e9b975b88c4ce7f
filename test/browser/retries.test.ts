import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none } }
routes:
  - { name: charges, skill: charge, retry: { attempts: 1 } }
`
const CHARGE = `import { existsSync } from 'node:fs'
export default { description: 'charges', run({ args }) {
  const has = (name) => existsSync(new URL('../../' + name, import.meta.url))
  if (args.text.includes('no ')) throw new Error(args.text.includes('form') ? 'no form' : 'no stamp')
  const mayPay = has('open') && (has('open-for-all') || !args.text.includes('3'))
  if (!mayPay) throw new Error('no money today')
} }`

describe('the retry of many dead letters', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: { charge: CHARGE } })
  const daemon = await site.start()
  const { page, show, press, answer, shots } = await openConsole(() => daemon)
  for (const number of [1, 2, 3]) await daemon.post('/shop', JSON.stringify({ text: `charge ${number}` }))
  const letters = async () => [await daemon.invoke('dead-letter-list', {})].flat().length
  await until(async () => (await letters()) === 3, 'three dead letters')
  const retries = page.getByRole('list', { name: 'Last retries' })
  const retry = retries.getByRole('link', { name: '3 dead letters of charges retried' })

  test('is a job, whose outcome stays on the lists and on Now', async () => {
    await show('dead-letters')
    site.write('open', '')
    await press('Retry all …')
    await page.getByRole('dialog').getByText('Retry all 3 dead letters?').waitFor()
    await answer('Retry')
    await page.getByText('Began to retry 3 dead letters.').waitFor()
    await retry.waitFor()
    await retries.getByText('2 done', { exact: true }).waitFor()
    await retries.getByText('1 failed again', { exact: true }).waitFor()
    await page.reload()
    await retries.getByText('2 done', { exact: true }).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('retries')
    await page.locator('.group [data-row]').click()
    await retries.getByText('2 done', { exact: true }).waitFor()
    // The one that failed again did so after the others were done.
    await page
      .getByText(/^2 messages of this cause were retried and are done, .* ago, before the last failure\.$/)
      .waitFor()
    await page.getByText(/^✗ This one was retried .* ago, and failed again\.$/).waitFor()
    await show('now')
    await retries.getByText('1 failed again', { exact: true }).waitFor()
  })

  test('leads to its messages, those that failed again first', async () => {
    await retry.click()
    await page.getByRole('heading', { name: '3 dead letters of charges retried' }).waitFor()
    const rows = page.getByRole('list', { name: 'Retried messages' }).getByRole('listitem')
    await until(async () => (await rows.count()) === 3, 'the messages')
    const texts = await rows.allTextContents()
    assert.match(String(texts[0]), /charge 3.*failed again/)
    assert.match(String(texts[1]), /done/)
    assert.deepEqual(await faultsOf(page), [])
    await shots('retried')
    await show('jobs')
    await page.getByRole('link', { name: /^Retry dead letters/ }).click()
    await page.getByText('1 failed again', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'See the messages' }).click()
    await rows.first().click()
    await page.getByRole('heading', { name: 'Timeline' }).waitFor()
  })

  test('is not shown for another cause of the same route', async () => {
    await show('dead-letters?queue=dispatch&group=charges&code=skill_failed&pattern=another')
    await page.getByText('No dead letter of this kind is left.').waitFor()
    await show('dead-letters?queue=dispatch&group=charges')
    await retry.waitFor()
    const others = await daemon.invoke('dead-letter-retries', { group: 'charges', pattern: 'another' })
    assert.deepEqual(others, [])
  })

  test('leaves the dead letter of each message, with the times of its attempts and its conversation', async () => {
    const [letter] = [await daemon.invoke('dead-letter-list', {})].flat()
    await show(`dead-letters/${Object(letter).id}?queue=dispatch`)
    const times = page.locator('.timeline .when time')
    await times.first().waitFor()
    // The first attempt, the retry, and its attempt.
    assert.equal(await times.count(), 3)
    const fact = page.locator('dl.facts > div').filter({ hasText: /^conversation/ })
    assert.match((await fact.getByRole('link').getAttribute('href')) ?? '', /^#\/conversations\/shop\//)
    assert.deepEqual(await faultsOf(page), [])
  })

  test('that is not known does not look like one that is on its way', async () => {
    await show('dead-letters?job=dead-letters-of-yesterday')
    await page.getByText(/Could not load the retry/).waitFor()
  })

  test('of one letter shows its outcome, with a link to the message', async () => {
    site.write('open-for-all', '')
    await show('dead-letters')
    await press('Retry')
    await answer('Retry')
    await page.locator('[role=status]').getByText('1 message retried: done.').first().waitFor()
    await page.locator('#main').getByRole('link', { name: 'See the message' }).click()
    await page.getByRole('heading', { name: 'Timeline' }).waitFor()
  })

  test('does not show another kind as changed, and its outcome only with its own kind', async () => {
    await daemon.post('/shop', JSON.stringify({ text: 'no form' }))
    await until(async () => (await letters()) === 1, 'a dead letter of another kind')
    await show('dead-letters')
    await page.getByText('1 message retried: done.').first().waitFor()
    await page.locator('.group [data-row]').click()
    await page.locator('.list a.message-row').hover()
    const checked = page.waitForResponse(/dead-letter-list/)
    await daemon.post('/shop', JSON.stringify({ text: 'no stamp' }))
    await checked
    await page.locator('.list a.message-row:hover').waitFor({ state: 'attached' })
    assert.equal(await page.getByRole('button', { name: 'Changed · refresh' }).count(), 0)
    assert.equal(await page.locator('#main').getByText('1 message retried').count(), 0)
    const changed = page.getByRole('button', { name: 'Changed · refresh' }).waitFor()
    await daemon.post('/shop', JSON.stringify({ text: 'no form' }))
    await changed
  })
})
