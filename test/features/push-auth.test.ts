import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { createPace } from '../../src/features/push/pace.ts'
import { type Answer, createPoster } from '../../src/features/push/post.ts'
import { type PushSubscription, pushSchema } from '../../src/features/push/schema.ts'
import { makeAuthority } from '../fixtures/authority.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { cleanup } from '../runtime/support/cleanup.ts'

const SECRET = `whsec_${Buffer.from('a secret of 24 bytes and more').toString('base64')}`

function posterTo(t: TestContext, url: string, more: object = {}, now = Date.now) {
  const subscription: PushSubscription = pushSchema.parse({
    ...{ name: 'crm', topic: 'orders', url, secret: SECRET, 'allow-private': true, ...more },
  })
  const poster = createPoster(subscription, now)
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

/** A token endpoint as RFC 6749 has it: `grants` counts its tokens. */
async function tokenEndpoint(t: TestContext, respond: (grant: number) => { status?: number; body: object }) {
  const asked: { authorization: string | undefined; form: URLSearchParams }[] = []
  const { url, close } = await serveHttp(async (request, response) => {
    const form = new URLSearchParams((await request.toArray()).join(''))
    asked.push({ authorization: request.headers.authorization, form })
    const { status = 200, body } = respond(asked.length)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  cleanup(t, close)
  return { asked, url: `${url}/token` }
}

async function receiver(t: TestContext, isGood: (token: string | undefined) => boolean) {
  const tokens: (string | undefined)[] = []
  const { url, close } = await serveHttp(async (request, response) => {
    await request.toArray()
    tokens.push(request.headers.authorization)
    response.writeHead(isGood(request.headers.authorization) ? 200 : 401).end()
  })
  cleanup(t, close)
  return { tokens, url }
}

const oauthTo = (url: string) => ({
  oauth: { 'token-url': url, 'client-id': 'crm client', 'client-secret': 'p@ss:w/rd', scope: 'events write' },
})

describe('push with a client certificate', () => {
  test('reaches a receiver that demands one, from files and from text, and no other', async (t) => {
    const { path, pem } = authority(t)
    const seen: unknown[] = []
    const options = { key: pem('server.key'), cert: pem('server.pem'), ca: pem('ca.pem') }
    const server = createServer(
      { ...options, requestCert: true, rejectUnauthorized: true },
      (request, response) => {
        seen.push(
          Object(Reflect.get(request.socket, 'getPeerCertificate')).name && request.headers['webhook-id'],
        )
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
    assert.equal(seen.length, 2)
    assert.match(
      (await posterTo(t, url, { tls: { ca: pem('ca.pem') } })()).reason ?? '',
      /certificate|socket|ssl|closed/i,
    )
    assert.match((await posterTo(t, url)()).reason ?? '', /certificate/)
    assert.equal(seen.length, 2)
  })

  test('names a file that cannot be read, and uses it once it can', async (t) => {
    const { path, pem } = authority(t)
    const { url } = await receiver(t, () => true)
    const missing = path('later.pem')
    const post = posterTo(t, url, { tls: { ca: missing } })
    assert.match((await post()).reason ?? '', /`tls.ca` cannot be read: .*ENOENT/)
    writeFileSync(missing, pem('ca.pem'))
    assert.equal((await post()).status, 200)
  })

  test('refuses half a pair', () => {
    const half = { name: 'crm', url: 'https://example.com', secret: SECRET, tls: { cert: 'x.pem' } }
    assert.match(String(pushSchema.safeParse(half).error), /`cert` and `key` must be given together/)
  })
})

describe('push with OAuth client credentials', () => {
  test('asks for a token once for many events, as the RFC wants it, and again when it expires', async (t) => {
    let time = 1_000_000
    const { asked, url: tokenUrl } = await tokenEndpoint(t, (n) => ({
      body: { access_token: `token-${n}`, token_type: 'Bearer', expires_in: 3600 },
    }))
    const { tokens, url } = await receiver(t, (token) => token?.startsWith('Bearer token-') ?? false)
    const post = posterTo(t, url, oauthTo(tokenUrl), () => time)
    const answers = await Promise.all([post(), post(), post(), post()])
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200, 200],
    )
    assert.deepEqual(new Set(tokens), new Set(['Bearer token-1']))
    assert.equal(asked.length, 1)
    const [first] = asked
    assert.deepEqual(Object.fromEntries(first?.form ?? []), {
      grant_type: 'client_credentials',
      scope: 'events write',
    })
    const basic = Buffer.from('crm+client:p%40ss%3Aw%2Frd').toString('base64')
    assert.equal(first?.authorization, `Basic ${basic}`)
    time += 3_500_000
    await post()
    assert.equal(asked.length, 1)
    time += 71_000
    await post()
    assert.equal(tokens.at(-1), 'Bearer token-2')
  })

  test('a refused token is replaced once within the attempt; a second refusal is the answer', async (t) => {
    const { asked, url: tokenUrl } = await tokenEndpoint(t, (n) => ({ body: { access_token: `token-${n}` } }))
    let good = 'Bearer token-2'
    const { tokens, url } = await receiver(t, (token) => token === good)
    const post = posterTo(t, url, oauthTo(tokenUrl))
    assert.equal((await post()).status, 200)
    assert.deepEqual(tokens, ['Bearer token-1', 'Bearer token-2'])
    good = 'none'
    assert.partialDeepStrictEqual(await post(), { status: 401, reason: 'it answered 401' })
    assert.equal(asked.length, 3)
  })

  test('tells why there is no token, and never the secret', async (t) => {
    const { url: tokenUrl } = await tokenEndpoint(t, () => ({
      status: 401,
      body: { error: 'invalid_client', error_description: 'Unknown client' },
    }))
    const { tokens, url } = await receiver(t, () => true)
    const { reason = '' } = await posterTo(t, url, oauthTo(tokenUrl))()
    assert.match(
      reason,
      /no access token: the token endpoint answered 401 \(invalid_client: Unknown client\)/,
    )
    assert.doesNotMatch(reason, /p@ss/)
    assert.deepEqual(tokens, [])
  })

  test('asks no private address for a token unless private ones are allowed', async (t) => {
    const inside = pushSchema.safeParse({
      ...{ name: 'crm', url: 'https://example.com/in', secret: SECRET },
      ...oauthTo('https://127.0.0.1/token'),
    })
    assert.match(String(inside.error), /token-url[\s\S]*private address|private address[\s\S]*token-url/)
    const both = pushSchema.safeParse({
      ...{ name: 'crm', url: 'https://example.com/in', secret: SECRET, headers: { Authorization: 'x' } },
      ...oauthTo('https://example.com/token'),
    })
    assert.match(String(both.error), /`oauth` sets this header/)
    assert.ok(t)
  })
})

describe('push at a rate', () => {
  test('lets work through evenly and in order, and all of it at the end', async () => {
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
    // Never sooner; a busy machine may be later.
    for (let n = 1; n < 5; n++) assert.ok((times[n] ?? 0) - (times[0] ?? 0) >= 20 * n - 5, `${times}`)
    const slow = createPace({ count: 1, per: 60_000 })
    const passed: number[] = []
    for (let n = 0; n < 3; n++) slow.pass(() => passed.push(n))
    slow.close()
    assert.deepEqual(passed, [0, 1, 2])
  })
})
