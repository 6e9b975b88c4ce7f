import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, test } from 'node:test'
import { Webhooks } from '@octokit/webhooks'
import { Webhook } from 'standardwebhooks'
import Stripe from 'stripe'
import { silent } from '../../../src/core/log.ts'
import { createVerifier } from '../../../transports/deliveries/verifier.ts'
import { verify } from '../../../transports/deliveries/verify.ts'
import fc from '../../fixtures/fast-check.ts'
import { inTime } from '../../fixtures/in-time.ts'

const NOW = Date.UTC(2026, 10, 21)
const BODY = '{"id":"evt_1","object":"event","text":"grüße 🌍"}'
const whsec = `whsec_${Buffer.from('a secret of the standard kind').toString('base64')}`
const otherWhsec = `whsec_${Buffer.from('another one').toString('base64')}`

const seconds = (at: number) => String(Math.floor(at / 1000))
const hmac = (secret: string, text: string, encoding: 'hex' | 'base64' = 'hex') =>
  createHmac('sha256', secret).update(text).digest(encoding)

type Headers = Record<string, string>
type Scheme = {
  /** Options of `verify`. By default, the scheme is the name of the entry. */
  options?: object
  secrets?: [string, string]
  timed?: true
  /** Signs by the provider's own library, or by its documentation if it has none. */
  sign(secret: string, body: string, at: number): Promise<Headers> | Headers
}

const schemes: Record<string, Scheme> = {
  github: {
    sign: async (secret, body) => ({ 'x-hub-signature-256': await new Webhooks({ secret }).sign(body) }),
  },
  stripe: {
    timed: true,
    sign(secret, payload, at) {
      const timestamp = Math.floor(at / 1000)
      return { 'stripe-signature': Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp }) }
    },
  },
  'standard-webhooks': {
    secrets: [whsec, otherWhsec],
    timed: true,
    sign: (secret, body, at) => ({
      'webhook-id': 'msg_1',
      'webhook-timestamp': seconds(at),
      'webhook-signature': new Webhook(secret).sign('msg_1', new Date(at), body),
    }),
  },
  slack: {
    timed: true,
    sign: (secret, body, at) => ({
      'x-slack-request-timestamp': seconds(at),
      'x-slack-signature': `v0=${hmac(secret, `v0:${seconds(at)}:${body}`)}`,
    }),
  },
  zendesk: {
    timed: true,
    sign(secret, body, at) {
      const time = new Date(at).toISOString().replace('.000Z', 'Z')
      const header = 'x-zendesk-webhook-signature'
      return { [`${header}-timestamp`]: time, [header]: hmac(secret, time + body, 'base64') }
    },
  },
  bitbucket: { sign: (secret, body) => ({ 'x-hub-signature': `sha256=${hmac(secret, body)}` }) },
  sentry: { sign: (secret, body) => ({ 'sentry-hook-signature': hmac(secret, body) }) },
  shopify: { sign: (secret, body) => ({ 'x-shopify-hmac-sha256': hmac(secret, body, 'base64') }) },
  'hmac, plain': {
    options: { scheme: 'hmac', header: 'X-Sig', algorithm: 'sha1', encoding: 'base64' },
    sign: (secret, body) => ({ 'x-sig': createHmac('sha1', secret).update(body).digest('base64') }),
  },
  'hmac, with a time': {
    options: {
      scheme: 'hmac',
      header: 'x-sig',
      algorithm: 'sha512',
      encoding: 'base64url',
      prefix: 'v9=',
      'timestamp-header': 'X-Time',
      template: '{header.x-id}|{timestamp}|{body}|end',
    },
    timed: true,
    sign(secret, body, at) {
      const digest = createHmac('sha512', secret).update(`7|${at}|${body}|end`).digest('base64url')
      return { 'x-id': '7', 'x-time': String(at), 'x-sig': `v9=${digest}` }
    },
  },
}

/** The reason for which a delivery is refused; undefined if it is accepted. */
function refusalOf(
  options: object,
  secret: string | string[],
  headers: Record<string, string>,
  body: string | Buffer,
) {
  const verifier = createVerifier(verify.parse({ ...options, secret }), {
    gateway: 'test',
    now: () => NOW,
    log: silent,
  })
  const verdict = verifier.check({ method: 'POST', url: '/hooks/test', headers, raw: Buffer.from(body) })
  assert.ok(!(verdict instanceof Promise))
  return verdict
}

for (const [name, scheme] of Object.entries(schemes)) {
  const { options = { scheme: name }, secrets: [first, second] = ['one', 'two'], sign, timed } = scheme
  describe(`verify: ${name}`, () => {
    test('accepts each of two secrets, and no other', async () => {
      const headers = await sign(second, BODY, NOW)
      assert.equal(refusalOf(options, [first, second], headers, BODY), undefined)
      assert.equal(refusalOf(options, [second, first], headers, BODY), undefined)
      assert.match(refusalOf(options, first, headers, BODY) ?? '', /does not match/)
    })

    test('refuses a body that differs in white space, and a signature that is missing, empty or longer', async () => {
      const headers = await sign(first, BODY, NOW)
      assert.ok(refusalOf(options, first, headers, `${BODY} `))
      assert.ok(refusalOf(options, first, {}, BODY))
      for (const [header, value] of Object.entries(headers)) {
        assert.ok(refusalOf(options, first, { ...headers, [header]: '' }, BODY), `without ${header}`)
        assert.ok(
          refusalOf(options, first, { ...headers, [header]: `${value}abcd` }, BODY),
          `longer ${header}`,
        )
      }
    })

    test('refuses any other value of any of its headers, and never throws', async () => {
      const headers = await sign(first, BODY, NOW)
      const names = Object.keys(headers)
      fc.assert(
        fc.property(fc.constantFrom(...names), fc.string({ unit: 'binary' }), (header, value) => {
          fc.pre(value !== headers[header])
          assert.ok(refusalOf(options, first, { ...headers, [header]: value }, BODY))
        }),
      )
    })

    if (!timed) return
    test('refuses signatures more than five minutes in the past or the future', async () => {
      for (const shift of [-301_000, 301_000]) {
        assert.match(
          refusalOf(options, first, await sign(first, BODY, NOW + shift), BODY) ?? '',
          /is 301 s (old|ahead), more than/,
        )
      }
      for (const shift of [-299_000, 299_000]) {
        assert.equal(refusalOf(options, first, await sign(first, BODY, NOW + shift), BODY), undefined)
      }
      const old = await sign(first, BODY, NOW - 20_000)
      assert.ok(refusalOf({ ...options, tolerance: '10s' }, first, old, BODY))
    })
  })
}

test('verify: HMAC accepts secrets of any length', () => {
  for (const algorithm of ['sha256', 'sha1', 'sha512']) {
    for (const length of [1, 63, 64, 65, 127, 128, 129, 300]) {
      const secret = 'é'.repeat(length / 2) + 's'.repeat(length % 2)
      const signature = createHmac(algorithm, secret).update(BODY).digest('hex')
      assert.equal(
        refusalOf({ scheme: 'hmac', header: 'x', algorithm }, secret, { x: signature }, BODY),
        undefined,
      )
    }
  }
})

describe('verify: several signatures', () => {
  test('accepts a Stripe header with signatures by the old and the current secret', async () => {
    const timestamp = Math.floor(NOW / 1000)
    const signatureBy = (secret: string) =>
      Stripe.webhooks.generateTestHeaderString({ payload: BODY, secret, timestamp }).split(',')[1]
    const headers = { 'stripe-signature': `t=${timestamp},${signatureBy('old')},${signatureBy('new')}` }
    assert.equal(refusalOf({ scheme: 'stripe' }, 'new', headers, BODY), undefined)
    assert.ok(refusalOf({ scheme: 'stripe' }, 'third', headers, BODY))
  })

  test('accepts a Standard Webhooks header with several signatures, also under its svix names', () => {
    const sign = (secret: string) => new Webhook(secret).sign('m', new Date(NOW), BODY)
    const headers = {
      'svix-id': 'm',
      'svix-timestamp': String(NOW / 1000),
      'svix-signature': `v1a,xyz ${sign(otherWhsec)} ${sign(whsec)}`,
    }
    assert.equal(refusalOf({ scheme: 'standard-webhooks' }, whsec, headers, BODY), undefined)
  })
})

describe('verify: attacks', () => {
  test('a header with thousands of signatures is refused quickly', async () => {
    const headers = { 'stripe-signature': `t=${Math.floor(NOW / 1000)}${',v1='.repeat(3_500)}` }
    const large = 'x'.repeat(1_048_576)
    assert.ok(await inTime('a header', 1_000, () => refusalOf({ scheme: 'stripe' }, 's', headers, large)))
  })
})

describe('verify: credentials', () => {
  const basicOf = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` })

  test('bearer accepts each of its secrets, with any case of the word Bearer, and nothing else', () => {
    const options = { scheme: 'bearer' }
    const given = (authorization: string) => refusalOf(options, ['s3cret', 'next'], { authorization }, BODY)
    assert.equal(given('Bearer s3cret'), undefined)
    assert.equal(given('bearer next'), undefined)
    for (const bad of ['', 'Bearer', 'Bearer ', 'Bearer s3cre', 'Bearer s3crett', 'Basic s3cret', 's3cret']) {
      assert.ok(given(bad), bad)
    }
  })

  test('basic accepts its user with each of its secrets, and nothing else', () => {
    const given = (text: string) =>
      refusalOf({ scheme: 'basic', user: 'jo' }, ['a:b', 'ü'], basicOf(text), BODY)
    assert.equal(given('jo:a:b'), undefined)
    assert.equal(given('jo:ü'), undefined)
    for (const bad of ['jo:', 'jo:a', ':a:b', 'joa:b', 'Jo:ü', '']) assert.ok(given(bad), bad)
  })

  test('gitlab, telegram and header accept each of their secrets in their header, and nothing else', () => {
    const headers = {
      gitlab: 'x-gitlab-token',
      telegram: 'x-telegram-bot-api-secret-token',
      header: 'x-mine',
    }
    for (const [scheme, header] of Object.entries(headers)) {
      const options = scheme === 'header' ? { scheme, header: 'X-Mine' } : { scheme }
      const given = (value: string) => refusalOf(options, ['one', 'two'], { [header]: value }, BODY)
      assert.deepEqual([given('one'), given('two')], [undefined, undefined])
      for (const bad of ['', 'on', 'one ', 'three']) assert.ok(given(bad), bad)
      assert.ok(refusalOf(options, 'one', {}, BODY))
    }
  })
})

test('verify: the configuration refuses options that cannot work, with the missing or wrong option', () => {
  const bad: [options: object, reason?: RegExp][] = [
    [{ scheme: 'github', secret: '' }],
    [{ scheme: 'github', secret: [] }],
    [{ scheme: 'github' }],
    [{ scheme: 'github', secret: 'x', tolerance: '5m' }],
    [{ scheme: 'hmac', secret: 'x', header: 'h', template: 'nothing' }],
    [{ scheme: 'hmac', secret: 'x', header: 'h', template: '{timestamp}{body}' }],
    [{ scheme: 'standard', secret: 'x' }],
    [{ scheme: 'standard-webhooks', secret: 'whsec_' }],
    [{ scheme: 'standard-webhooks', secret: [whsec, 'not base64!'] }],
    [{ scheme: 'microsoft-graph' }, /clientState/],
    [{ scheme: 'meta', secret: 'x' }, /verify-token/],
    [{ scheme: 'twilio', secret: 'x', url: 'mycompany.com' }, /url: https:/],
    [{ scheme: 'hmac', secret: 'x' }, /header or field/],
    [{ scheme: 'hmac', secret: 'x', header: 'h', field: 'f' }, /header or field/],
    [{ scheme: 'hmac', secret: 'x', header: 'h', template: '{body}{bodi}' }, /no \{bodi\}; known: \{body\}/],
    [{ scheme: 'hmac', secret: 'x', header: 'h', 'secret-encoding': 'hex' }, /in hex/],
    [{ scheme: 'jwt' }, /secret, public-key and jwks/],
    [{ scheme: 'jwt', secret: 'x', jwks: 'https://a.b/c' }, /secret, public-key and jwks/],
    [{ scheme: 'jwt', jwks: 'https://a.b/c', issuer: 'https://a.b' }, /needs audience/],
    [{ scheme: 'jwt', 'public-key': 'x' }, /public key/],
    [{ scheme: 'sns' }, /ARN of your topic/],
    [{ scheme: 'sns', topic: 'my-topic' }, /arn:aws:sns/],
    [{ scheme: 'square', secret: 'x', url: 'https://example.com/hook?a=1' }, /without \?/],
    [{ scheme: 'sendgrid', secret: 'SG.key' }, /public key/],
    [{ scheme: 'discord', secret: 'abc' }, /public key/],
    [{ scheme: 'mailgun' }, /signing key/],
  ]
  for (const [options, reason = /./] of bad) {
    assert.match(verify.safeParse(options).error?.message ?? '', reason, JSON.stringify(options))
  }
})
