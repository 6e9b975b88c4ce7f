import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { exportJWK, SignJWT } from 'jose'
import { createOidc } from '../../src/features/sign-in/oidc.ts'
import { rightsOf } from '../../src/features/sign-in/rights.ts'
import { consoleSchema } from '../../src/features/sign-in/schema.ts'
import { openSite } from '../fixtures/daemon.ts'
import { serveHttp } from '../fixtures/http-server.ts'

const CALLBACK = 'http://127.0.0.1:8787/auth/callback'
const rsa = () => generateKeyPairSync('rsa', { modulusLength: 2048 })
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Starts a provider. `discovery` overrides its metadata, and `userinfo` adds that endpoint. */
async function startProvider(t: TestContext, discovery: object = {}, userinfo?: object) {
  const [pair, stranger] = [rsa(), rsa()]
  const keys = [{ ...(await exportJWK(pair.publicKey)), kid: 'first', alg: 'RS256', use: 'sig' }]
  const tokenRequests: URLSearchParams[] = []
  let idToken = ''
  const answer = async (request: IncomingMessage): Promise<object> => {
    const [path] = (request.url ?? '').split('?')
    if (path === '/.well-known/openid-configuration') {
      const endpoints = {
        issuer: url,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        jwks_uri: `${url}/keys`,
        authorization_response_iss_parameter_supported: true,
      }
      const more = userinfo ? { userinfo_endpoint: `${url}/userinfo` } : {}
      return { ...endpoints, ...more, ...discovery }
    }
    if (path === '/keys') return { keys }
    if (path === '/userinfo' && userinfo) return userinfo
    tokenRequests.push(new URLSearchParams(await text(request)))
    return { access_token: 'x', token_type: 'bearer', id_token: idToken }
  }
  const { url, close } = await serveHttp(async (request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(await answer(request)))
  })
  t.after(close)
  const clock = { at: Date.now() }
  const oidc = createOidc({ token: () => 'the-control-token', now: () => clock.at })
  const { oidc: options } = consoleSchema.parse({
    oidc: { issuer: url, 'client-id': 'trivium', 'client-secret': 'secret', allow: ['*@example.com'] },
  })
  assert.ok(options)

  const begin = async () => {
    const { to, state, cookie } = await oidc.begin(options, CALLBACK, '/now')
    const query = new URL(to).searchParams
    const claims = (more: object = {}) => ({
      iss: url,
      aud: 'trivium',
      sub: '1',
      email: 'ada@example.com',
      email_verified: true,
      nonce: query.get('nonce'),
      iat: Math.floor(Date.now() / 1000),
      exp: Math.floor(Date.now() / 1000) + 60,
      ...more,
    })
    /** Finishes the sign-in with this ID token, these parameters and this cookie. */
    const finish = (token: string, more: Record<string, string> = {}, given = cookie) => {
      idToken = token
      const back = new URL(CALLBACK)
      back.search = String(new URLSearchParams({ code: 'c', state, iss: url, ...more }))
      return oidc.finish(options, back, given)
    }
    return { query, claims, finish, state, cookie }
  }
  const sign = (claims: object, by = pair, header: object = {}) =>
    new SignJWT({ ...claims })
      .setProtectedHeader({ alg: 'RS256', kid: 'first', ...header })
      .sign(by.privateKey)
  return { begin, sign, pair, stranger, tokenRequests, url, clock, options, oidc }
}

const REFUSED = { code: 'sign_in_failed' }

describe('a sign-in at an identity provider', () => {
  test('uses state, nonce and PKCE, without secrets in the address', async (t) => {
    const { begin, sign, tokenRequests } = await startProvider(t)
    const { query, claims, finish, state, cookie } = await begin()
    assert.deepEqual(
      [
        query.get('response_type'),
        query.get('code_challenge_method'),
        query.get('redirect_uri'),
        query.get('scope'),
      ],
      ['code', 'S256', CALLBACK, 'openid email profile'],
    )
    assert.ok(!/secret|verifier/.test(String(query)))
    const { person, at } = await finish(await sign(claims()))
    assert.deepEqual([person.name, person.subject, at], ['ada@example.com', '1', '/now'])
    const [sent] = tokenRequests
    const verifier = sent?.get('code_verifier') ?? ''
    assert.ok(verifier.length >= 43 && !cookie.includes(verifier) && !cookie.includes(state))
  })

  test('refuses ID tokens that the provider did not sign for this client and sign-in', async (t) => {
    const { begin, sign, stranger, pair } = await startProvider(t)
    const pem = String(pair.publicKey.export({ type: 'spki', format: 'pem' }))
    const byHand = (header: object, claims: object, key = '') => {
      const head = `${part(header)}.${part(claims)}`
      return `${head}.${key && createHmac('sha256', key).update(head).digest('base64url')}`
    }
    type Claims = (more?: object) => object
    const forged: Record<string, (claims: Claims) => string | Promise<string>> = {
      none: (claims) => byHand({ alg: 'none' }, claims()),
      'HMAC by the public key': (claims) => byHand({ alg: 'HS256', kid: 'first' }, claims(), pem),
      'HMAC by the secret of the client': (claims) => byHand({ alg: 'HS256' }, claims(), 'secret'),
      'another key': (claims) => sign(claims(), stranger),
      'another nonce': (claims) => sign(claims({ nonce: 'another' })),
      'no nonce': (claims) => sign(claims({ nonce: undefined })),
      'another audience': (claims) => sign(claims({ aud: 'another' })),
      'another issuer': (claims) => sign(claims({ iss: 'https://evil.example' })),
      'another authorised party': (claims) => sign(claims({ aud: ['trivium', 'x'], azp: 'x' })),
      'expired an hour ago': (claims) => sign(claims({ exp: Math.floor(Date.now() / 1000) - 3600 })),
      'without a subject': (claims) => sign(claims({ sub: undefined })),
      nothing: () => '',
    }
    for (const [name, make] of Object.entries(forged)) {
      const { claims, finish } = await begin()
      await assert.rejects(finish(await make(claims)), REFUSED, name)
    }
  })

  test('must end in the same browser, in time, with the same issuer and state', async (t) => {
    const { begin, sign, clock, options, oidc } = await startProvider(t)
    const other = await begin()
    const { claims, finish, cookie, state } = await begin()
    const token = await sign(claims())
    await assert.rejects(finish(token, {}, ''), REFUSED, 'no cookie')
    await assert.rejects(finish(token, {}, other.cookie), REFUSED, 'the cookie of another sign-in')
    await assert.rejects(finish(token, {}, `${cookie.slice(0, -6)}AAAAAA`), REFUSED, 'a changed cookie')
    await assert.rejects(finish(token, { state: other.state }), REFUSED, 'another state')
    await assert.rejects(finish(token, { iss: 'https://evil.example' }), REFUSED, 'mix-up')
    const back = new URL(`${CALLBACK}?${new URLSearchParams({ code: 'c', state })}`)
    await assert.rejects(
      oidc.finish(options, back, cookie),
      REFUSED,
      'no issuer, although the provider promises one',
    )
    back.searchParams.set('iss', 'https://evil.example')
    await assert.rejects(
      oidc.finish({ ...options, issuer: 'https://evil.example' }, back, cookie),
      REFUSED,
      'the cookie of a sign-in at another provider',
    )
    clock.at += 600_000
    await assert.rejects(finish(token), REFUSED, 'too late')
  })

  test('reads from the userinfo endpoint whether the address of an ID token is verified', async (t) => {
    const nameOf = async (userinfo: object, more: object) => {
      const { begin, sign } = await startProvider(t, {}, userinfo)
      const { claims, finish } = await begin()
      return (await finish(await sign(claims({ groups: [], ...more })))).person.name
    }
    const verified = { sub: '1', email: 'ada@example.com', email_verified: true }
    const silent = { email_verified: undefined }
    assert.equal(await nameOf(verified, silent), 'ada@example.com')
    assert.equal(await nameOf({ ...verified, email_verified: false }, silent), undefined)
    assert.equal(await nameOf({ ...verified, email: 'mallory@example.com' }, silent), undefined)
    assert.equal(await nameOf(verified, { email_verified: false }), undefined)
  })

  test('needs a provider whose metadata has its own issuer', async (t) => {
    const { options, oidc } = await startProvider(t, { issuer: 'https://evil.example' })
    await assert.rejects(oidc.begin(options, CALLBACK, ''), { code: 'issuer_unavailable', status: 503 })
  })

  test('matches people only by their verified name, as a whole, in any case', () => {
    const config = consoleSchema.parse({
      oidc: {
        issuer: 'https://id.example.com',
        'client-id': 'x',
        allow: ['ada@example.com', '*@corp.example', 'sub:42', 'group:ops'],
        roles: { operator: ['ada@example.com', 'group:ops'] },
      },
    })
    const who = { via: 'oidc', issuer: 'https://id.example.com', subject: '1' } as const
    const role = (more: object) => rightsOf({ ...who, ...more }, config)?.roles?.[0]
    assert.equal(role({ name: 'ada@example.com' }), 'operator')
    assert.equal(role({ name: 'Ada@Example.COM' }), 'operator')
    assert.equal(role({ name: 'bob@corp.example' }), 'viewer')
    assert.equal(role({ subject: '42' }), 'viewer')
    assert.equal(role({ groups: ['ops'] }), 'operator')
    for (const more of [
      {},
      { name: 'ada@example.com.evil' },
      { name: 'x@ada@example.com' },
      { name: 'bob@evil.example@corp.example.evil' },
      { name: 'bob@sub.corp.example' },
      { name: '*@corp.exampl\u212a' },
      { name: 'ad\u0430@example.com' },
      { name: '42' },
      { name: 'sub:42' },
      { name: 'group:ops' },
      { groups: ['OPS'] },
      { subject: 'ada@example.com' },
      { name: 'ada@example.com', issuer: 'https://evil.example' },
    ])
      assert.equal(role(more), undefined, JSON.stringify(more))
  })

  test('gives the role viewer only to its members, if `roles` has a list `viewer`', () => {
    const roleOf = (name: string, roles?: object) => {
      const oidc = { issuer: 'https://id.example.com', 'client-id': 'x', allow: ['*@example.com'] }
      const config = consoleSchema.parse({ oidc: { ...oidc, ...(roles && { roles }) } })
      return rightsOf({ via: 'oidc', issuer: oidc.issuer, subject: '1', name }, config)?.roles?.[0]
    }
    const operator = ['ada@example.com']
    const viewer = ['eva@example.com', 'ada@example.com', 'mallory@evil.example']
    assert.equal(roleOf('vera@example.com'), 'operator')
    assert.equal(roleOf('vera@example.com', { operator }), 'viewer')
    assert.equal(roleOf('vera@example.com', { operator, viewer }), undefined)
    assert.equal(roleOf('vera@example.com', { operator, viewer: [] }), undefined)
    assert.equal(roleOf('eva@example.com', { operator, viewer }), 'viewer')
    assert.equal(roleOf('eva@example.com', { viewer }), 'viewer')
    assert.equal(roleOf('ada@example.com', { operator, viewer }), 'operator')
    assert.equal(roleOf('ada@example.com', { operator, viewer: [] }), 'operator')
    assert.equal(roleOf('mallory@evil.example', { operator, viewer }), undefined, 'not in `allow`')
  })

  test('cannot be configured so that anybody can sign in', () => {
    const base = { issuer: 'https://id.example.com', 'client-id': 'x', allow: ['ada@example.com'] }
    assert.ok(consoleSchema.safeParse({ oidc: base }).success)
    const google = { issuer: 'https://accounts.google.com', roles: { operator: ['*'] } }
    // In a role, `*` means everyone in `allow`.
    assert.ok(consoleSchema.safeParse({ oidc: { ...base, ...google } }).success)
    for (const wrong of [
      { issuer: 'http://id.example.com' },
      { issuer: 'file:///etc/passwd' },
      { allow: [] },
      { allow: ['ada'] },
      { allow: ['*@*'] },
      { allow: ['a*@example.com'] },
      { issuer: 'https://accounts.google.com', allow: ['*'] },
      { scopes: ['email'] },
      { roles: { admin: ['ada@example.com'] } },
    ])
      assert.equal(
        consoleSchema.safeParse({ oidc: { ...base, ...wrong } }).success,
        false,
        JSON.stringify(wrong),
      )
  })
})

describe('the sign-in pages', { timeout: 300_000 }, async () => {
  const provider = await serveHttp((request, response) => {
    response.setHeader('content-type', 'application/json')
    const own = `http://${request.headers.host}`
    const endpoints = {
      authorization_endpoint: `${own}/authorize`,
      token_endpoint: `${own}/token`,
      jwks_uri: `${own}/keys`,
    }
    response.end(JSON.stringify({ issuer: own, ...endpoints }))
  })
  const site = openSite({
    routes: `
routes: [{ name: all, skill: echo }]
console: { oidc: { issuer: "${provider.url}", client-id: x, client-secret: y, allow: [ada@example.com] } }
`,
  })
  const daemon = await site.start()
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(daemon.control + path, { redirect: 'manual', headers: { connection: 'close', ...headers } })

  test('redirect only to the provider', async (t) => {
    t.after(provider.close)
    for (const at of [
      '',
      '/now',
      '//evil.example',
      'https://evil.example',
      '/\\evil.example',
      '/now\r\nx: y',
      '/"><script>',
    ]) {
      const response = await get(`/auth/sign-in?at=${encodeURIComponent(at)}`)
      assert.equal(response.status, 303)
      const to = new URL(response.headers.get('location') ?? '')
      assert.equal(to.origin, provider.url)
      assert.equal(to.searchParams.get('redirect_uri'), `${daemon.control}/auth/callback`)
      const cookie = response.headers.get('set-cookie') ?? ''
      assert.match(
        cookie,
        /^trivium-sign-in-[\w-]{8}-\d+=[\w+/=]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/,
      )
    }
  })

  test('answer an unexpected callback with an error page, without a session', async () => {
    for (const query of [
      '',
      'code=c&state=s',
      'error=<script>alert(1)</script>&state=x',
      'state=../../x&code=',
      'state=a&state=b',
    ]) {
      const response = await get(`/auth/callback?${query}`)
      const body = await response.text()
      assert.equal(response.status, 401)
      assert.ok(!body.includes('<script'), body)
      assert.match(response.headers.get('content-security-policy') ?? '', /default-src 'none'/)
      assert.ok(!(response.headers.get('set-cookie') ?? '').includes('trivium-session'))
    }
  })
})
