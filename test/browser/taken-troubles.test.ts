import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none } }
routes: [{ name: broken, skill: fail, retry: { attempts: 1 } }]
`
const SKILLS = { fail: `export default { description: 'fails', run() { throw new Error('no luck') } }` }

describe('a person takes care of a trouble', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: SKILLS })
  const daemon = await site.start()
  const { page, dialog, show, shots } = await openConsole(() => daemon)
  const wrong = page.getByRole('region', { name: 'What is wrong' })
  const card = (title: string) => wrong.getByRole('listitem').filter({ hasText: title })
  const die = async (many: number) => {
    for (let n = 0; n < many; n++) await daemon.post('/shop', JSON.stringify({ text: `order ${n}` }))
    return until(async () => {
      const [group] = [await daemon.invoke('dead-letter-groups', {})].flat().map(Object)
      return group?.count > 1 || many === 1
    }, 'the dead letters')
  }

  test('with a note and an end, which everybody sees in a quieter group', async () => {
    await die(1)
    await show('now')
    await card('1 dead letter of broken').getByRole('button', { name: 'I have it' }).click()
    await dialog.getByLabel('What are you doing about it?').fill('calling the post office')
    await dialog.getByLabel('Until').selectOption({ label: 'in 4 hours' })
    await shots('take-trouble')
    await dialog.getByRole('button', { name: 'I have it' }).click()
    await wrong.getByText('Every problem is taken care of.').waitFor()
    await wrong.getByRole('heading', { name: 'Somebody has it 1' }).waitFor()
    const taken = card('1 dead letter of broken')
    await taken.getByText(/have it, .* ago, until .*: calling the post office$/).waitFor()
    assert.equal(await taken.getByRole('button', { name: 'I have it' }).count(), 0)
    assert.deepEqual(await faultsOf(page), [])
    await shots('taken-trouble')
    const audited = Object(await daemon.invoke('audit-list', { limit: 1 })).entries[0]
    assert.partialDeepStrictEqual(audited, {
      action: 'trouble-acknowledge',
      outcome: 'ok',
      reason: 'calling the post office',
      result: { trouble: '1 dead letter of broken' },
    })
  })

  test('which the dead letters, their cause, and the questions to retry or drop them show', async () => {
    const owner = /have it, .* ago, until .*: calling the post office$/
    await show('dead-letters')
    await page.locator('.group').getByText(owner).waitFor()
    await page.getByRole('link', { name: 'broken' }).click()
    const main = page.getByRole('main')
    await main.getByText(owner).waitFor()
    await main.getByRole('button', { name: /^Drop/ }).first().click()
    await dialog.getByText(owner).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await page.keyboard.press('Escape')
    await main
      .getByRole('button', { name: /^Retry/ })
      .first()
      .click()
    await dialog.getByText(owner).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('list', { name: 'Dead letters' }).getByRole('link').first().click()
    await page.getByRole('heading', { name: 'Attempts' }).waitFor()
    await main.getByText(owner).waitFor()
  })

  test('which no longer counts in the badge, until it is released', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    await show('messages')
    const menu = page.getByRole('button', { name: /^Messages/ })
    await page.getByRole('list', { name: 'Messages' }).getByRole('listitem').first().waitFor()
    assert.equal(await menu.locator('.count').count(), 0)
    await show('now')
    await card('1 dead letter of broken').getByRole('button', { name: 'Release' }).click()
    await wrong.getByRole('heading', { name: /^Somebody has it/ }).waitFor({ state: 'detached' })
    await show('messages')
    await menu.locator('.count').getByText('1', { exact: true }).waitFor()
    await page.setViewportSize({ width: 1200, height: 900 })
  })

  test('until it gets worse', async () => {
    const [trouble] = Object(await daemon.invoke('troubles', {})).troubles
    await daemon.invoke('trouble-acknowledge', { id: trouble.id, reason: 'known' })
    await show('now')
    await wrong.getByRole('heading', { name: 'Somebody has it 1' }).waitFor()
    await die(10)
    await card('11 dead letters of broken').getByRole('button', { name: 'I have it' }).waitFor()
    assert.equal(await wrong.getByRole('heading', { name: /^Somebody has it/ }).count(), 0)
  })
})
