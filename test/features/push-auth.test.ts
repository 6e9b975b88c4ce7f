import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { secretsOf } from '../../src/config/environment.ts'
import { createPace } from '../../src/features/push/pace.ts'
import { type Answer, createPoster } from '../../src/features/push/post.ts'
import { pushSchema } from '../../src/features/push/schema.ts'
import { withoutSecrets } from '../../src/lib/secrets.ts'
import { makeAuthority } from '../fixtures/authority.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { cleanup } from '../runtime/support/cleanup.ts'
import { SECRET, subscription } from './push-kit.ts'

/** A function that posts an event with these settings, and resolves with the answer. */
function posterTo(t: TestContext, url: string, settings: object = {}, now = Date.now) {
  const clean = (text: string, more: readonly string[] = []) =>
    withoutSecrets(text, [...secretsOf([], settings), ...more])
  const poster = createPoster(subscription(url, settings), { clean, now })
  cleanup(t, () => poster.close())
  let serial = 0
  return () =>
    new Promise<Answer>((resolve) => {
      const event = { id: `01920000-0000-7000-8000-00000000000${serial++}`, topic: 'orders', type: 'e' }
      poster.post({ ...event, source: 's', data: 1, timestamp: 1 }, resolve)
    })
}

function authority(t: TestContext) {
  const made = makeAuthority()
  cleanup(t, async () => made.remove())
  return made
}

/** The token endpoint of RFC 6749. `respond` gets the number of requests so far. */
async function tokenEndpoint(t: TestContext, respond: (count: number) => { status?: number; body: object }) {
  const requests: { authorization: string | undefined; form: URLSearchParams }[] = []
  const { url, close } = await serveHttp(async (request, response) => {
    const form = new URLSearchParams((await request.toArray()).join(''))
    requests.push({ authorization: request.headers.authorization, form })
    const { status = 200, body } = respond(requests.length)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  cleanup(t, close)
  return { requests, url: `${url}/token` }
}

/** A receiver that answers 401 unless the `Authorization` header is good. */
async function startReceiver(t: TestContext, isGood: (authorization: string | undefined) => boolean) {
  const tokens: (string | undefined)[] = []
  const { url, close } = await serveHttp(async (request, response) => {
    await request.toArray()
    tokens.push(request.headers.authorization)
    response.writeHead(isGood(request.headers.authorization) ? 200 : 401).end()
  })
  cleanup(t, close)
  return { tokens, url }
}

const oauth = (url: string) => ({
  oauth: { 'token-url': url, 'client-id': 'crm client', 'client-secret': 'p@ss:w/rd', scope: 'events write' },
})

describe('push with a client certificate', () => {
  test('reaches a receiver that requires one; the certificate is in files or in text', async (t) => {
    const { path, pem } = authority(t)
    let requests = 0
    const options = { key: pem('server.key'), cert: pem('server.pem'), ca: pem('ca.pem') }
    const server = createServer(
      { ...options, requestCert: true, rejectUnauthorized: true },
      (request, response) => {
        requests++
        request.resume()
        response.end('thanks')
      },
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    cleanup(t, async () => void server.close())
    const { port } = server.address() as AddressInfo
    const url = `https://127.0.0.1:${port}/in`
    const files = { cert: path('client.pem'), key: path('client.key'), ca: path('ca.pem') }
    assert.partialDeepStrictEqual(await posterTo(t, url, { tls: files })(), { status: 200, answer: 'thanks' })
    const text = { cert: pem('client.pem'), key: pem('client.key'), ca: pem('ca.pem') }
    assert.equal((await posterTo(t, url, { tls: text })()).status, 200)
    assert.equal(requests, 2)
    const withoutCertificate = await posterTo(t, url, { tls: { ca: pem('ca.pem') } })()
    assert.match(withoutCertificate.reason ?? '', /certificate|socket|ssl|closed/i)
    const withoutAuthority = await posterTo(t, url)()
    assert.match(withoutAuthority.reason ?? '', /certificate/)
    assert.equal(requests, 2)
  })

  test('names a file that cannot be read, and reads it at the next attempt', async (t) => {
    const { path, pem } = authority(t)
    const { url } = await startReceiver(t, () => true)
    const missing = path('later.pem')
    const post = posterTo(t, url, { tls: { ca: missing } })
    assert.match((await post()).reason ?? '', /`tls.ca` cannot be read: .*ENOENT/)
    writeFileSync(missing, pem('ca.pem'))
    assert.equal((await post()).status, 200)
  })

  test('refuses a certificate without its key', () => {
    const settings = { name: 'crm', url: 'https://example.com', secret: SECRET, tls: { cert: 'x.pem' } }
    assert.match(String(pushSchema.safeParse(settings).error), /`cert` and `key` must be given together/)
  })
})

test('no part of a secret is in the answer of a receiver that repeats the headers of the request', async (t) => {
  for (const before of [0, 280, 290, 299]) {
    const { url, close } = await serveHttp((request, response) =>
      response.writeHead(503).end(`${'x'.repeat(before)}${request.headers.authorization}`),
    )
    t.after(close)
    const secret = 'c2VjcmV0LW9mLXRoZS1yZWNlaXZlcg'
    const { answer = '' } = await posterTo(t, url, { headers: { authorization: `Bearer ${secret}` } })()
    assert.doesNotMatch(answer, /c2Vj/, `${before}`)
    const endpoint = await tokenEndpoint(t, () => ({ body: { access_token: secret } }))
    const withToken = await posterTo(t, url, oauth(endpoint.url))()
    assert.doesNotMatch(withToken.answer ?? '', /c2Vj/, `${before}`)
  }
})

describe('push with OAuth client credentials', () => {
  test('requests one token for many events, and another one shortly before it expires', async (t) => {
    let time = 1_000_000
    const { requests, url: tokenUrl } = await tokenEndpoint(t, (n) => ({
      body: { access_token: `token-${n}`, token_type: 'Bearer', expires_in: 3600 },
    }))
    const { tokens, url } = await startReceiver(t, (token) => token?.startsWith('Bearer token-') ?? false)
    const post = posterTo(t, url, oauth(tokenUrl), () => time)
    const answers = await Promise.all([post(), post(), post(), post()])
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200, 200],
    )
    assert.deepEqual(new Set(tokens), new Set(['Bearer token-1']))
    assert.equal(requests.length, 1)
    const [first] = requests
    assert.deepEqual(Object.fromEntries(first?.form ?? []), {
      grant_type: 'client_credentials',
      scope: 'events write',
    })
    // RFC 6749, section 2.3.1: id and secret are form-encoded first.
    const basic = Buffer.from('crm+client:p%40ss%3Aw%2Frd').toString('base64')
    assert.equal(first?.authorization, `Basic ${basic}`)
    time += 3_500_000
    await post()
    assert.equal(requests.length, 1)
    time += 71_000
    await post()
    assert.equal(tokens.at(-1), 'Bearer token-2')
  })

  test('replaces a refused token once within an attempt; a second refusal fails the attempt', async (t) => {
    const { requests, url: tokenUrl } = await tokenEndpoint(t, (n) => ({
      body: { access_token: `token-${n}` },
    }))
    let valid = 'Bearer token-2'
    const { tokens, url } = await startReceiver(t, (token) => token === valid)
    const post = posterTo(t, url, oauth(tokenUrl))
    assert.equal((await post()).status, 200)
    assert.deepEqual(tokens, ['Bearer token-1', 'Bearer token-2'])
    valid = 'none'
    assert.partialDeepStrictEqual(await post(), { status: 401, reason: 'it answered 401' })
    assert.equal(requests.length, 3)
  })

  test('reports why there is no token, without the secret', async (t) => {
    const { url: tokenUrl } = await tokenEndpoint(t, () => ({
      status: 401,
      body: { error: 'invalid_client', error_description: 'Unknown client' },
    }))
    const { tokens, url } = await startReceiver(t, () => true)
    const { reason = '' } = await posterTo(t, url, oauth(tokenUrl))()
    assert.match(
      reason,
      /no access token: the token endpoint answered 401 \(invalid_client: Unknown client\)/,
    )
    assert.doesNotMatch(reason, /p@ss/)
    assert.deepEqual(tokens, [])
  })

  const settings = { name: 'crm', url: 'https://example.com/in', secret: SECRET }

  test('refuses a token endpoint with a private address', () => {
    const { error } = pushSchema.safeParse({ ...settings, ...oauth('https://127.0.0.1/token') })
    assert.match(String(error), /token-url[\s\S]*private address|private address[\s\S]*token-url/)
  })

  test('refuses an Authorization header beside it', () => {
    const headers = { Authorization: 'x' }
    const { error } = pushSchema.safeParse({ ...settings, headers, ...oauth('https://example.com/token') })
    assert.match(String(error), /`oauth` sets this header/)
  })
})

describe('push at a rate', () => {
  test('passes work evenly and in order', async () => {
    const pace = createPace({ count: 50, per: 1_000 })
    const times: number[] = []
    const order: number[] = []
    await new Promise<void>((resolve) => {
      for (let n = 0; n < 5; n++)
        pace.pass(() => {
          times.push(performance.now())
          order.push(n)
          if (n === 4) resolve()
        })
    })
    assert.deepEqual(order, [0, 1, 2, 3, 4])
    // Every 20 ms: a timer may be a little early, and on a busy machine much later.
    for (let n = 1; n < 5; n++) assert.ok((times[n] ?? 0) - (times[0] ?? 0) >= 20 * n - 5, `${times}`)
  })

  test('passes all waiting work when it is closed', () => {
    const pace = createPace({ count: 1, per: 60_000 })
    const passed: number[] = []
    for (let n = 0; n < 3; n++) pace.pass(() => passed.push(n))
    pace.close()
    assert.deepEqual(passed, [0, 1, 2])
  })
})
