import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shownHeaders } from '../../src/engine/refused-headers.ts'

const HEX = 'ab'.repeat(32)

test('headers of refused deliveries are shown without credentials', () => {
  const shown = shownHeaders(
    {
      host: 'hooks.example.com',
      'user-agent': 'Stripe/1.0 (+https://stripe.com/docs/webhooks)',
      'content-type': 'application/json; charset=utf-8',
      'stripe-signature': `t=1764450000,v1=${HEX},v0=${HEX}`,
      'x-hub-signature-256': `sha256=${HEX}`,
      'x-shopify-hmac-sha256': `${Buffer.from(HEX).toString('base64')}`,
      'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
      'x-shopify-topic': 'orders/create',
      authorization: 'Bearer the-new-one',
      cookie: 'sid=1234',
      'x-gitlab-token': 'hunter2',
      'x-session-id': 'hunter2',
      // The header of `verify: { scheme: header }` may have any name.
      'x-my-hook': 'hunter2',
      'x-forwarded-for': ['192.0.2.1', '192.0.2.2'],
      // A proxy repeats the address, which may contain a token.
      'x-forwarded-uri': '/hook?token=hunter2',
      'x-request-id': 'with known-secret in it',
    },
    ['known-secret'],
  )
  assert.deepEqual(shown, {
    host: 'hooks.example.com',
    'user-agent': 'Stripe/1.0 (+https://stripe.com/docs/webhooks)',
    'content-type': 'application/json; charset=utf-8',
    'stripe-signature': 't=1764450000,v1=[64 characters],v0=[64 characters]',
    'x-hub-signature-256': 'sha256=[64 characters]',
    'x-shopify-hmac-sha256': '[88 characters]',
    'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
    'x-shopify-topic': 'orders/create',
    authorization: 'Bearer [11 characters]',
    cookie: '[8 characters]',
    'x-gitlab-token': '[7 characters]',
    'x-session-id': '[7 characters]',
    'x-my-hook': '[7 characters]',
    'x-forwarded-for': '192.0.2.1, 192.0.2.2',
    'x-forwarded-uri': '[19 characters]',
    'x-request-id': 'with [secret] in it',
  })
})

test('the configured header is shown without its secret, whatever its name', () => {
  const headers = { 'x-partner-id': 'hunter2', 'x-signature': `v1=${HEX}` }
  assert.equal(shownHeaders(headers, [], 'x-partner-id')['x-partner-id'], '[7 characters]')
  assert.equal(shownHeaders(headers, [], 'x-signature')['x-signature'], 'v1=[64 characters]')
})

test('of signature headers, only times, versions and labels are shown', () => {
  const shownAs = (value: string) => shownHeaders({ 'x-signature': value }, [])['x-signature']
  assert.equal(shownAs('v1 1764450000 c2lnbmF0dXJl'), 'v1 1764450000 [12 characters]')
  assert.equal(shownAs('hunter2'), '[7 characters]')
  assert.equal(shownAs('c2lnbg=='), '[8 characters]')
  assert.equal(shownAs('v1,c2lnbg== v1a,c2ln'), 'v1,[8 characters] [3 characters],[4 characters]')
})
