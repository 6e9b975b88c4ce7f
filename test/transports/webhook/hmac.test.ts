import assert from 'node:assert/strict'
import { createHash, createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { describe, test } from 'node:test'
import { silent } from '../../../src/core/log.ts'
import { createVerifier } from '../../../transports/deliveries/verifier.ts'
import { verify } from '../../../transports/deliveries/verify.ts'
import { startWebhook } from './harness.ts'

const NOW = Date.UTC(2026, 10, 21)
const SECONDS = String(NOW / 1000)
const BODY = '{"id":"1","proof":{"at":1795219200,"token":"tok"}}'
const SECRET = 'shared'

const sum = (
  text: string,
  encoding: 'hex' | 'base64' | 'base64url' = 'hex',
  key: string | Buffer = SECRET,
  hash = 'sha256',
) => createHmac(hash, key).update(text).digest(encoding)

/** The reason for which a delivery is refused; undefined if it is accepted. */
function refusalOf(
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

describe('verify: hmac reads', () => {
  const timed = { header: 'X-Sig', prefix: 'v1=', 'timestamp-prefix': 't=', template: '{timestamp}.{body}' }
  const good = sum(`${SECONDS}.${BODY}`)
  const other = sum('other')

  test('signatures and the time in one header, with any separator', () => {
    for (const header of [
      `t=${SECONDS},v1=${good}`,
      `t=${SECONDS}, v1=${good}`,
      `v1=${good},t=${SECONDS}`,
      `t=${SECONDS};v1=${good}`,
      `t=${SECONDS} v1=${good}`,
      `t=${SECONDS},v1=${other},v1=${good}`,
      `t=${SECONDS}, v1=${other}, v0=${other}, v1=${good} `,
      `t=${SECONDS},v1=${good.toUpperCase()}`,
    ]) {
      assert.equal(refusalOf(timed, { 'x-sig': header }), undefined, header)
    }
  })

  test('a list of signatures without a time, with any separator', () => {
    for (const separator of [',', ', ', ' ', ';', '; ']) {
      const listed = [`v1=${other}`, `v1=${sum(BODY)}`].join(separator)
      assert.equal(refusalOf({ header: 'x', prefix: 'v1=' }, { x: listed }), undefined, separator)
      const bare = [other, sum(BODY)].join(separator)
      assert.equal(refusalOf({ header: 'x' }, { x: bare }), undefined, separator)
    }
    const quoted = `keyId="a",algorithm="hmac-sha256",signature="${sum(BODY, 'base64')}"`
    assert.equal(
      refusalOf({ header: 'signature', prefix: 'signature="', encoding: 'base64' }, { signature: quoted }),
      undefined,
    )
  })

  test('a time in another header: seconds, milliseconds or a date', () => {
    for (const time of [
      SECONDS,
      `${SECONDS}000`,
      '2026-11-21T00:00:00Z',
      '2026-11-21T00:00:00.123456789Z',
      '2026-11-21T01:00:00+01:00',
      'Sat, 21 Nov 2026 00:00:00 GMT',
    ]) {
      const options = { header: 'x', 'timestamp-header': 'X-Time', template: '{timestamp}|{body}' }
      assert.equal(refusalOf(options, { x: sum(`${time}|${BODY}`), 'x-time': time }), undefined, time)
      assert.match(
        refusalOf(options, { x: sum(`${time}|${BODY}`), 'x-time': `${time}0000000` }) ?? '',
        /neither a Unix time/,
      )
    }
  })

  test('a time as the first value of the header, or with a prefix in another header', () => {
    const first = { header: 'x', 'timestamp-prefix': '', template: '{timestamp}.{body}' }
    assert.equal(refusalOf(first, { x: `${SECONDS},${other},${good}` }), undefined)
    const prefixed = {
      header: 'x',
      'timestamp-header': 'y',
      'timestamp-prefix': 't=',
      template: '{timestamp}.{body}',
    }
    assert.equal(refusalOf(prefixed, { x: good, y: `t=${SECONDS}` }), undefined)
  })

  test('a signature, a time and a token in a JSON body', () => {
    const proof = { signature: sum(`${SECONDS}tok`), timestamp: Number(SECONDS), token: 'tok' }
    const fields = {
      field: 'data.body.signature.signature',
      'timestamp-field': 'signature.timestamp',
      template: '{timestamp}{body.signature.token}',
    }
    const body = (changes: object = {}) =>
      JSON.stringify({ signature: { ...proof, ...changes }, event: 'opened' })
    assert.equal(refusalOf(fields, {}, { body: body() }), undefined)
    assert.match(refusalOf(fields, {}, { body: body({ token: 'other' }) }) ?? '', /does not match/)
    assert.match(
      refusalOf(fields, {}, { body: body({ timestamp: Number(SECONDS) - 400 }) }) ?? '',
      /400 s old, more than the allowed 300 s/,
    )
    assert.match(
      refusalOf(fields, {}, { body: body({ token: '' }) }) ?? '',
      /field signature.token of the body is missing/,
    )
    assert.match(
      refusalOf(fields, {}, { body: '{}' }) ?? '',
      /field signature.signature of the body is missing/,
    )
    assert.match(refusalOf(fields, { 'content-encoding': 'gzip' }, { body: body() }) ?? '', /is missing/)
  })

  test('a signature, a time and a token in a form', () => {
    const form = new URLSearchParams({ signature: sum(`${SECONDS}tok`), timestamp: SECONDS, token: 'tok' })
    const flat = { field: 'signature', 'timestamp-field': 'timestamp', template: '{timestamp}{body.token}' }
    const type = { 'content-type': 'application/x-www-form-urlencoded' }
    assert.equal(refusalOf(flat, type, { body: String(form) }), undefined)
  })

  test('fields that may be missing, marked by ?', () => {
    const optional = { header: 'x', template: '{body.a?}:{body.id}:{header.y?}' }
    assert.equal(refusalOf(optional, { x: sum(':1:') }), undefined)
    assert.match(
      refusalOf({ ...optional, template: '{body.a}:{body.id}' }, { x: sum(':1') }) ?? '',
      /field a of the body is missing/,
    )
  })

  test('a time in the signed body, as Linear sends it', () => {
    const linear = { header: 'x', 'timestamp-field': 'proof.at' }
    assert.equal(refusalOf(linear, { x: sum(BODY) }), undefined)
  })

  test('the address, path, method and headers in the signed text', () => {
    const all = { header: 'x', template: '{method} {url} {path} {header.X-Id}\n{body}' }
    const url = '/hooks/a?b=c%20d'
    const text = `POST https://hooks.example.com${url} ${url} 7\n${BODY}`
    assert.equal(refusalOf(all, { x: sum(text), 'x-id': '7' }, { url }), undefined)
    assert.match(refusalOf(all, { x: sum(text) }, { url }) ?? '', /the header x-id is missing/)
    for (const change of [{ url: '/hooks/a?b=c' }, { url, method: 'PUT' }]) {
      assert.match(refusalOf(all, { x: sum(text), 'x-id': '7' }, change) ?? '', /does not match/)
    }
    const explicit = { header: 'x', template: '{body}{url}', url: 'https://other.example/in' }
    assert.equal(
      refusalOf(explicit, { x: sum(`${BODY}https://other.example/in?a=1`) }, { url: '/hooks/a?a=1' }),
      undefined,
    )
  })

  test('secrets as providers show them: text, hex, base64, with whsec_ and v1,whsec_', () => {
    const key = Buffer.from('0123456789abcdef0123456789abcdef', 'hex')
    const base64 = key.toString('base64')
    const x = sum(BODY, 'hex', key)
    for (const secret of [base64, `whsec_${base64}`, `v1,whsec_${base64}`, ` ${base64}\n`]) {
      assert.equal(refusalOf({ header: 'x', secret, 'secret-encoding': 'base64' }, { x }), undefined, secret)
    }
    assert.equal(
      refusalOf({ header: 'x', secret: key.toString('hex'), 'secret-encoding': 'hex' }, { x }),
      undefined,
    )
    assert.equal(
      refusalOf({ header: 'x', secret: 'whsec_abc' }, { x: sum(BODY, 'hex', 'whsec_abc') }),
      undefined,
    )
  })

  test('each algorithm in each encoding', () => {
    for (const algorithm of ['sha1', 'sha256', 'sha384', 'sha512']) {
      for (const encoding of ['hex', 'base64', 'base64url'] as const) {
        const x = sum(BODY, encoding, SECRET, algorithm)
        assert.equal(
          refusalOf(
            { header: 'x', algorithm, encoding, prefix: `${algorithm}=` },
            { x: `${algorithm}=${x}` },
          ),
          undefined,
        )
        if (encoding !== 'hex')
          assert.equal(
            refusalOf({ header: 'x', algorithm, encoding }, { x: x.replace(/=+$/, '') }),
            undefined,
          )
      }
    }
  })
})

describe('verify: hmac gives the reason for a refusal:', () => {
  const timed = { header: 'X-Sig', prefix: 'v1=', 'timestamp-prefix': 't=', template: '{timestamp}.{body}' }
  const cases: [fault: string, options: object, headers: Record<string, string>, reason: RegExp][] = [
    ['no header', timed, {}, /the header x-sig is missing/],
    ['another prefix', timed, { 'x-sig': `t=${SECONDS},v2=00` }, /no signature that begins with "v1="/],
    ['no time', timed, { 'x-sig': `v1=${sum(BODY)}` }, /its timestamp is missing/],
    [
      'an old time',
      timed,
      { 'x-sig': `t=${Number(SECONDS) - 421},v1=00` },
      /421 s old, more than the allowed 300 s: compare the clocks/,
    ],
    [
      'a time ahead',
      timed,
      { 'x-sig': `t=${Number(SECONDS) + 3600},v1=00` },
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
    ['three wrong ones', { header: 'x' }, { x: [1, 2, 3].map((n) => sum(`${n}`)).join(',') }, /none of 3/],
  ]
  for (const [fault, options, headers, expected] of cases) {
    test(fault, () => {
      const reason = refusalOf(options, headers)
      assert.match(reason ?? '', expected)
      assert.doesNotMatch(reason ?? '', new RegExp(`${SECRET}|${sum(BODY)}`))
    })
  }
})

describe('verify: hmac with a signed address', () => {
  test('needs the public URL in the configuration, and does not trust headers of proxies', async () => {
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
  const cases: [fault: string, options: object, signature: string, advice: RegExp][] = [
    ['quotes', {}, `"${hex}"`, /the header x-sig has its signature in quotes/],
    ['quotes after a prefix', { prefix: 'v1=' }, `"v1=${hex}"`, /has its signature in quotes/],
    ['a prefix', {}, `sha256=${hex}`, /set `prefix: sha256=`/],
    ['a prefix of base64', { encoding: 'base64' }, `v1=${base64}`, /set `prefix: v1=`/],
    ['a prefix with a colon', {}, `HMAC:${hex}`, /set `prefix: HMAC:`/],
    ['another prefix', { prefix: 'v1=' }, `v0=${hex}`, /no signature that begins with "v1="/],
    ['nothing but separators', {}, ';;', /the header x-sig has no signature$/],
    ['another signature', {}, 'ab'.repeat(32), /does not match/],
  ]
  for (const [fault, more, signature, expected] of cases) {
    test(fault, async () => {
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

describe('verify: hmac of a hash of the body', () => {
  const hash = createHash('sha256').update(BODY)

  test('reads the hash in hex or as bytes, with the time and the address', () => {
    const hex = hash.copy().digest('hex')
    const options = { header: 'x', 'timestamp-header': 'time', template: '{timestamp}.{url}.{body-sha256}' }
    const signed = `${SECONDS}.https://hooks.example.com/hooks/a.${hex}`
    assert.equal(refusalOf(options, { x: sum(signed), time: SECONDS }), undefined)
    assert.match(
      refusalOf(options, { x: sum(signed), time: SECONDS }, { body: '{}' }) ?? '',
      /does not match/,
    )
    const bird = { ...options, encoding: 'base64', template: '{timestamp}\n{url}\n{body-sha256-raw}' }
    const bytes = Buffer.concat([
      Buffer.from(`${SECONDS}\nhttps://hooks.example.com/hooks/a\n`),
      hash.copy().digest(),
    ])
    const x = createHmac('sha256', SECRET).update(bytes).digest('base64')
    assert.equal(refusalOf(bird, { x, time: SECONDS }), undefined)
    assert.match(refusalOf(bird, { x, time: SECONDS }, { body: '{}' }) ?? '', /does not match/)
  })
})

describe('verify: public-key', () => {
  const pem = (key: KeyObject) => String(key.export({ type: 'spki', format: 'pem' }))
  const der = (key: KeyObject) => key.export({ type: 'spki', format: 'der' }).toString('base64')

  test('accepts signatures by RSA, ECDSA and Ed25519 keys', () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const ed = generateKeyPairSync('ed25519')
    const raw = Buffer.from(String(ed.publicKey.export({ format: 'jwk' }).x), 'base64url')
    const template = '{timestamp}|{body}'
    const signed = Buffer.from(`${SECONDS}|${BODY}`)
    for (const [secret, key, algorithm] of [
      [pem(rsa.publicKey), rsa.privateKey, 'sha256'],
      [der(ec.publicKey), ec.privateKey, 'sha256'],
      [pem(ed.publicKey), ed.privateKey, null],
      [raw.toString('base64'), ed.privateKey, null],
      [raw.toString('hex'), ed.privateKey, null],
    ] as const) {
      const options = { scheme: 'public-key', secret, header: 'x', 'timestamp-header': 'time', template }
      const x = sign(algorithm, signed, key).toString('base64')
      assert.equal(refusalOf(options, { x, time: SECONDS }), undefined)
      assert.match(refusalOf(options, { x, time: SECONDS }, { body: '{}' }) ?? '', /does not match/)
      assert.match(refusalOf(options, { x, time: String(Number(SECONDS) - 600) }) ?? '', /600 s old/)
      assert.match(refusalOf(options, { time: SECONDS }) ?? '', /is missing/)
    }
  })

  test('refuses a key that it cannot read, in the configuration', () => {
    const options = { scheme: 'public-key', header: 'x' }
    for (const secret of ['shared', 'AAAA', '-----BEGIN PUBLIC KEY-----'])
      assert.equal(verify.safeParse({ ...options, secret }).success, false, secret)
  })
})
