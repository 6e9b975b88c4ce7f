import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { describe, type TestContext, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { SignJWT } from 'jose'
import { isJsonObject, parseJson } from '../../../src/core/json.ts'
import { json, startWebhook } from './harness.ts'
import { KEY_ID, plaidKey, signedByPlaid } from './providers/plaid.ts'

const NOW = Date.UTC(2026, 11, 1)
const DAY = 86_400_000
const BODY = '{"webhook_type":"ITEM","webhook_code":"ERROR","item_id":"i1"}'
const realFetch = fetch

/** Starts a gateway for Plaid, with Plaid's API in place of the network. */
async function start(t: TestContext, own: { options?: object; key?: object; status?: number } = {}) {
  const asked: unknown[] = []
  const clock = { now: NOW }
  const plaid = { down: false }
  t.mock.method(globalThis, 'fetch', async (address: string | URL, init?: RequestInit) => {
    const { href, hostname } = new URL(String(address))
    if (hostname === '127.0.0.1') return realFetch(address, init)
    const request = parseJson(String(init?.body))
    assert.ok(isJsonObject(request))
    asked.push([href, request.secret, request.key_id])
    if (plaid.down) return Response.json({ error_code: 'INTERNAL_SERVER_ERROR' }, { status: 500 })
    if (request.secret === 'old') return Response.json({ error_code: 'INVALID_API_KEYS' }, { status: 400 })
    return plaidKey(request.key_id, own.key)
  })
  const verify = { scheme: 'plaid', 'client-id': 'c1', secret: 's', ...own.options }
  const hook = await startWebhook({ verify }, { now: () => clock.now })
  const post = async (headers: Record<string, string>, body = BODY) => {
    const { status, body: answer } = await hook.post(body, { ...json, ...headers })
    return [status, answer.error?.message ?? ''] as const
  }
  return { ...hook, post, asked, clock, plaid }
}

describe('a webhook gateway for Plaid', () => {
  test('asks Plaid for the key of a token once a day', async (t) => {
    const { post, last, asked, clock } = await start(t, { options: { environment: 'sandbox' } })
    assert.deepEqual(await post(await signedByPlaid(BODY, NOW)), [202, ''])
    assert.equal(last().from.verified, true)
    assert.equal((await post(await signedByPlaid(BODY, NOW - 60_000)))[0], 202)
    const question = ['https://sandbox.plaid.com/webhook_verification_key/get', 's', KEY_ID]
    assert.deepEqual(asked, [question])
    clock.now += DAY
    assert.equal((await post(await signedByPlaid(BODY, clock.now)))[0], 202)
    assert.deepEqual(asked, [question, question])
  })

  test('refuses another body, an old token, another key and no token', async (t) => {
    const { post, store } = await start(t)
    const good = await signedByPlaid(BODY, NOW)
    const forged = new SignJWT({ request_body_sha256: hash('sha256', BODY) })
      .setProtectedHeader({ alg: 'HS256', kid: KEY_ID })
      .setIssuedAt(NOW / 1000)
    for (const [headers, body, reason] of [
      [good, `${BODY} `, /another body/],
      [await signedByPlaid(BODY, NOW - 301_000), BODY, /iat|ended/],
      [await signedByPlaid(BODY, NOW, { kid: 'unknown' }), BODY, /key that Plaid does not know/],
      [await signedByPlaid(BODY, NOW, { kid: '../x' }), BODY, /names no key/],
      [{ 'plaid-verification': await forged.sign(Buffer.alloc(32)) }, BODY, /algorithm/],
      [{ 'plaid-verification': 'a.b.c' }, BODY, /malformed/],
      [{}, BODY, /plaid-verification is missing/],
    ] as const) {
      const [status, message] = await post(headers, body)
      assert.equal(status, 401, message)
      assert.match(message, reason)
    }
    assert.equal(store.messages.length, 0)
  })

  test('accepts a token from a clock that is ahead by no more than `tolerance`', async (t) => {
    const { post } = await start(t, { options: { tolerance: '1m' } })
    assert.deepEqual(await post(await signedByPlaid(BODY, NOW + 59_000)), [202, ''])
    assert.equal((await post(await signedByPlaid(BODY, NOW + 61_000)))[0], 401)
    assert.equal((await post(await signedByPlaid(BODY, NOW - 61_000)))[0], 401)
  })

  test('refuses a key that has expired', async (t) => {
    const { post } = await start(t, { key: { expired_at: NOW / 1000 - 1 } })
    assert.match((await post(await signedByPlaid(BODY, NOW)))[1], /key of its token has expired/)
  })

  test('answers 503 while Plaid is down, and uses the secret that Plaid accepts', async (t) => {
    const { post, plaid, asked } = await start(t, { options: { secret: ['old', 'new'] } })
    plaid.down = true
    assert.equal((await post(await signedByPlaid(BODY, NOW)))[0], 503)
    plaid.down = false
    assert.equal((await post(await signedByPlaid(BODY, NOW)))[0], 202)
    assert.equal(asked.length, 4)
  })

  test('asks for a limited number of keys, however many strangers name', async (t) => {
    const { post, asked } = await start(t)
    const statuses: number[] = []
    for (let n = 0; n < 30; n++)
      statuses.push((await post(await signedByPlaid(BODY, NOW, { kid: `k${n}` })))[0])
    assert.deepEqual([...new Set(statuses)], [401, 503])
    assert.equal(asked.length, 20)
  })

  test('keeps a key, however many ids strangers name', async (t) => {
    const { post, asked, clock } = await start(t)
    assert.equal((await post(await signedByPlaid(BODY, NOW)))[0], 202)
    for (let n = 0; n < 30; n++) {
      clock.now += 5_000
      assert.equal((await post(await signedByPlaid(BODY, clock.now, { kid: `k${n}` })))[0], 401)
    }
    assert.equal((await post(await signedByPlaid(BODY, clock.now)))[0], 202)
    assert.equal(asked.filter((question) => isDeepStrictEqual(question, asked[0])).length, 1)
  })
})
