import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, test } from 'node:test'
import { webhookOptions } from '../../../transports/webhook/config.ts'
import { json, startWebhook } from './harness.ts'

const SECRET = 'shared'
const verify = { scheme: 'hmac', header: 'X-Signature', secret: SECRET }
const sum = (text: string, encoding: 'hex' | 'base64') =>
  createHmac('sha256', SECRET).update(text).digest(encoding)

type Check = {
  challenge: object
  query?: string
  headers?: Record<string, string>
  method?: string
  body?: string
}

/** Sends the challenge to a gateway with this option. */
async function ask({ challenge, query = '', headers = {}, method = 'GET', body }: Check) {
  const { hook, store } = await startWebhook({ verify, challenge })
  const response = await fetch(hook + query, { method, headers, ...(body !== undefined && { body }) })
  const type = response.headers.get('content-type')
  return {
    status: response.status,
    type,
    text: await response.text(),
    headers: response.headers,
    calls: store.acceptCalls,
  }
}

describe('a challenge', () => {
  // As Dropbox, Onfleet, X, LinkedIn, Strava, Okta, Smartsheet, monday.com and RingCentral send
  // them.
  const cases: [place: string, check: Check, text: string][] = [
    ['a query', { challenge: { at: 'query.challenge' }, query: '?challenge=a%20b' }, 'a b'],
    ['a query with another name', { challenge: { at: 'query.check' }, query: '?check=x1' }, 'x1'],
    [
      'a query with a token',
      {
        challenge: {
          at: 'query.hub.challenge',
          when: { 'query.hub.mode': 'subscribe', 'query.hub.verify_token': 'STRAVA' },
          answer: { 'hub.challenge': '{value}' },
        },
        query: '?hub.mode=subscribe&hub.verify_token=STRAVA&hub.challenge=15f7d1a91c1f40f8',
      },
      '{"hub.challenge":"15f7d1a91c1f40f8"}',
    ],
    [
      'a query, with a signature in base64 as the answer',
      {
        challenge: { at: 'query.crc_token', answer: { response_token: 'sha256={hmac-base64}' } },
        query: '?crc_token=MTIz',
      },
      JSON.stringify({ response_token: `sha256=${sum('MTIz', 'base64')}` }),
    ],
    [
      'a query, with a signature in hex as the answer',
      {
        challenge: {
          at: 'query.challengeCode',
          answer: { challengeCode: '{value}', challengeResponse: '{hmac-hex}' },
        },
        query: '?challengeCode=890e4665-4dfe-4ab1',
      },
      JSON.stringify({
        challengeCode: '890e4665-4dfe-4ab1',
        challengeResponse: sum('890e4665-4dfe-4ab1', 'hex'),
      }),
    ],
    [
      'a header',
      {
        challenge: { at: 'header.X-Okta-Verification-Challenge', answer: { verification: '{value}' } },
        headers: { 'x-okta-verification-challenge': 'abc' },
      },
      '{"verification":"abc"}',
    ],
    [
      'a body',
      {
        challenge: { at: 'data.body.challenge', answer: { challenge: '{value}' } },
        method: 'POST',
        headers: json,
        body: '{"challenge":"abc"}',
      },
      '{"challenge":"abc"}',
    ],
    [
      'an element of a body: Azure Event Grid',
      {
        challenge: { at: 'data.body.0.data.validationCode', answer: { validationResponse: '{value}' } },
        method: 'POST',
        headers: json,
        body: JSON.stringify([
          {
            eventType: 'Microsoft.EventGrid.SubscriptionValidationEvent',
            data: { validationCode: '512d38b6-c7b8', validationUrl: 'https://example.org/validate' },
          },
        ]),
      },
      '{"validationResponse":"512d38b6-c7b8"}',
    ],
    [
      'a body, with a fixed answer: VK',
      {
        challenge: { at: 'data.body.group_id', when: { 'data.body.type': 'confirmation' }, answer: '2d8b1f' },
        method: 'POST',
        headers: json,
        body: '{"type":"confirmation","group_id":1}',
      },
      '2d8b1f',
    ],
  ]
  for (const [place, check, text] of cases) {
    test(`in ${place} is answered without a signature, and is not accepted as a message`, async () => {
      const answer = await ask(check)
      assert.deepEqual([answer.status, answer.text, answer.calls], [200, text, 0])
      assert.match(answer.type ?? '', text.startsWith('{') ? /json/ : /text\/plain/)
      assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
    })
  }

  test('in a header is echoed in a header', async () => {
    const challenge = { at: 'header.X-Hook-Secret', header: 'X-Hook-Secret', answer: '' }
    const answer = await ask({ challenge, method: 'POST', headers: { 'x-hook-secret': 's3' }, body: '' })
    assert.deepEqual([answer.status, answer.text, answer.headers.get('x-hook-secret')], [200, '', 's3'])
  })

  test('with a wrong token, or without a safe value, is not answered', async () => {
    const challenge = { at: 'query.c', when: { 'query.token': 'right' } }
    assert.equal((await ask({ challenge, query: '?c=1&token=wrong' })).status, 405)
    assert.equal((await ask({ challenge, query: '?c=1' })).status, 405)
    assert.equal((await ask({ challenge, query: '?token=right' })).status, 405)
    assert.equal((await ask({ challenge, query: '?token=right&c=a%0d%0ab' })).status, 405)
    assert.equal((await ask({ challenge, query: `?token=right&c=${'a'.repeat(1001)}` })).status, 405)
    assert.equal((await ask({ challenge, query: '?token=right&c=1' })).text, '1')
  })

  test('that could be a delivery is not signed', async () => {
    const challenge = { at: 'query.crc', answer: '{hmac-hex}' }
    for (const forged of ['{"id":1}', '[1]', 'a=b', 'two words', '%7B'])
      assert.equal(
        (await ask({ challenge, query: `?crc=${encodeURIComponent(forged)}` })).status,
        405,
        forged,
      )
  })

  test('in a body does not affect deliveries, which still need their signature', async () => {
    const challenge = { at: 'data.body.challenge', when: { 'data.body.type': 'url_verification' } }
    const { post, last, store } = await startWebhook({ verify, challenge })
    const body = '{"challenge":"abc","type":"event"}'
    assert.equal((await post(body, json)).status, 401)
    assert.equal((await post(body, { ...json, 'x-signature': sum(body, 'hex') })).status, 202)
    assert.deepEqual([Object(last().data.body).type, store.messages.length], ['event', 1])
  })

  test('without a way to answer it is a configuration error', () => {
    const parse = (more: object) => webhookOptions.safeParse({ path: '/x', ...more }).success
    assert.equal(parse({ challenge: { at: 'query.c', answer: '{hmac-hex}' } }), false)
    assert.equal(parse({ challenge: { at: 'challenge' } }), false)
    assert.equal(parse({ challenge: { at: 'query.c', when: { c: '1' } } }), false)
    assert.equal(parse({ challenge: { at: 'query.c', answer: '{hmac-hex}' }, verify }), true)
  })
})
