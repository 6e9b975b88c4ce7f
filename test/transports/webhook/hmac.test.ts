import assert from 'node:assert/strict'
import { createHash, createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { describe, test } from 'node:test'
import { silent } from '../../../src/core/log.ts'
import { createVerifier } from '../../../transports/deliveries/verifier.ts'
import { verify } from '../../../transports/deliveries/verify.ts'
import { startWebhook } from './harness.ts'

const NOW = Date.UTC(2026, 10, 21)
const T = String(NOW / 1000)
const BODY = '{"id":"1","proof":{"at":1795219200,"token":"tok"}}'
const SECRET = 'shared'

const sum = (
  text: string,
  encoding: 'hex' | 'base64' | 'base64url' = 'hex',
  key: string | Buffer = SECRET,
  hash = 'sha256',
) => createHmac(hash, key).update(text).digest(encoding)

/** Why a delivery is refused; undefined where it is good. */
function judge(
  options: object,
  headers: Record<string, string>,
  more: { body?: string; url?: string; method?: string } = {},
) {
  const { body = BODY, url = '/hooks/a', method = 'POST' } = more
  const parsed = verify.parse({ scheme: 'hmac', secret: SECRET, ...options })
  const address = () => 'https://hooks.example.com/hooks/a'
  const verifier = createVerifier(parsed, { gateway: 'a', now: () => NOW, log: silent, address })
  const verdict = verifier.check({
    method,
    url,
    headers: { 'content-type': 'application/json', ...headers },
    raw: Buffer.from(body),
  })
  assert.ok(!(verdict instanceof Promise))
  return verdict
}

describe('verify: hmac reads what senders write', () => {
  const timed = { header: 'X-Sig', prefix: 'v1=', 'timestamp-prefix': 't=', template: '{timestamp}.{body}' }
  const good = sum(`${T}.${BODY}`)
  const other = sum('other')

  test('several signatures and the time in one header, however they are separated', () => {
    for (const header of [
      `t=${T},v1=${good}`,
      `t=${T}, v1=${good}`,
      `v1=${good},t=${T}`,
      `t=${T};v1=${good}`,
      `t=${T} v1=${good}`,
      `t=${T},v1=${other},v1=${good}`,
      `t=${T}, v1=${other}, v0=${other}, v1=${good} `,
      `t=${T},v1=${good.toUpperCase()}`,
    ]) {
      assert.equal(judge(timed, { 'x-sig': header }), undefined, header)
    }
  })

  test('a list without a time, by any separator', () => {
    for (const separator of [',', ', ', ' ', ';', '; ']) {
      const listed = [`v1=${other}`, `v1=${sum(BODY)}`].join(separator)
      assert.equal(judge({ header: 'x', prefix: 'v1=' }, { x: listed }), undefined, separator)
      const bare = [other, sum(BODY)].join(separator)
      assert.equal(judge({ header: 'x' }, { x: bare }), undefined, separator)
    }
    const quoted = `keyId="a",algorithm="hmac-sha256",signature="${sum(BODY, 'base64')}"`
    assert.equal(
      judge({ header: 'signature', prefix: 'signature="', encoding: 'base64' }, { signature: quoted }),
      undefined,
    )
  })

  test('a time in another header, in seconds, milliseconds or as a date, or as the first value', () => {
    for (const time of [
      T,
      `${T}000`,
      '2026-11-21T00:00:00Z',
      '2026-11-21T00:00:00.123456789Z',
      '2026-11-21T01:00:00+01:00',
      'Sat, 21 Nov 2026 00:00:00 GMT',
    ]) {
      const options = { header: 'x', 'timestamp-header': 'X-Time', template: '{timestamp}|{body}' }
      assert.equal(judge(options, { x: sum(`${time}|${BODY}`), 'x-time': time }), undefined, time)
      assert.match(
        judge(options, { x: sum(`${time}|${BODY}`), 'x-time': `${time}0000000` }) ?? '',
        /neither a Unix time/,
      )
    }
    const first = { header: 'x', 'timestamp-prefix': '', template: '{timestamp}.{body}' }
    assert.equal(judge(first, { x: `${T},${other},${good}` }), undefined)
    const prefixed = {
      header: 'x',
      'timestamp-header': 'y',
      'timestamp-prefix': 't=',
      template: '{timestamp}.{body}',
    }
    assert.equal(judge(prefixed, { x: good, y: `t=${T}` }), undefined)
  })

  test('signature, time and token in the body', () => {
    const proof = { signature: sum(`${T}tok`), timestamp: Number(T), token: 'tok' }
    const fields = {
      field: 'data.body.signature.signature',
      'timestamp-field': 'signature.timestamp',
      template: '{timestamp}{body.signature.token}',
    }
    const body = (changes: object = {}) =>
      JSON.stringify({ signature: { ...proof, ...changes }, event: 'opened' })
    assert.equal(judge(fields, {}, { body: body() }), undefined)
    assert.match(judge(fields, {}, { body: body({ token: 'other' }) }) ?? '', /does not match/)
    assert.match(
      judge(fields, {}, { body: body({ timestamp: Number(T) - 400 }) }) ?? '',
      /400 s old, more than the allowed 300 s/,
    )
    assert.match(
      judge(fields, {}, { body: body({ token: '' }) }) ?? '',
      /field signature.token of the body is missing/,
    )
    assert.match(judge(fields, {}, { body: '{}' }) ?? '', /field signature.signature of the body is missing/)
    assert.match(judge(fields, { 'content-encoding': 'gzip' }, { body: body() }) ?? '', /is missing/)
    const form = new URLSearchParams({ signature: sum(`${T}tok`), timestamp: T, token: 'tok' })
    const flat = { field: 'signature', 'timestamp-field': 'timestamp', template: '{timestamp}{body.token}' }
    const type = { 'content-type': 'application/x-www-form-urlencoded' }
    assert.equal(judge(flat, type, { body: String(form) }), undefined)
    const optional = { header: 'x', template: '{body.a?}:{body.id}:{header.y?}' }
    assert.equal(judge(optional, { x: sum(':1:') }), undefined)
    assert.match(
      judge({ ...optional, template: '{body.a}:{body.id}' }, { x: sum(':1') }) ?? '',
      /field a of the body is missing/,
    )
    // A time in the signed body, as Linear has it.
    const inside = { header: 'x', 'timestamp-field': 'proof.at' }
    assert.equal(judge(inside, { x: sum(BODY) }), undefined)
  })

  test('address, path, method and headers in what is signed', () => {
    const all = { header: 'x', template: '{method} {url} {path} {header.X-Id}\n{body}' }
    const url = '/hooks/a?b=c%20d'
    const text = `POST https://hooks.example.com${url} ${url} 7\n${BODY}`
    assert.equal(judge(all, { x: sum(text), 'x-id': '7' }, { url }), undefined)
    assert.match(judge(all, { x: sum(text) }, { url }) ?? '', /the header x-id is missing/)
    for (const change of [{ url: '/hooks/a?b=c' }, { url, method: 'PUT' }]) {
      assert.match(judge(all, { x: sum(text), 'x-id': '7' }, change) ?? '', /does not match/)
    }
    const explicit = { header: 'x', template: '{body}{url}', url: 'https://other.example/in' }
    assert.equal(
      judge(explicit, { x: sum(`${BODY}https://other.example/in?a=1`) }, { url: '/hooks/a?a=1' }),
      undefined,
    )
  })

  test('secrets as they are shown: text, hex, base64, with whsec_ and v1,whsec_', () => {
    const key = Buffer.from('0123456789abcdef0123456789abcdef', 'hex')
    const base64 = key.toString('base64')
    const x = sum(BODY, 'hex', key)
    for (const secret of [base64, `whsec_${base64}`, `v1,whsec_${base64}`, ` ${base64}\n`]) {
      assert.equal(judge({ header: 'x', secret, 'secret-encoding': 'base64' }, { x }), undefined, secret)
    }
    assert.equal(
      judge({ header: 'x', secret: key.toString('hex'), 'secret-encoding': 'hex' }, { x }),
      undefined,
    )
    assert.equal(judge({ header: 'x', secret: 'whsec_abc' }, { x: sum(BODY, 'hex', 'whsec_abc') }), undefined)
  })

  test('each algorithm in each encoding', () => {
    for (const algorithm of ['sha1', 'sha256', 'sha384', 'sha512']) {
      for (const encoding of ['hex', 'base64', 'base64url'] as const) {
        const x = sum(BODY, encoding, SECRET, algorithm)
        assert.equal(
          judge({ header: 'x', algorithm, encoding, prefix: `${algorithm}=` }, { x: `${algorithm}=${x}` }),
          undefined,
        )
        if (encoding !== 'hex')
          assert.equal(judge({ header: 'x', algorithm, encoding }, { x: x.replace(/=+$/, '') }), undefined)
      }
    }
  })
})

describe('verify: hmac says why it refuses', () => {
  const timed = { header: 'X-Sig', prefix: 'v1=', 'timestamp-prefix': 't=', template: '{timestamp}.{body}' }
  const cases: [why: string, options: object, headers: Record<string, string>, expected: RegExp][] = [
    ['no header', timed, {}, /the header x-sig is missing/],
    ['another prefix', timed, { 'x-sig': `t=${T},v2=00` }, /no signature that begins with "v1="/],
    ['no time', timed, { 'x-sig': `v1=${sum(BODY)}` }, /its timestamp is missing/],
    [
      'an old time',
      timed,
      { 'x-sig': `t=${Number(T) - 421},v1=00` },
      /421 s old, more than the allowed 300 s: compare the clocks/,
    ],
    [
      'a time ahead',
      timed,
      { 'x-sig': `t=${Number(T) + 3600},v1=00` },
      /3600 s ahead, more than the allowed 300 s/,
    ],
    ['another encoding', { header: 'x' }, { x: sum(BODY, 'base64') }, /not sha256 in hex/],
    ['another algorithm', { header: 'x' }, { x: sum(BODY, 'hex', SECRET, 'sha1') }, /not sha256 in hex/],
    [
      'another secret',
      { header: 'x' },
      { x: sum(BODY, 'hex', 'other') },
      /does not match: the secret differs/,
    ],
    ['none of three', { header: 'x' }, { x: [1, 2, 3].map((n) => sum(`${n}`)).join(',') }, /none of 3/],
  ]
  for (const [why, options, headers, expected] of cases) {
    test(why, () => {
      const reason = judge(options, headers)
      assert.match(reason ?? '', expected)
      assert.doesNotMatch(reason ?? '', new RegExp(`${SECRET}|${sum(BODY)}`))
    })
  }

  test('a signed address that nobody told it is a fault of the configuration, and headers of proxies do not tell it', async () => {
    const trello = { verify: { scheme: 'trello', secret: SECRET } }
    await assert.rejects(startWebhook(trello), { code: 'config_invalid', message: /public-url/ })
    const known = await startWebhook(trello, { http: { publicUrl: () => 'https://hooks.example.com' } })
    const sign = (url: string) => createHmac('sha1', SECRET).update(`{}${url}`).digest('base64')
    const forwarded = {
      host: 'evil.example',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      forwarded: 'host=evil.example',
    }
    const post = (url: string) =>
      known.post('{}', { 'x-trello-webhook': sign(url), 'content-type': 'application/json', ...forwarded })
    assert.equal((await post('https://evil.example/hooks/test')).status, 401)
    assert.equal((await post('https://hooks.example.com/hooks/test')).status, 202)
  })
})

describe('a refusal says what to change', () => {
  const hex = createHmac('sha256', 'one').update('{}').digest('hex')
  const base64 = createHmac('sha256', 'one').update('{}').digest('base64')
  const cases: [name: string, options: object, signature: string, expected: RegExp][] = [
    ['quotes', {}, `"${hex}"`, /the header x-sig has its signature in quotes/],
    ['quotes after a prefix', { prefix: 'v1=' }, `"v1=${hex}"`, /has its signature in quotes/],
    ['a prefix', {}, `sha256=${hex}`, /set `prefix: sha256=`/],
    ['a prefix of base64', { encoding: 'base64' }, `v1=${base64}`, /set `prefix: v1=`/],
    ['a prefix with a colon', {}, `HMAC:${hex}`, /set `prefix: HMAC:`/],
    ['another prefix', { prefix: 'v1=' }, `v0=${hex}`, /no signature that begins with "v1="/],
    ['nothing but separators', {}, ';;', /the header x-sig has no signature$/],
    ['another signature', {}, 'ab'.repeat(32), /does not match/],
  ]
  for (const [name, more, signature, expected] of cases) {
    test(name, async () => {
      const verify = { scheme: 'hmac', secret: 'one', header: 'X-Sig', ...more }
      const { post } = await startWebhook({ verify })
      const { status, body } = await post('{}', { 'x-sig': signature })
      assert.equal(status, 401)
      const message = body.error?.message ?? ''
      assert.match(message.replace(/[.]?( \(.*\))?$/, ''), expected)
      assert.ok(!message.includes(hex) && !message.includes(base64))
    })
  }
})

describe('verify: hmac signs a hash of the body', () => {
  const hash = createHash('sha256').update(BODY)

  test('in hex, or as it is, with the time and the address', () => {
    const hex = hash.copy().digest('hex')
    const options = { header: 'x', 'timestamp-header': 'time', template: '{timestamp}.{url}.{body-sha256}' }
    const signed = `${T}.https://hooks.example.com/hooks/a.${hex}`
    assert.equal(judge(options, { x: sum(signed), time: T }), undefined)
    assert.match(judge(options, { x: sum(signed), time: T }, { body: '{}' }) ?? '', /does not match/)
    const bird = { ...options, encoding: 'base64', template: '{timestamp}\n{url}\n{body-sha256-raw}' }
    const bytes = Buffer.concat([
      Buffer.from(`${T}\nhttps://hooks.example.com/hooks/a\n`),
      hash.copy().digest(),
    ])
    const x = createHmac('sha256', SECRET).update(bytes).digest('base64')
    assert.equal(judge(bird, { x, time: T }), undefined)
    assert.match(judge(bird, { x, time: T }, { body: '{}' }) ?? '', /does not match/)
  })
})

describe('verify: public-key', () => {
  const pem = (key: KeyObject) => String(key.export({ type: 'spki', format: 'pem' }))
  const der = (key: KeyObject) => key.export({ type: 'spki', format: 'der' }).toString('base64')

  test('accepts what a private key signed: RSA, ECDSA and Ed25519', () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const ed = generateKeyPairSync('ed25519')
    const raw = Buffer.from(String(ed.publicKey.export({ format: 'jwk' }).x), 'base64url')
    const template = '{timestamp}|{body}'
    const signed = Buffer.from(`${T}|${BODY}`)
    for (const [secret, key, algorithm] of [
      [pem(rsa.publicKey), rsa.privateKey, 'sha256'],
      [der(ec.publicKey), ec.privateKey, 'sha256'],
      [pem(ed.publicKey), ed.privateKey, null],
      [raw.toString('base64'), ed.privateKey, null],
      [raw.toString('hex'), ed.privateKey, null],
    ] as const) {
      const options = { scheme: 'public-key', secret, header: 'x', 'timestamp-header': 'time', template }
      const x = sign(algorithm, signed, key).toString('base64')
      assert.equal(judge(options, { x, time: T }), undefined)
      assert.match(judge(options, { x, time: T }, { body: '{}' }) ?? '', /does not match/)
      assert.match(judge(options, { x, time: String(Number(T) - 600) }) ?? '', /600 s old/)
      assert.match(judge(options, { time: T }) ?? '', /is missing/)
    }
  })

  test('needs a key that can be read', () => {
    const options = { scheme: 'public-key', header: 'x' }
    for (const secret of ['shared', 'AAAA', '-----BEGIN PUBLIC KEY-----'])
      assert.equal(verify.safeParse({ ...options, secret }).success, false, secret)
  })
})
