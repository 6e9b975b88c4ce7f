import assert from 'node:assert/strict'
import { after, beforeEach, describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { serveHttp } from '../fixtures/http-server.ts'

describe('trivium email login', async () => {
  const code = {
    device_code: 'dev-1',
    user_code: 'ABCD-\u001b[2JEFGH',
    verification_uri: 'https://provider.example/device',
    expires_in: 900,
    interval: 0.01,
  }
  const granted = { access_token: 'a', token_type: 'Bearer', refresh_token: 'r-of-anna' }
  /** The answers of the token endpoint, in order; the last one is repeated. */
  let answers: [status: number, body: object][] = []
  const requests: { path: string; form: Record<string, string> }[] = []
  const { url: base, close } = await serveHttp(async (request, response) => {
    const form = Object.fromEntries(new URLSearchParams(Buffer.concat(await request.toArray()).toString()))
    requests.push({ path: request.url ?? '', form })
    const next = answers.length > 1 ? answers.shift() : answers[0]
    const [status, body] = request.url === '/device' ? [200, code] : (next ?? [500, {}])
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  const site = openSite({ routes: 'routes: []' })
  beforeEach(() => requests.splice(0))
  after(close)
  const login = (env: Record<string, string> = {}, ...more: string[]) => {
    const urls = ['--device-url', `${base}/device`, '--token-url', `${base}/token`]
    return site.run(['email', 'login', '--client-id', 'app-1', ...urls, ...more], env)
  }

  test('prints where to enter the code, waits for the login, and prints the lines for .env', async () => {
    const pending: [number, object] = [400, { error: 'authorization_pending' }]
    answers = [pending, pending, [200, granted]]
    const { code: exit, out, err } = await login({ OAUTH_SECRET: 's-1' })
    assert.equal(exit, 0, err)
    // Control characters of the provider are escaped.
    assert.match(
      err,
      /Open https:\/\/provider\.example\/device and type ABCD-\\u001b\[2JEFGH \(within 15 min\)/,
    )
    assert.match(out, /^OAUTH_CLIENT=app-1\nOAUTH_REFRESH=r-of-anna\nOAUTH_SECRET=s-1$/m)
    assert.match(out, new RegExp(`client-secret: "\\$\\{OAUTH_SECRET\\}".* token-url: "${base}/token"`))
    assert.match(requests[0]?.form.scope ?? '', /^offline_access .*IMAP\.AccessAsUser\.All .*SMTP\.Send$/)
    assert.deepEqual(requests[1]?.form, {
      client_id: 'app-1',
      client_secret: 's-1',
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: 'dev-1',
    })
    const { out: json } = await login({}, '--json')
    assert.deepEqual(JSON.parse(json), { refreshToken: 'r-of-anna', tokenUrl: `${base}/token` })
  })

  test('prints why the login failed, or that there is no refresh token', async () => {
    const error_description = 'AADSTS7000218: the app is no public client.\r\nTrace ID: 1'
    for (const [answer, expected] of [
      [[400, { error: 'authorization_declined' }], /The login failed: authorization_declined/],
      [
        [401, { error: 'invalid_client', error_description }],
        /AADSTS7000218: the app is no public client\.$/m,
      ],
      [
        [200, { access_token: 'a', token_type: 'Bearer' }],
        /no refresh token; the scope must include offline_access/,
      ],
    ] as [[number, object], RegExp][]) {
      answers = [answer]
      const { code: exit, err } = await login()
      assert.equal(exit, 1)
      assert.match(err, expected)
    }
  })

  test('needs the id of the app, and both URLs of another provider with HTTPS', async () => {
    const withoutTls = [
      ...['--device-url', 'http://provider.example/d'],
      ...['--token-url', 'http://localhost:1@x.example/t'],
    ]
    for (const [args, code, expected] of [
      [['--client-id', 'x', ...withoutTls], 1, /HTTPS/],
      [['--client-id', 'x', '--token-url', base], 2, /Give both --device-url and --token-url/],
      [[], 2, /--client-id/],
    ] as const) {
      const { code: exit, err } = await site.run(['email', 'login', ...args])
      assert.equal(exit, code)
      assert.match(err, expected)
    }
  })
})
