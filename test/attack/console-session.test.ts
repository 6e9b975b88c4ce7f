import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways: { demo: { transport: cli } }
routes: [{ name: all, skill: echo }]
tokens: [{ name: program, token: a-token-of-a-program, skills: ["*"], gateways: ["*"] }]
`

type Answer = { status: number; cookies: string[]; body: string }

/** Sends a request by node:http, which allows any Host, Origin and Sec-Fetch-Site, unlike fetch. */
function ask(base: string, method: string, path: string, headers: Record<string, string> = {}, body = '') {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const type = body === '' ? {} : { 'content-type': 'application/json' }
  const outgoing = httpRequest(base + path, { method, headers: { ...type, ...headers } }, (response) => {
    let text = ''
    response.setEncoding('utf8').on('data', (chunk) => (text += chunk))
    response.on('end', () =>
      resolve({
        status: response.statusCode ?? 0,
        cookies: response.headers['set-cookie'] ?? [],
        body: text,
      }),
    )
  })
  outgoing.on('error', reject)
  outgoing.end(body)
  return promise
}

/** The files in a folder that hold data: of SQLite, of Redis, and logs. */
function dataFilesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true })
    .map((name) => join(folder, String(name)))
    .filter((file) => /\.(db|sqlite|jsonl|aof)(-wal)?$/.test(file))
}

/** The first cookie of an answer, as `name=value`. */
const pairOf = ({ cookies }: Answer) => cookies[0]?.split(';')[0] ?? ''
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

for (const kind of ['embedded', 'redis'] as const) {
  describe(`a session of the console on the ${kind} store`, { timeout: 300_000 }, async () => {
    const redis = kind === 'redis' ? await startRedisServer() : undefined
    after(() => redis?.stop())
    const env: Record<string, string> = redis ? { REDIS_URL: redis.url } : {}
    const site = openSite({ routes: ROUTES, env })
    let daemon = await site.start()
    const own = () => ({ origin: daemon.control, 'sec-fetch-site': 'same-origin' })
    const signIn = (headers: Record<string, string> = {}, body = '') =>
      ask(daemon.control, 'POST', '/v1/session', { ...bearer(daemon.token), ...own(), ...headers }, body)

    test('is an HttpOnly cookie for this origin, which replaces the token', async () => {
      const answer = await signIn()
      assert.equal(answer.status, 200)
      const [pair = '', ...scope] = answer.cookies[0]?.split('; ') ?? []
      assert.deepEqual(scope, ['Path=/', 'Max-Age=43200', 'HttpOnly', 'SameSite=Strict'])
      assert.match(pair, /^trivium-session-\d+=[\w-]{43}$/)
      assert.ok(!JSON.stringify(answer).includes(daemon.token))
      assert.equal((await ask(daemon.control, 'GET', '/v1/status', { cookie: pair })).status, 200)
      const echoed = await ask(
        daemon.control,
        'POST',
        '/v1/skills/echo',
        { cookie: pair, ...own() },
        '{"text":"x"}',
      )
      assert.equal(echoed.status, 200)
      const plain = bearer(daemon.token)
      assert.equal((await ask(daemon.control, 'POST', '/v1/skills/echo', plain, '{"text":"x"}')).status, 200)
    })

    test('is created only with the control token', async () => {
      for (const headers of [bearer('wrong'), bearer('a-token-of-a-program'), { authorization: '' }]) {
        const answer = await signIn(headers)
        assert.deepEqual([answer.status, answer.cookies], [401, []])
      }
      const { cookies } = await signIn()
      const cookie = cookies[0]?.split(';')[0] ?? ''
      // A cookie cannot create a second session.
      assert.equal((await ask(daemon.control, 'POST', '/v1/session', { cookie, ...own() })).status, 401)
    })

    test('is refused for requests from other web pages; a request from no page can read, but not change', async () => {
      const cookie = pairOf(await signIn())
      const ofOtherPages: Record<string, string>[] = [
        { origin: 'https://evil.example' },
        { origin: 'http://127.0.0.1:1' },
        { origin: 'null' },
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site' },
        { 'sec-fetch-site': 'cross-site', origin: daemon.control },
      ]
      // An address that a person typed, and a program.
      const ofNoPage: Record<string, string>[] = [{ 'sec-fetch-site': 'none' }, {}]
      for (const headers of [...ofOtherPages, ...ofNoPage]) {
        const answer = await ask(daemon.control, 'POST', '/v1/reload', { cookie, ...headers }, '{}')
        assert.equal(answer.status, 403, JSON.stringify(headers))
        const out = await ask(daemon.control, 'POST', '/v1/session/end', { cookie, ...headers })
        assert.equal(out.status, 403, JSON.stringify(headers))
      }
      for (const headers of ofOtherPages) {
        const answer = await ask(daemon.control, 'GET', '/v1/status', { cookie, ...headers })
        assert.equal(answer.status, 403, JSON.stringify(headers))
        const login = await ask(daemon.control, 'POST', '/v1/session', {
          ...bearer(daemon.token),
          ...headers,
        })
        assert.equal(login.status, 403, JSON.stringify(headers))
      }
      for (const headers of ofNoPage)
        assert.equal((await ask(daemon.control, 'GET', '/v1/status', { cookie, ...headers })).status, 200)
    })

    test('never has an id that the browser sent, and ends the session that the browser had', async () => {
      const name = pairOf(await signIn()).split('=')[0]
      const planted = `${name}=${'A'.repeat(43)}`
      const fresh = pairOf(await signIn({ cookie: planted }))
      assert.notEqual(fresh, planted)
      assert.equal((await ask(daemon.control, 'GET', '/v1/status', { cookie: planted })).status, 401)
      const next = pairOf(await signIn({ cookie: fresh }))
      assert.equal((await ask(daemon.control, 'GET', '/v1/status', { cookie: fresh })).status, 401)
      // One of two cookies may be planted by a page on another port or a sibling domain.
      const two = `${planted}; ${next}`
      assert.equal((await ask(daemon.control, 'GET', '/v1/status', { cookie: two })).status, 401)
    })

    test('is sent over HTTPS only behind a proxy with TLS, and counts only with the prefix __Host-', async () => {
      const proxied = { host: 'trivium.example.com', 'x-forwarded-proto': 'https' }
      const from = { ...proxied, origin: 'https://trivium.example.com' }
      const answer = await signIn(from)
      assert.match(answer.cookies[0] ?? '', /^__Host-trivium-session=[\w-]{43}; Path=\/; .*; Secure$/)
      const cookie = pairOf(answer)
      const status = (given: string) =>
        ask(daemon.control, 'GET', '/v1/status', { ...proxied, cookie: given })
      assert.equal((await status(cookie)).status, 200)
      assert.equal((await status(cookie.replace('__Host-', ''))).status, 401)
      assert.equal((await ask(daemon.control, 'GET', '/v1/status', { cookie })).status, 401)
    })

    test('ends at sign-out, with its open stream', async () => {
      const answer = await signIn()
      const cookie = pairOf(answer)
      const stream = await fetch(`${daemon.control}/v1/stream`, { headers: { cookie } })
      // It may end, or be cut off.
      const streamEnd = stream.text().catch(() => '')
      const out = await ask(daemon.control, 'POST', '/v1/session/end', { cookie, ...own() })
      assert.match(out.cookies[0] ?? '', /^trivium-session-\d+=; Path=\/; Max-Age=0; /)
      assert.equal((await ask(daemon.control, 'GET', '/v1/status', { cookie })).status, 401)
      await streamEnd
    })

    test('survives a restart, but not a change of the control token', async () => {
      const cookie = pairOf(await signIn())
      const status = async () => (await ask(daemon.control, 'GET', '/v1/status', { cookie })).status
      const { control } = daemon
      const address = { TRIVIUM_CONTROL_LISTEN: new URL(control).host }
      await daemon.end()
      daemon = await site.start(address)
      assert.equal(await status(), 200)
      await daemon.end()
      site.write('.trivium/control-token', 'another-token-that-is-long\n')
      daemon = await site.start(address)
      assert.equal(await status(), 401)
    })

    test('has the configured lifetime', async () => {
      site.write('routes.yaml', `${ROUTES}console: { session: 1m }\n`)
      await until(async () => {
        const { cookies } = await signIn()
        return cookies[0]?.includes('Max-Age=60;')
      }, 'the new lifetime')
    })

    test('cannot be derived from the files of the store', async () => {
      const id = pairOf(await signIn()).split('=')[1] ?? ''
      assert.equal(id.length, 43)
      const folders = [join(site.dir, '.trivium'), ...(redis ? [redis.folder] : [])]
      const files = folders.flatMap(dataFilesIn)
      assert.ok(files.some((file) => readFileSync(file).includes('console-session:')))
      for (const file of files) {
        const bytes = readFileSync(file)
        assert.ok(!bytes.includes(id) && !bytes.includes(daemon.token), file)
      }
    })
  })
}
