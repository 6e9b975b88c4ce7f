import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'

const LEILA = 'leila.koval@mail.example'

describe('the page of a person whose address or gateway is mistyped', { timeout: 300_000 }, async () => {
  const site = openSite({
    routes: `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none }, from: data.body.email }
routes:
  - { name: all, skill: echo, reply: none }
`,
  })
  const daemon = await site.start()
  const { page, show } = await openConsole(() => daemon)
  const box = page.getByRole('searchbox', { name: 'address or id' })
  const title = (name: string) => page.getByRole('heading', { level: 1, name })
  await daemon.post('/shop', JSON.stringify({ email: LEILA, text: 'an order' }))

  test('offers the similar address of a sender', async () => {
    await show('people')
    await box.fill('leila.kovel@mail.example')
    await box.press('Enter')
    await page.getByText('Nothing was found about this person').waitFor()
    await page.getByText('Did you mean').waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await page.getByRole('link', { name: `${LEILA} on every gateway` }).click()
    await title(LEILA).waitFor()
    await page.getByRole('region', { name: 'What is kept' }).waitFor()
  })

  test('says that there is no such gateway, and not that nothing is open or kept', async () => {
    await show('people')
    await box.fill(`shopp:${LEILA}`)
    await box.press('Enter')
    await page
      .getByText(/no gateway shopp|gateway shopp/)
      .first()
      .waitFor()
    await page
      .getByText(/Did you mean.*shop/)
      .first()
      .waitFor()
    assert.equal(await page.getByText('Nothing was found').count(), 0)
    assert.equal(await page.getByText('Nothing is open').count(), 0)
  })
})
