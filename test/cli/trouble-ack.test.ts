import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'

describe('trouble ack', { timeout: 300_000 }, async () => {
  const site = openSite({
    routes: `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none } }
routes: [{ name: all, skill: echo }]
`,
  })
  const daemon = await site.start()

  test('says in the list and in the status who takes care of a trouble, until it is released', async () => {
    await daemon.invoke('gateway-pause', { gateway: 'shop' })
    const list = async () => (await site.run(['trouble', 'list'])).out
    const [, id = ''] = /Gateway shop is paused \(paused, for .*, id ([0-9a-f]{8})\)/.exec(await list()) ?? []
    const { code, out } = await site.run(['trouble', 'ack', id, '--for', '2h', '--reason', 'stocktaking'])
    assert.equal(code, 0)
    assert.match(out, /^You have it: Gateway shop is paused\. .* and at 20.* UTC\./)
    assert.match(await list(), /\n {2}.+ has it for \d+ (?:s|min), until 20.* UTC: stocktaking\n/)
    assert.match((await site.run(['status'])).out, /Gateway shop is paused \(\d+ (?:s|min), .+ has it\)/)
    assert.match(
      (await site.run(['trouble', 'release', id])).out,
      /^It counts again: Gateway shop is paused\./,
    )
    assert.doesNotMatch(await list(), / has it /)
    assert.match((await site.run(['trouble', 'release', id])).out, /^Nobody had it/)
    const audited = (await site.run(['audit', 'list'])).out
    assert.match(audited, /trouble-acknowledge\s.*trouble Gateway shop is paused/)
    const unknown = await site.run(['trouble', 'ack', '00000000'])
    assert.equal(unknown.code, 1)
    assert.match(unknown.err, /There is no trouble 00000000/)
  })
})
