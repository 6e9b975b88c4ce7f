import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { describe, test } from 'node:test'
import { SignJWT } from 'jose'
import { PRESETS } from '../../../transports/deliveries/presets.ts'
import { createSenderFinder, proofOf } from '../../../transports/webhook/proof.ts'
import { json, startWebhook } from './harness.ts'

const SECRET = 'a secret that is shared'
const hmac = (text: string) => createHmac('sha256', SECRET).update(text).digest('hex')
const BODY = '{"user":"ada","other":"eve"}'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

const signed = (template: string, text: string, more: object = {}) => ({
  options: { verify: { scheme: 'hmac', secret: SECRET, header: 'X-Sig', template, ...more } },
  headers: { 'x-sig': hmac(text) },
})
const shared = {
  options: { verify: { scheme: 'header', header: 'X-Token', secret: SECRET } },
  headers: { 'x-token': SECRET },
}
const user = { 'x-user': 'ada' }
const url = 'https://hooks.example.com/hooks/test'

async function byToken(claims: object) {
  const token = await new SignJWT({ ...claims, exp: Date.now() / 1000 + 60 })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(Buffer.from(SECRET))
  return { authorization: `Bearer ${token}` }
}

type Case = [
  name: string,
  given: { options: object; headers: Record<string, string> },
  from: string | undefined,
  expected: [id: string, verified: true | undefined],
]

const cases: Case[] = [
  ['a signed body', signed('{body}', BODY), 'data.body.user', ['ada', true]],
  ['a header beside a signed body', signed('{body}', BODY), 'header.x-user', ['ada', undefined]],
  ['the same by data.headers', signed('{body}', BODY), 'data.headers.x-user', ['ada', undefined]],
  ['a query beside a signed body', signed('{body}', BODY), 'data.query.user', ['ada', undefined]],
  ['a signed header', signed('{header.X-User}.{body}', `ada.${BODY}`), 'header.x-user', ['ada', true]],
  [
    'a signed query',
    signed('{path}.{body}', `/hooks/test?user=ada.${BODY}`),
    'data.query.user',
    ['ada', true],
  ],
  [
    'a query in a signed address',
    signed('{url}{body}', `${url}?user=ada${BODY}`, { url }),
    'data.query.user',
    ['ada', true],
  ],
  ['a signed field', signed('{body.user}', 'ada'), 'data.body.user', ['ada', true]],
  ['a field beside a signed one', signed('{body.user}', 'ada'), 'data.body.other', ['eve', undefined]],
  ['the peer of a signed body', signed('{body}', BODY), undefined, ['127.0.0.1', true]],
  ['the peer of a signed field', signed('{body.user}', 'ada'), undefined, ['127.0.0.1', undefined]],
  ['a body with a shared secret', shared, 'data.body.user', ['ada', true]],
  ['a header with a shared secret', shared, 'header.x-user', ['ada', true]],
  ['no proof', { options: {}, headers: {} }, 'data.body.user', ['ada', undefined]],
]

describe('a sender is verified only if the signature covers the field that names them:', () => {
  for (const [name, { options, headers }, from, [id, verified]] of cases) {
    test(name, async () => {
      const hook = await startWebhook({ ...options, ...(from && { from }) })
      const { status } = await hook.post(BODY, { ...json, ...user, ...headers }, '?user=ada')
      assert.equal(status, 202)
      assert.deepEqual([hook.last().from.id, hook.last().from.verified], [id, verified])
    })
  }

  test('an element of a signed list is covered, but not one beside a signed field', async () => {
    const list = '{"id":"1","events":[{"user":"ada"}]}'
    const ways = [
      { ...signed('{body}', list), isSigned: true },
      { ...signed('{body.id}', '1'), isSigned: false },
    ]
    for (const { options, headers, isSigned } of ways) {
      for (const [from, isHeader] of [
        ['user', false],
        ['data.body.user', false],
        ['header.x-user', true],
      ] as const) {
        const hook = await startWebhook({ ...options, split: 'data.body.events', from })
        assert.equal((await hook.post(list, { ...json, ...user, ...headers })).status, 202)
        assert.equal(hook.last().from.id, 'ada')
        assert.equal(hook.last().from.verified, isSigned && !isHeader ? true : undefined, from)
      }
    }
  })

  test('a body sent with a token is covered only if the token has its hash', async () => {
    const digest = createHash('sha256').update(BODY).digest('hex')
    for (const hashed of [true, false]) {
      const more = hashed ? { 'body-hash': 'digest' } : {}
      const hook = await startWebhook({
        verify: { scheme: 'jwt', secret: SECRET, ...more },
        from: 'data.body.user',
      })
      const { status } = await hook.post(BODY, { ...json, ...(await byToken({ digest })) })
      assert.equal(status, 202)
      assert.deepEqual(hook.last().from, hashed ? { id: 'ada', verified: true } : { id: 'ada' })
    }
  })

  test('no field of a mail from Mailgun is covered, since it signs only a token', async () => {
    const timestamp = String(Math.floor(Date.now() / 1000))
    for (const from of [undefined, 'data.body.from', 'data.body.recipient', 'header.x-user']) {
      const token = `t${from}`
      const fields = { sender: 'boss@example.com', from: 'boss@example.com', recipient: 'boss@example.com' }
      const proof = { timestamp, token, signature: hmac(timestamp + token) }
      const hook = await startWebhook({
        verify: { scheme: 'mailgun', secret: SECRET },
        ...(from && { from }),
      })
      const body = String(new URLSearchParams({ ...fields, ...proof }))
      assert.equal((await hook.post(body, { ...FORM, 'x-user': 'boss@example.com' })).status, 200)
      assert.deepEqual(hook.last().from, { id: 'boss@example.com' })
    }
  })

  test('the default fields of each preset are covered, except for Mailgun and the shop of Shopify', () => {
    const unproven: string[] = []
    for (const [name, preset] of Object.entries(PRESETS)) {
      const options = { scheme: name, secret: 'one', url: 'https://a.example/b', 'verify-token': 'one' }
      const proof = proofOf(Object(options), preset)
      const find = createSenderFinder(proof)
      const headers = { 'x-shopify-shop-domain': 'ada' }
      const sender = find('id header.x-shopify-shop-domain', 'body')({ headers, body: { id: '1' }, text: '' })
      assert.equal(sender?.id, '1')
      if (!sender.isProven) unproven.push(name)
      const shop = find('header.x-shopify-shop-domain', 'body')({ headers, text: '' })
      const isSecret = /gitlab|telegram|microsoft-graph/.test(name)
      assert.equal(shop?.isProven, isSecret, name)
    }
    assert.deepEqual(unproven, ['mailgun'])
  })
})
