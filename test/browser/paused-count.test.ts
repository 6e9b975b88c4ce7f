import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
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
})
