import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { exportJWK, SignJWT } from 'jose'
import { DAY } from '../../src/core/units.ts'
import { createJwtCheck, jwtOptions } from '../../transports/websocket/jwt.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { startWebsocket } from '../transports/websocket/harness.ts'

const SECRET = 'a-secret-of-at-least-thirty-two-bytes'
const AUDIENCE = 'trivium-chat'

const rsa = () => generateKeyPairSync('rsa', { modulusLength: 2048 })
const claims = (more: Record<string, unknown> = {}) => ({
  sub: 'ada',
  aud: AUDIENCE,
  exp: Math.floor(Date.now() / 1000) + 60,
  ...more,
})
const byKey = (pair: ReturnType<typeof rsa>, kid: string, payload = claims(), header: object = {}) =>
  new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid, ...header }).sign(pair.privateKey)
const bySecret = (payload = claims(), alg = 'HS256') =>
  new SignJWT(payload).setProtectedHeader({ alg }).sign(Buffer.from(SECRET))
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
/** Creates tokens without a library, because libraries refuse to create invalid ones. */
const byHand = (header: object, key?: string | Buffer, payload: object = claims()) => {
  const head = `${part(header)}.${part(payload)}`
  return `${head}.${key === undefined ? '' : createHmac('sha256', key).update(head).digest('base64url')}`
}

/** An issuer whose keys can be changed. `requests` returns the number of requests for them. */
async function startIssuer(pair: ReturnType<typeof rsa>, kid: string) {
  const keys = [{ ...(await exportJWK(pair.publicKey)), kid, alg: 'RS256', use: 'sig' }]
  let requests = 0
  const { url, close } = await serveHttp((_request, response) => {
    requests++
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ keys }))
  })
  return { jwks: `${url}/keys`, keys, close, requests: () => requests }
}

describe('clients of a WebSocket gateway with JWTs', () => {
  test('have the exact subject of their token, however they send it', async () => {
    const { connect, store } = await startWebsocket({ jwt: { secret: SECRET, audience: AUDIENCE } })
    const token = await bySecret()
    const clients = [
      await connect('', { headers: { authorization: `Bearer ${token}` } }),
      await connect(`?token=${token}`),
      await connect('', {}, ['trivium', `bearer.${token}`]),
      await connect('', {}, [`bearer.${await bySecret(claims({ sub: 'Ada' }), 'HS512')}`]),
    ]
    for (const client of clients) {
      client.say({ type: 'message', text: 'hi', from: 'root' })
      await client.next('ack')
    }
    const from = store.messages.map((message) => message.from)
    assert.deepEqual(from.map(({ id }) => id).toSorted(), ['Ada', 'ada', 'ada', 'ada'])
    assert.ok(from.every(({ verified }) => verified === true))
  })

  test('are named only by the configured claim', async () => {
    const { connect, refusal, store } = await startWebsocket({
      jwt: { secret: SECRET, 'name-claim': 'email' },
    })
    const client = await connect(`?token=${await bySecret(claims({ email: 'a@example.com' }))}`)
    client.say({ type: 'message', text: 'hi' })
    await client.next('ack')
    assert.equal(store.messages[0]?.from.id, 'a@example.com')
    for (const email of [
      undefined,
      '',
      7,
      ['a@example.com'],
      { a: 1 },
      'a\u0000',
      'a\u202e',
      'x'.repeat(257),
    ]) {
      const answer = await refusal(`?token=${await bySecret(claims({ email }))}`)
      assert.equal(answer.status, 401, JSON.stringify(email))
    }
  })

  test('are refused with tokens by other keys, algorithms or issuers', async (t) => {
    const [pair, other] = [rsa(), rsa()]
    const issuer = await startIssuer(pair, 'first')
    const thief = await startIssuer(other, 'first')
    t.after(() => Promise.all([issuer.close(), thief.close()]))
    const { connect, refusal, store } = await startWebsocket({
      jwt: { jwks: issuer.jwks, audience: AUDIENCE, issuer: 'https://id.example.com' },
    })
    const iss = 'https://id.example.com'
    await connect(`?token=${await byKey(pair, 'first', claims({ iss }))}`)
    const pem = pair.publicKey.export({ type: 'spki', format: 'pem' })
    const der = pair.publicKey.export({ type: 'spki', format: 'der' })
    const modulus = Buffer.from(String((await exportJWK(pair.publicKey)).n), 'base64url')
    const good = (await byKey(pair, 'first', claims({ iss }))).split('.')
    const now = Math.floor(Date.now() / 1000)
    const ownKey = await exportJWK(other.publicKey)
    const forged: Record<string, string> = {
      none: byHand({ alg: 'none' }, undefined, claims({ iss })),
      'None with another signature': `${part({ alg: 'None' })}.${good[1]}.${good[2]}`,
      'without a signature': `${good[0]}.${good[1]}.`,
      'another payload': `${good[0]}.${part(claims({ iss, sub: 'root' }))}.${good[2]}`,
      'HMAC by the PEM': byHand({ alg: 'HS256', kid: 'first' }, String(pem), claims({ iss })),
      'HMAC by the DER': byHand({ alg: 'HS256', kid: 'first' }, der, claims({ iss })),
      'HMAC by the modulus': byHand({ alg: 'HS256', kid: 'first' }, modulus, claims({ iss })),
      'HMAC by an empty key': byHand({ alg: 'HS256', kid: 'first' }, '', claims({ iss })),
      'another key': await byKey(other, 'first', claims({ iss })),
      'another key, with its id': await byKey(other, randomUUID(), claims({ iss })),
      'a key in the token': await byKey(other, 'first', claims({ iss }), { jwk: ownKey }),
      'a key at an address in the token': await byKey(other, 'first', claims({ iss }), { jku: thief.jwks }),
      'a certificate at an address in the token': await byKey(other, 'first', claims({ iss }), {
        x5u: thief.jwks,
      }),
      'a critical extension': await new SignJWT(claims({ iss }))
        .setProtectedHeader({ alg: 'RS256', kid: 'first', crit: ['x'], x: 1 })
        .sign(pair.privateKey, { crit: { x: true } }),
      'another audience': await byKey(pair, 'first', claims({ iss, aud: 'billing' })),
      'no audience': await byKey(pair, 'first', claims({ iss, aud: undefined })),
      'of another issuer': await byKey(pair, 'first', claims({ iss: 'https://id.example.com.evil' })),
      'expired an hour ago': await byKey(pair, 'first', claims({ iss, exp: now - 3_600 })),
      'not valid yet': await byKey(pair, 'first', claims({ iss, nbf: now + 3_600 })),
      'without an end': await byKey(pair, 'first', claims({ iss, exp: undefined })),
      'no token': 'x.y.z',
      long: `${good[0]}.${'A'.repeat(13_000)}.${good[2]}`,
    }
    for (const [name, token] of Object.entries(forged)) {
      const answer = await refusal('', { headers: { authorization: `Bearer ${token}` } })
      assert.equal(answer.status, 401, `${name}: ${answer.text}`)
      assert.match(answer.text, /"code":"signature_invalid"/, name)
    }
    assert.equal(thief.requests(), 0)
    assert.equal(store.messages.length, 0)
  })

  test('are disconnected when their token expires, and can resume with a new one', async () => {
    const { connect, refusal, store, transport } = await startWebsocket({
      jwt: { secret: SECRET, tolerance: 0 },
    })
    const soon = claims({ exp: Math.ceil(Date.now() / 1000) + 4 })
    const client = await connect(`?token=${await bySecret(soon)}`)
    const { conversation } = client
    assert.equal(await client.closed, 4401)
    const query = `&conversation=${encodeURIComponent(conversation)}`
    const again = await connect(`?token=${await bySecret()}${query}`)
    assert.equal(again.conversation, conversation)
    await transport.requireTarget?.(conversation)
    const eve = await refusal(`?token=${await bySecret(claims({ sub: 'eve' }))}${query}`)
    assert.equal(eve.status, 403)
    assert.equal(store.messages.length, 0)
  })

  test('can be sent to for 90 days after the last connection, even if they resume each time', async () => {
    let now = Date.now()
    const { connect, transport } = await startWebsocket({ jwt: { secret: SECRET } }, { now: () => now })
    const token = () => bySecret(claims({ exp: Math.floor(now / 1000) + 60 }))
    const { conversation } = await connect(`?token=${await token()}`)
    for (let days = 0; days < 120; days += 60) {
      now += 60 * DAY
      await connect(`?token=${await token()}&conversation=${conversation}`)
    }
    await transport.requireTarget?.(conversation)
    now += 91 * DAY
    await assert.rejects(async () => transport.requireTarget?.(conversation), {
      code: 'conversation_not_found',
    })
  })

  test('can use a new key of the issuer at once, and get 503 while the issuer is unavailable', async (t) => {
    const [first, second] = [rsa(), rsa()]
    const issuer = await startIssuer(first, 'first')
    t.after(issuer.close)
    const options = jwtOptions.parse({ jwks: issuer.jwks, audience: AUDIENCE })
    const check = createJwtCheck(options, { gateway: 'chat', now: Date.now }, 0)
    assert.equal(Object(await check(await byKey(first, 'first'))).subject, 'ada')
    assert.match(String(await check(await byKey(second, 'second'))), /does not publish/)
    issuer.keys.splice(0, 1, {
      ...(await exportJWK(second.publicKey)),
      kid: 'second',
      alg: 'RS256',
      use: 'sig',
    })
    assert.equal(Object(await check(await byKey(second, 'second'))).subject, 'ada')
    assert.match(String(await check(await byKey(first, 'first'))), /does not publish/)
    // Forged key ids cause at most one request per pause.
    const checkWithPause = createJwtCheck(options, { gateway: 'chat', now: Date.now }, 60_000)
    await checkWithPause(await byKey(second, 'second'))
    const before = issuer.requests()
    for (let n = 0; n < 20; n++) await checkWithPause(await byKey(first, `forged-${n}`))
    assert.equal(issuer.requests(), before)
    await issuer.close()
    const { refusal } = await startWebsocket({ jwt: { jwks: issuer.jwks, audience: AUDIENCE } })
    const answer = await refusal(`?token=${await byKey(second, 'second')}`)
    assert.deepEqual([answer.status, /keys_unavailable/.test(answer.text)], [503, true])
  })

  test('need a configuration that verifies tokens', () => {
    for (const wrong of [
      {},
      { secret: 'short' },
      { secret: SECRET, jwks: 'https://id.example.com/keys' },
      { jwks: 'https://id.example.com/keys' },
      { jwks: 'http://id.example.com/keys', audience: AUDIENCE },
      { jwks: 'file:///etc/passwd', audience: AUDIENCE },
      { 'public-key': 'nonsense' },
      { secret: SECRET, algorithm: 'none' },
    ])
      assert.equal(jwtOptions.safeParse(wrong).success, false, JSON.stringify(wrong))
  })
})
