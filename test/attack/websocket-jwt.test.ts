import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { exportJWK, SignJWT } from 'jose'
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
/** Without a library: what none would make. */
const byHand = (header: object, key?: string | Buffer, payload: object = claims()) => {
  const head = `${part(header)}.${part(payload)}`
  return `${head}.${key === undefined ? '' : createHmac('sha256', key).update(head).digest('base64url')}`
}

/** An issuer whose keys can be changed, and which counts how often they are asked for. */
async function startIssuer(pair: ReturnType<typeof rsa>, kid: string) {
  const keys = [{ ...(await exportJWK(pair.publicKey)), kid, alg: 'RS256', use: 'sig' }]
  let asked = 0
  const { url, close } = await serveHttp((_request, response) => {
    asked++
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ keys }))
  })
  return { jwks: `${url}/keys`, keys, close, asked: () => asked }
}

describe('clients of a WebSocket gateway with JWTs', () => {
  test('are who the token says, exactly, however they bring it', async () => {
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

  test('are named by the claim of the configuration alone', async () => {
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

  test('get in with no token that another key, algorithm or issuer made', async (t) => {
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
      'None with the signature of another': `${part({ alg: 'None' })}.${good[1]}.${good[2]}`,
      'without a signature': `${good[0]}.${good[1]}.`,
      'another payload': `${good[0]}.${part(claims({ iss, sub: 'root' }))}.${good[2]}`,
      'HMAC by the PEM': byHand({ alg: 'HS256', kid: 'first' }, String(pem), claims({ iss })),
      'HMAC by the DER': byHand({ alg: 'HS256', kid: 'first' }, der, claims({ iss })),
      'HMAC by the modulus': byHand({ alg: 'HS256', kid: 'first' }, modulus, claims({ iss })),
      'HMAC by nothing': byHand({ alg: 'HS256', kid: 'first' }, '', claims({ iss })),
      'another key': await byKey(other, 'first', claims({ iss })),
      'another key, named': await byKey(other, randomUUID(), claims({ iss })),
      'a key that it brings': await byKey(other, 'first', claims({ iss }), { jwk: ownKey }),
      'a key where it says': await byKey(other, 'first', claims({ iss }), { jku: thief.jwks }),
      'a certificate where it says': await byKey(other, 'first', claims({ iss }), { x5u: thief.jwks }),
      'a critical extension': await new SignJWT(claims({ iss }))
        .setProtectedHeader({ alg: 'RS256', kid: 'first', crit: ['x'], x: 1 })
        .sign(pair.privateKey, { crit: { x: true } }),
      'for others': await byKey(pair, 'first', claims({ iss, aud: 'billing' })),
      'for nobody': await byKey(pair, 'first', claims({ iss, aud: undefined })),
      'of another issuer': await byKey(pair, 'first', claims({ iss: 'https://id.example.com.evil' })),
      'over since an hour': await byKey(pair, 'first', claims({ iss, exp: now - 3_600 })),
      'not yet': await byKey(pair, 'first', claims({ iss, nbf: now + 3_600 })),
      'for ever': await byKey(pair, 'first', claims({ iss, exp: undefined })),
      'no token': 'x.y.z',
      long: `${good[0]}.${'A'.repeat(13_000)}.${good[2]}`,
    }
    for (const [name, token] of Object.entries(forged)) {
      const answer = await refusal('', { headers: { authorization: `Bearer ${token}` } })
      assert.equal(answer.status, 401, `${name}: ${answer.text}`)
      assert.match(answer.text, /"code":"signature_invalid"/, name)
    }
    assert.equal(thief.asked(), 0)
    assert.equal(store.messages.length, 0)
  })

  test('are cut off when their token ends, and go on with the next one, which nobody else can', async () => {
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

  test('bring tokens by the new key as soon as the issuer has it, and are told to wait while it is away', async (t) => {
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
    // Many forged key ids ask the issuer no more often than the pause allows.
    const calm = createJwtCheck(options, { gateway: 'chat', now: Date.now }, 60_000)
    await calm(await byKey(second, 'second'))
    const before = issuer.asked()
    for (let n = 0; n < 20; n++) await calm(await byKey(first, `forged-${n}`))
    assert.equal(issuer.asked(), before)
    await issuer.close()
    const { refusal } = await startWebsocket({ jwt: { jwks: issuer.jwks, audience: AUDIENCE } })
    const answer = await refusal(`?token=${await byKey(second, 'second')}`)
    assert.deepEqual([answer.status, /keys_unavailable/.test(answer.text)], [503, true])
  })

  test('are not let in by a configuration that proves nothing', () => {
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
