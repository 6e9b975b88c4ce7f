import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none } }
subscriptions:
  - { name: crm, topic: orders, url: "http://127.0.0.1:9/crm", allow-private: true, secret: whsec_${'c2VjcmV0'.repeat(5)} }
schedules:
  - { name: nightly, cron: "0 3 * * *", skill: echo, args: { text: hello } }
  - { name: gone, cron: "0 3 * * *", skill: echo, args: { text: hello } }
routes: [{ name: all, skill: echo, reply: none }]
`

describe('the navigation', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: ROUTES })
  const daemon = await site.start()
  const { page, show } = await openConsole(() => daemon)

  test('counts the rows of the page of what is paused, of any kind', async () => {
    const counts = (many: number) =>
      page
        .getByRole('navigation', { name: 'Views' })
        .getByRole('link', { name: `Paused ${many}`, exact: true })
        .waitFor()
    const rows = page.getByRole('region', { name: 'What is paused' }).locator('tbody tr')
    await show('paused')
    for (const id of ['nightly', 'gone']) await daemon.invoke('schedule-pause', { id })
    await counts(2)
    // Now lists them too, and ends the pause.
    await show('now')
    const paused = page.getByRole('list', { name: 'Paused' })
    await paused.getByRole('link', { name: 'Schedule gone is paused' }).waitFor()
    await paused.getByRole('button', { name: 'Resume nightly' }).click()
    await counts(1)
    await daemon.invoke('schedule-pause', { id: 'nightly' })
    await show('paused')
    await counts(2)
    await daemon.invoke('subscription-pause', { name: 'crm' })
    await daemon.invoke('route-pause', { route: 'all' })
    await counts(4)
    for (const conversation of ['a', 'b']) {
      await site.run(['message', 'shop', 'hello', '--conversation', conversation, '--wait', '0'])
      await daemon.invoke('conversation-pause', { gateway: 'shop', conversation })
    }
    await counts(6)
    await rows.nth(5).waitFor()
    assert.equal(await rows.count(), 6)
    // The pause of a schedule that routes.yaml no longer has is in no list.
    site.write('routes.yaml', ROUTES.replace(/ {2}- \{ name: gone.*\n/, ''))
    await daemon.invoke('schedule-resume', { id: 'nightly' })
    assert.equal((await site.run(['reload'])).code, 0)
    await counts(4)
  })

  test('a pause that ended stays listed for a day, with what came meanwhile', async () => {
    await daemon.invoke('route-resume', { route: 'all' })
    await show('paused')
    await daemon.invoke('route-pause', { route: 'all', for: '1h', reason: 'new labels' })
    await site.run(['message', 'shop', 'while it was paused', '--conversation', 'c', '--wait', '0'])
    await daemon.invoke('route-resume', { route: 'all' })
    const ended = page.getByRole('region', { name: 'Ended in the last day' }).getByRole('row')
    const row = ended.filter({ hasText: 'new labels' })
    await row.getByText('by control token').first().waitFor()
    await row.getByRole('link', { name: '1 message' }).click()
    await page.getByRole('list', { name: 'Messages' }).getByText('while it was paused').waitFor()
    await daemon.invoke('route-pause', { route: 'all', for: '1s', reason: 'only a moment' })
    await show('paused')
    await ended.filter({ hasText: 'only a moment' }).getByText('by itself').waitFor()
    assert.deepEqual(await faultsOf(page), [])
    const { out } = await site.run(['pause', 'list', '--ended'])
    assert.match(out, /route\tall\t.*\titself\t.*\tonly a moment/)
    assert.match(out, /route\tall\t.*\tnew labels/)
  })
})
