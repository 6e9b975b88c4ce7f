import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'

const ROUTES = `
schedules:
  - { name: nightly, cron: "30 3 * * *", timezone: Europe/Berlin, skill: count }
  - { name: weekdays, cron: "0 8,17 * * 1-5", skill: count }
  - { name: often, every: 15m, skill: count }
  - { name: within, every: 20m, misfire: { within: 5m }, skill: fails }
  - { name: other, cron: "0 0 3 ? * MON#1", skill: count }
`
const FAILS = `export default { description: 'Fails', run: () => { throw new Error('the disk is full') } }`
const COUNT = `export default { description: 'Counts', run: () => 'counted' }`

describe('schedules in the console', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: { count: COUNT, fails: FAILS } })
  const daemon = await site.start()
  const { page, dialog, press, answer, show, shots } = await openConsole(() => daemon)
  const fact = (name: string) => page.locator('dl.facts > div').filter({ hasText: new RegExp(`^${name}`) })
  const row = (name: string) => page.getByRole('row', { name: `Schedule ${name}` })

  test('the list has the times in words, and the soonest schedule first', async () => {
    await page.getByRole('link', { name: 'Schedules', exact: true }).click()
    await row('nightly').getByText('daily at 03:30, Europe/Berlin').waitFor()
    await row('weekdays').getByText('Monday to Friday at 08:00 and 17:00, UTC').waitFor()
    await row('often').getByText('every 15 min').waitFor()
    await row('other').getByText('0 0 3 ? * MON#1, UTC').waitFor()
    const next = page.locator('td[data-label="next"] time')
    const times = await next.evaluateAll((all) => all.map((time) => time.getAttribute('datetime') ?? ''))
    assert.equal(times.length, 5)
    assert.deepEqual(times, times.toSorted())
    assert.deepEqual(await faultsOf(page), [])
    await shots('schedules')
  })

  test('running, pausing and resuming a schedule each ask for confirmation', async () => {
    await press('Run now: schedule nightly')
    await answer('Run now')
    await page.getByText('nightly runs now.').waitFor()
    await row('nightly').getByText('done', { exact: true }).waitFor()
    await row('nightly').getByText(/^took/).waitFor()
    await shots('schedules-run')
    await press('Pause schedule nightly')
    await dialog.getByText('Pause: schedule nightly?').waitFor()
    await dialog.getByLabel('Reason (optional)').fill('the report is wrong')
    await answer(/^for 4 hours/)
    await row('nightly')
      .filter({ hasText: /by control token for .*, until .*: the report is wrong/ })
      .waitFor()
    await press('Resume schedule nightly')
    await answer('Resume')
    await row('nightly').getByRole('button', { name: 'Pause schedule nightly' }).waitFor()
  })

  test('a pause says before and after what it skips, and when the schedule runs next', async () => {
    await row('often').getByRole('link', { name: 'routes.yaml, line 5' }).waitFor()
    await press('Pause schedule often')
    await dialog.getByText(/^The next one is at /).waitFor()
    await dialog.getByRole('button', { name: 'for 15 minutes skips 1 time' }).waitFor()
    await dialog.getByRole('button', { name: 'until it is resumed skips all times' }).waitFor()
    await answer('until …')
    await dialog.getByText(/^\d planned times are skipped, the first at .* The next run is at /).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('schedule-pause')
    await answer('for 4 hours skips 5+ times')
    const toast = page.locator('.toast')
    await toast.getByText(/16 planned times are skipped, the first at .*\. The next run is at /).waitFor()
    await row('often')
      .getByText(/^16 planned times are skipped, .* The next run is at /)
      .waitFor()
    const { out } = await site.run(['schedule', 'show', 'often'])
    assert.match(out.replaceAll(/\s+/g, ' '), /16 planned times are skipped, .* The next run is at/)
    assert.match(out, /routes\.yaml, line 5/)
    const [shown] = [await daemon.invoke('schedule-show', { id: 'often' })].map(Object)
    assert.equal(shown.paused.nextRun, shown.next + 16 * 900_000)
    await press('Resume schedule often')
    await dialog
      .getByText(/^It continues at its next planned time, .*\. No planned time was skipped\.$/)
      .waitFor()
    await answer('Resume')
    await row('often').getByRole('button', { name: 'Pause schedule often' }).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await row('often').getByRole('link', { name: 'routes.yaml, line 5' }).click()
    await page.locator('.code .wanted').getByText('name: often').waitFor()
    await page.goBack()
    await row('often').waitFor()
  })

  test('a schedule has a page with its rules and its last runs', async () => {
    await row('nightly').getByRole('link', { name: 'nightly' }).click()
    await fact('when').getByText('30 3 * * *').waitFor()
    await fact('if no daemon runs then')
      .getByText(/^the newest missed time runs late/)
      .waitFor()
    assert.equal(await fact('after that').getByRole('time').count(), 4)
    await fact('last run').getByText('done', { exact: true }).waitFor()
    const runs = page.getByRole('region', { name: 'Last runs' })
    await runs.getByText('by hand').waitFor()
    await runs.getByText('done', { exact: true }).waitFor()
    await runs.getByText('What it returned').click()
    await runs.getByLabel('What it returned').getByText('counted').waitFor()
    await runs.getByRole('row').nth(1).getByRole('link').click()
    await page.getByRole('heading', { name: 'Run of nightly' }).waitFor()
    await page.getByLabel('What it returned').getByText('counted').waitFor()
    await fact('outcome').getByText('done', { exact: true }).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('schedule-run')
    await fact('skill').getByRole('link', { name: 'count' }).click()
    const ofSkill = page.getByRole('region', { name: 'Last runs' })
    const ran = ofSkill.getByRole('row').filter({ hasText: 'schedule nightly' }).first()
    await ran.getByRole('link').first().click()
    await page.getByRole('heading', { name: 'Run of nightly' }).waitFor()
    await page.getByLabel('What it returned').getByText('counted').waitFor()
    await page.getByRole('link', { name: '← nightly' }).click()
    await runs.waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('schedule')
    await page.getByRole('link', { name: 'Schedules', exact: true }).last().click()
    await row('nightly').waitFor()
  })

  test('a run that fails has its error in the list and on the page', async () => {
    await press('Run now: schedule within')
    await answer('Run now')
    await row('within').getByText('the disk is full').waitFor()
    await row('within').getByRole('link', { name: 'within' }).click()
    await fact('if no daemon runs then')
      .getByText(/unless it is more than 5 min ago$/)
      .waitFor()
    await page.getByRole('region', { name: 'Last runs' }).getByText('the disk is full').waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('schedule-failed')
    await show('schedules')
  })

  test('schedules are found in the palette', async () => {
    await page.keyboard.press('Control+k')
    await dialog.getByRole('option').first().waitFor()
    await page.keyboard.type('nightly')
    await dialog.getByRole('option', { name: /^nightly/ }).waitFor()
    await dialog.getByRole('option', { name: /^Run schedule nightly now/ }).click()
    await answer('Run now')
    await page.getByText('nightly runs now.').waitFor()
  })
})
