import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'

describe('answers of the control API', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: 'routes: [{ name: all, skill: echo }]' })
  const daemon = await site.start()
  const authorization = `Bearer ${daemon.token}`
  const session = await fetch(`${daemon.control}/v1/session`, { method: 'POST', headers: { authorization } })
  const cookie = String(session.headers.get('set-cookie')).split(';')[0] ?? ''
  const ask = (path: string, headers: Record<string, string>) => fetch(daemon.control + path, { headers })

  test('are compressed for browsers if they are long, but not for programs', async () => {
    const plain = await ask('/openapi.json', { authorization })
    assert.equal(plain.headers.get('content-encoding'), null)
    const document = await plain.json()
    for (const encoding of ['br', 'gzip']) {
      const compressed = await ask('/openapi.json', { cookie, 'accept-encoding': encoding })
      assert.equal(compressed.headers.get('content-encoding'), encoding)
      assert.equal(compressed.headers.get('vary'), 'accept-encoding')
      assert.match(String(compressed.headers.get('content-type')), /^application\/json/)
      assert.ok(Number(compressed.headers.get('content-length')) < JSON.stringify(document).length / 5)
      assert.deepEqual(await compressed.json(), document)
    }
    const shortAnswer = await ask('/v1/history', { cookie, 'accept-encoding': 'br' })
    assert.equal(shortAnswer.headers.get('content-encoding'), null)
    assert.ok(Object(await shortAnswer.json()).result.points)
    const identity = await ask('/openapi.json', { cookie, 'accept-encoding': 'identity' })
    assert.equal(identity.headers.get('content-encoding'), null)
    const notFound = await ask('/v1/nothing', { cookie, 'accept-encoding': 'br' })
    assert.equal(notFound.status, 404)
  })
})
