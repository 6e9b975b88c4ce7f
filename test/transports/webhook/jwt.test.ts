import assert from 'node:assert/strict'
import { generateKeyPairSync, hash } from 'node:crypto'
import { describe, type TestContext, test } from 'node:test'
import { exportJWK, FlattenedSign, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose'
import { webhookOptions } from '../../../transports/webhook/config.ts'
import { serveHttp } from '../../fixtures/http-server.ts'
import { json, startWebhook } from './harness.ts'

const NOW = Date.UTC(2026, 10, 21)
const SECONDS = NOW / 1000
const SECRET = 'a secret that signs tokens'
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const other = generateKeyPairSync('rsa', { modulusLength: 2048 })
const CLAIMS = {
  iss: 'https://issuer.example',
  aud: 'ours',
  email: 'robot@example.com',
  iat: SECONDS,
  exp: SECONDS + 600,
}

const byKey = (payload: JWTPayload, key = rsa.privateKey, kid = 'k1') =>
  new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid }).sign(key)
const bySecret = (payload: JWTPayload, secret = SECRET) =>
  new SignJWT(payload).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(secret))

async function start(options: object) {
  const hook = await startWebhook({ verify: { scheme: 'jwt', ...options } }, { now: () => NOW })
  const post = async (token: string, body = '{"a":1}', header = 'authorization') => {
    const { status, body: answer } = await hook.post(body, { ...json, [header]: token })
    return [status, answer.error?.message ?? ''] as const
  }
  return { ...hook, post }
}

/** Serves the keys of an issuer; `set` changes them. */
async function serveKeys(t: TestContext) {
  let keys: object[] = [{ ...(await exportJWK(rsa.publicKey)), kid: 'k1', alg: 'RS256' }]
  let fetched = 0
  let isDown = false
  const { url, close } = await serveHttp(async (_, response) => {
    fetched += 1
    if (isDown) response.writeHead(500).end()
    else response.end(JSON.stringify({ keys }))
  })
  t.after(close)
  return {
    jwks: `${url}/certs`,
    fetched: () => fetched,
    set: (next: object[]) => {
      keys = next
    },
    setDown(down: boolean) {
      isDown = down
    },
  }
}

describe('verify: jwt', () => {
  test('accepts tokens for this audience that are signed by a key of the JWKS, and refuses others', async (t) => {
    const { jwks, fetched } = await serveKeys(t)
    const { post, store } = await start({
      jwks,
      audience: ['ours', 'too'],
      issuer: CLAIMS.iss,
      claims: { email: CLAIMS.email },
    })
    assert.equal((await post(`Bearer ${await byKey(CLAIMS)}`))[0], 202)
    assert.equal((await post(`bearer ${await byKey({ ...CLAIMS, aud: 'too' })}`))[0], 202)
    const cases: [why: RegExp, token: string][] = [
      [/"aud"|claim aud/, await byKey({ ...CLAIMS, aud: 'theirs' })],
      [/claim iss/, await byKey({ ...CLAIMS, iss: 'https://evil.example' })],
      [/claim email/, await byKey({ ...CLAIMS, email: 'other@example.com' })],
      [/ended \d+ s ago/, await byKey({ ...CLAIMS, exp: SECONDS - 600 })],
      [/signature of its token/, await byKey(CLAIMS, other.privateKey)],
      [/does not publish/, await byKey(CLAIMS, other.privateKey, 'k2')],
      [
        /algorithm/,
        await new SignJWT(CLAIMS)
          .setProtectedHeader({ alg: 'HS256', kid: 'k1' })
          .sign(Buffer.from(rsa.publicKey.export({ type: 'spki', format: 'pem' }))),
      ],
      [/no token/, new UnsecuredJWT(CLAIMS).encode()],
      [/no token/, 'x.y'],
      [/malformed|does not publish|algorithm/, 'x.y.z'],
      [/no token/, `${await byKey(CLAIMS)} ${await byKey(CLAIMS)}`],
    ]
    for (const [why, token] of cases) {
      const [status, message] = await post(`Bearer ${token}`)
      assert.equal(status, 401, String(why))
      assert.match(message, why)
      assert.doesNotMatch(message, /robot@|issuer\.example|ours/)
    }
    assert.equal(store.messages.length, 2)
    assert.ok(fetched() <= 2, `${fetched()} fetches`)
  })

  test('answers 503 while the keys cannot be fetched, and accepts tokens afterwards', async (t) => {
    const { jwks, setDown } = await serveKeys(t)
    const { post, hook } = await start({ jwks, audience: 'ours' })
    setDown(true)
    const answer = await fetch(hook, {
      method: 'POST',
      body: '{}',
      headers: { authorization: `Bearer ${await byKey(CLAIMS)}` },
    })
    assert.equal(answer.status, 503)
    assert.match(await answer.text(), /keys_unavailable/)
    setDown(false)
    assert.equal((await post(`Bearer ${await byKey(CLAIMS)}`))[0], 202)
  })

  test('accepts tokens signed by either of two secrets', async () => {
    const { post } = await start({ secret: ['new', SECRET] })
    assert.equal((await post(await bySecret(CLAIMS)))[0], 202)
    assert.equal((await post(await bySecret(CLAIMS, 'new')))[0], 202)
    assert.equal((await post(await bySecret(CLAIMS, 'third')))[0], 401)
  })

  test('refuses old tokens without `exp`, and tokens that are not valid yet', async () => {
    const { post } = await start({ secret: SECRET })
    assert.equal((await post(await bySecret({ iat: SECONDS - 299 })))[0], 202)
    assert.match((await post(await bySecret({ iat: SECONDS - 301 })))[1], /301 s ago/)
    assert.match((await post(await bySecret({})))[1], /neither exp nor iat/)
    assert.match((await post(await bySecret({ ...CLAIMS, nbf: SECONDS + 900 })))[1], /claim nbf/)
  })

  test('with `body-hash` accepts a token for one body only', async () => {
    const { post } = await start({ secret: SECRET, header: 'X-Signature', 'body-hash': 'sha256' })
    const body = '{"state":"ready"}'
    for (const encoding of ['hex', 'base64'] as const) {
      const token = await bySecret({ sha256: hash('sha256', body, encoding) })
      assert.equal((await post(token, body, 'x-signature'))[0], 202)
      assert.match((await post(token, `${body} `, 'x-signature'))[1], /another body/)
    }
    for (const sha256 of [undefined, '', 7, hash('sha256', body).slice(1)]) {
      assert.match((await post(await bySecret({ sha256 }), body, 'x-signature'))[1], /another body/)
    }
  })

  test('accepts tokens signed by a public key in PEM', async () => {
    const pem = rsa.publicKey.export({ type: 'spki', format: 'pem' })
    const { post } = await start({ 'public-key': pem })
    assert.equal((await post(await byKey(CLAIMS)))[0], 202)
    assert.equal((await post(await byKey(CLAIMS, other.privateKey)))[0], 401)
    assert.equal((await post(await bySecret(CLAIMS, String(pem))))[0], 401)
  })
})

describe('a detached signature of the body', () => {
  const text = '{"order":"ü","id":7}'
  const detached = async (header: object, body = text, key = rsa.privateKey) => {
    const payload = new TextEncoder().encode(body)
    const jws = await new FlattenedSign(payload)
      .setProtectedHeader({ alg: 'RS256', kid: 'k1', ...header })
      .sign(key)
    return `${jws.protected}..${jws.signature}`
  }
  /** Not encoded, as Saleor and Constant Contact sign (RFC 7797). */
  const plain = { b64: false, crit: ['b64'] }

  test('is checked with the keys of a JWKS or a public key, and proves the body', async (t) => {
    const { jwks } = await serveKeys(t)
    const pem = rsa.publicKey.export({ type: 'spki', format: 'pem' })
    for (const source of [{ jwks }, { 'public-key': pem }]) {
      const { post, last } = await start({ detached: true, header: 'Saleor-Signature', ...source })
      for (const header of [{}, plain, { ...plain, ts: SECONDS - 60 }]) {
        const [status, message] = await post(await detached(header), text, 'saleor-signature')
        assert.deepEqual([status, message], [202, ''], JSON.stringify(header))
      }
      assert.equal(last().from.verified, true)
      for (const [token, body, reason] of [
        [await detached(plain), `${text} `, /signature of its token does not match/],
        [await detached(plain, text, other.privateKey), text, /signature of its token does not match/],
        [await detached({ ...plain, ts: SECONDS - 600 }), text, /600 s old/],
        [await byKey(CLAIMS), text, /has no token/],
        ['', text, /has no token/],
        [
          (await detached(plain)).replace('..', `.${Buffer.from(text).toString('base64url')}.`),
          text,
          /has no token/,
        ],
      ] as const) {
        const [status, message] = await post(token, body, 'saleor-signature')
        assert.equal(status, 401, message)
        assert.match(message, reason)
      }
    }
  })

  test('by HMAC with the public key as its secret is refused', async () => {
    const pem = String(rsa.publicKey.export({ type: 'spki', format: 'pem' }))
    const { post } = await start({ detached: true, 'public-key': pem })
    const jws = await new FlattenedSign(new TextEncoder().encode(text))
      .setProtectedHeader({ alg: 'HS256' })
      .sign(Buffer.from(pem))
    assert.equal((await post(`${jws.protected}..${jws.signature}`, text))[0], 401)
  })

  test('cannot be combined with options about claims', () => {
    const verify = {
      scheme: 'jwt',
      'public-key': String(rsa.publicKey.export({ type: 'spki', format: 'pem' })),
      detached: true,
    }
    for (const more of [{ audience: 'a' }, { claims: { a: 1 } }, { 'body-hash': 'h' }, { issuer: 'i' }])
      assert.equal(webhookOptions.safeParse({ path: '/x', verify: { ...verify, ...more } }).success, false)
  })
})
