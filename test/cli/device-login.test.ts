import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, before, beforeEach, describe, test } from 'node:test'
import { createSite, type Site } from '../fixtures/daemon.ts'

describe('trivium email login', () => {
  /** The answers of the token endpoint, in order; the last one stays. */
  let answers: [status: number, body: object][] = []
  const asked: { path: string; form: Record<string, string> }[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const form = Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString()))
      asked.push({ path: request.url ?? '', form })
      const [status, body] =
        request.url === '/device'
          ? [200, code]
          : ((answers.length > 1 ? answers.shift() : answers[0]) ?? [500, {}])
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
  })
  const code = {
    device_code: 'dev-1',
    user_code: 'ABCD-EFGH',
    verification_uri: 'https://provider.example/device',
    expires_in: 900,
    interval: 0,
  }
  let site: Site
  let base = ''
  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    base = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
    site = createSite({ routes: 'routes: []' })
  })
  beforeEach(() => asked.splice(0))
  after(async () => {
    site.remove()
    await new Promise((resolve) => server.close(resolve))
  })
  const login = (env: Record<string, string> = {}, ...more: string[]) => {
    const urls = ['--device-url', `${base}/device`, '--token-url', `${base}/token`]
    return site.run(['email', 'login', '--client-id', 'app-1', ...urls, ...more], env)
  }

  test('tells where to type which code, waits for it, and prints what belongs into .env', async () => {
    const pending: [number, object] = [400, { error: 'authorization_pending' }]
    answers = [pending, pending, [200, { access_token: 'a', refresh_token: 'r-of-anna' }]]
    const { code: exit, out, err } = await login()
    assert.equal(exit, 0, err)
    assert.match(err, /Open https:\/\/provider\.example\/device and type ABCD-EFGH \(within 15 min\)/)
    assert.match(out, /^OAUTH_CLIENT=app-1\nOAUTH_REFRESH=r-of-anna$/m)
    assert.match(out, new RegExp(`token-url: "${base}/token"`))
    assert.deepEqual(
      asked.map(({ path }) => path),
      ['/device', '/token', '/token', '/token'],
    )
    assert.match(asked[0]?.form.scope ?? '', /^offline_access .*IMAP\.AccessAsUser\.All .*SMTP\.Send$/)
    assert.deepEqual(asked[1]?.form, {
      client_id: 'app-1',
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: 'dev-1',
    })
  })

  test('goes on where the provider is in trouble for a moment, and keeps a secret out of the command line', async () => {
    answers = [
      [503, {}],
      [200, { access_token: 'a', refresh_token: 'r' }],
    ]
    const { code: exit, out, err } = await login({ OAUTH_SECRET: 's-1' })
    assert.equal(exit, 0, err)
    assert.equal(asked.at(-1)?.form.client_secret, 's-1')
    assert.match(out, /^OAUTH_SECRET=s-1$/m)
    assert.match(out, /client-secret: "\$\{OAUTH_SECRET\}"/)
  })

  test('tells a terminal nothing but text, and sends no token unencrypted over a network', async () => {
    const { user_code: typed } = code
    code.user_code = '\u001b[2JABCD'
    answers = [[200, { access_token: 'a', refresh_token: 'r' }]]
    assert.match((await login()).err, /type \[2JABCD /)
    code.user_code = typed
    const plain = ['--device-url', 'http://provider.example/d', '--token-url', 'http://provider.example/t']
    const refused = await site.run(['email', 'login', '--client-id', 'x', ...plain])
    assert.deepEqual([refused.code, /is no https:\/\/ address/.test(refused.err)], [2, true])
  })

  test('is JSON for a program', async () => {
    answers = [[200, { access_token: 'a', refresh_token: 'r' }]]
    const { out } = await login({}, '--json')
    assert.deepEqual(JSON.parse(out), { refreshToken: 'r', tokenUrl: `${base}/token` })
  })

  test('says why where the provider or the person says no, or there is no token to keep', async () => {
    const description = 'AADSTS7000218: the app is no public client.\r\nTrace ID: 1'
    const cases: [[number, object], RegExp][] = [
      [[400, { error: 'authorization_declined' }], /The login failed: authorization_declined/],
      [
        [401, { error: 'invalid_client', error_description: description }],
        /invalid_client: AADSTS7000218: the app is no public client\.$/m,
      ],
      [[200, { access_token: 'a' }], /no refresh token; the scope must have offline_access/],
    ]
    for (const [answer, expected] of cases) {
      answers = [answer]
      const { code: exit, err } = await login()
      assert.equal(exit, 1)
      assert.match(err, expected)
    }
  })

  test('wants the addresses of another provider both, and the id of the app', async () => {
    const half = await site.run(['email', 'login', '--client-id', 'x', '--token-url', base])
    assert.deepEqual([half.code, /Give both --device-url and --token-url/.test(half.err)], [2, true])
    assert.equal((await site.run(['email', 'login'])).code, 2)
  })
})
