import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

describe('a paused store in the console', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: 'routes: [{ name: all, skill: echo }]' })
  assert.equal((await site.run(['store', 'pause'])).code, 0)
  const daemon = await site.start()
  const { page, dialog, show, press, answer } = await openConsole(() => daemon)
  const pauses = async () => [await daemon.invoke('pause-list')].flat()

  test('Now and Paused show it first, and both resume it after a question', async () => {
    await daemon.invoke('route-pause', { route: 'all' })
    await show('now')
    const first = page.locator('.troubles li').first()
    await first.getByText('Everything is paused').waitFor()
    await first.getByRole('button', { name: 'Resume everything' }).click()
    await dialog.getByText(/in all daemons of the store/).waitFor()
    await answer('Cancel')
    assert.equal((await pauses()).length, 2)
    await show('paused')
    await page.locator('tbody tr').first().getByText('everything').waitFor()
    await press('Resume store everything')
    await answer('Cancel')
    assert.equal((await pauses()).length, 2)
    await press('Resume store everything')
    await dialog.getByText(/in all daemons of the store/).waitFor()
    await answer('Resume')
    await page.locator('tbody tr').first().getByText('Resumed.').waitFor()
    await until(async () => (await pauses()).length === 1, 'only the pause of the route')
  })
})
