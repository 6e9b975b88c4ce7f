import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'

const ROUTES = `
gateways:
  left: { transport: websocket, path: /left }
  right: { transport: websocket, path: /right }
tokens:
  - { name: of-right, token: token-of-the-right-one, skills: ["gateway-*"], gateways: [right] }
routes: [{ name: all, skill: echo }]
`

describe('gateway-reconnect', { timeout: 60_000 }, async () => {
  const site = openSite({ routes: ROUTES })
  const daemon = await site.start()

  test('ends and makes anew the connection of one gateway, and leaves the others alone', async () => {
    const [left, right] = [await daemon.chat('/left'), await daemon.chat('/right')]
    const { code, out } = await site.run(['gateway-reconnect', 'left', '--json'])
    assert.equal(code, 0)
    assert.partialDeepStrictEqual(JSON.parse(out), { name: 'left', ok: true })
    await left.closed
    assert.equal(await right.ask('still there?'), 'You said: still there?')
    const again = await daemon.chat('/left')
    assert.equal(await again.ask('back?'), 'You said: back?')
    again.close()
    right.close()
  })

  test('refuses a name that no gateway has, and a token of other gateways', async () => {
    const { code, err } = await site.run(['gateway-reconnect', 'lefd'])
    assert.equal(code, 1)
    assert.match(err, /no running gateway lefd.*left/)
    const refused = await fetch(`${daemon.control}/v1/skills/gateway-reconnect`, {
      method: 'POST',
      headers: { authorization: 'Bearer token-of-the-right-one', 'content-type': 'application/json' },
      body: '{"gateway":"left"}',
    })
    assert.equal(refused.status, 403)
  })
})
