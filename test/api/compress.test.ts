import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'

describe('answers of the control API', { timeout: 60_000 }, async () => {
  const site = openSite({ routes: 'routes: [{ name: all, skill: echo }]' })
  const daemon = await site.start()
  const authorization = `Bearer ${daemon.token}`
  const session = await fetch(`${daemon.control}/v1/session`, { method: 'POST', headers: { authorization } })
  const cookie = String(session.headers.get('set-cookie')).split(';')[0] ?? ''
  const ask = (path: string, headers: Record<string, string>) => fetch(daemon.control + path, { headers })

  test('are compressed for browsers where they are long, and plain for programs', async () => {
    const plain = await ask('/openapi.json', { authorization })
    assert.equal(plain.headers.get('content-encoding'), null)
    const whole = await plain.json()
    for (const encoding of ['br', 'gzip']) {
      const short = await ask('/openapi.json', { cookie, 'accept-encoding': encoding })
      assert.equal(short.headers.get('content-encoding'), encoding)
      assert.equal(short.headers.get('vary'), 'accept-encoding')
      assert.match(String(short.headers.get('content-type')), /^application\/json/)
      assert.ok(Number(short.headers.get('content-length')) < JSON.stringify(whole).length / 5)
      assert.deepEqual(await short.json(), whole)
    }
    const little = await ask('/v1/history', { cookie, 'accept-encoding': 'br' })
    assert.equal(little.headers.get('content-encoding'), null)
    assert.ok(Object(await little.json()).result.points)
    const none = await ask('/openapi.json', { cookie, 'accept-encoding': 'identity' })
    assert.equal(none.headers.get('content-encoding'), null)
    const refused = await ask('/v1/nothing', { cookie, 'accept-encoding': 'br' })
    assert.equal(refused.status, 404)
  })
})
