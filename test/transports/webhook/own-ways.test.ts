// Options for senders with special needs: other methods, a secret in the URL, a fixed answer, a key
// of several fields.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { request } from 'node:http'
import { describe, test } from 'node:test'
import { webhookOptions } from '../../../transports/webhook/config.ts'
import { until } from '../../fixtures/until.ts'
import { json, startWebhook } from './harness.ts'

/** The status of the response to a request with these headers, which `fetch` does not allow. */
function statusOf(url: string, method: string, headers: Record<string, string> = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    request(url, { method, headers }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
      .once('error', reject)
      .end()
  })
}

describe('the option answer', () => {
  const soap =
    '<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"><soapenv:Body><notificationsResponse xmlns="http://soap.sforce.com/2005/09/outbound"><Ack>true</Ack></notificationsResponse></soapenv:Body></soapenv:Envelope>'
  const cases: [sender: string, answer: unknown, status: number, type: string | null, body: string][] = [
    ['VK wants ok', 'ok', 200, 'text/plain; charset=utf-8', 'ok'],
    ['Xero wants nothing', { status: 200 }, 200, null, ''],
    ['GoCardless takes 204', { status: 204 }, 204, null, ''],
    ['an app wants JSON', { body: { code: 'SUCCESS' } }, 200, 'application/json', '{"code":"SUCCESS"}'],
    ['Salesforce wants SOAP', { headers: { 'content-type': 'text/xml' }, body: soap }, 200, 'text/xml', soap],
  ]
  for (const [sender, answer, status, type, body] of cases)
    test(`sets the response: ${sender}`, async () => {
      const { hook, store } = await startWebhook({ answer })
      const headers = { ...json, 'idempotency-key': 'one' }
      for (const _ of ['first', 'repeated']) {
        const response = await fetch(hook, { method: 'POST', body: '{"a":1}', headers })
        assert.deepEqual(
          [response.status, response.headers.get('content-type'), await response.text()],
          [status, type, body],
        )
      }
      assert.equal(store.messages.length, 1)
    })

  test('must be a success, and is not sent to a refused delivery', async () => {
    const faults = (answer: unknown) => webhookOptions.safeParse({ path: '/x', answer }).error?.issues.length
    for (const answer of [
      { status: 500 },
      { status: 302 },
      { status: 204, body: 'x' },
      { headers: { host: 'x' } },
    ])
      assert.equal(faults(answer), 1, JSON.stringify(answer))
    const { post } = await startWebhook({ answer: 'ok', verify: { scheme: 'bearer', secret: 's' } })
    assert.equal((await post('{}')).status, 401)
  })
})

describe('JSON in a field of a form', () => {
  test('is the body, and can be split', async () => {
    const { post, store } = await startWebhook({
      body: 'form.mandrill_events',
      split: 'data.body',
      key: ['_id', 'event'],
    })
    // As Mandrill posts events.
    const events = [
      { event: 'send', _id: 'm1', ts: 1 },
      { event: 'open', _id: 'm1', ts: 2 },
    ]
    const form = new URLSearchParams({ mandrill_events: JSON.stringify(events) })
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    assert.equal((await post(form.toString(), headers)).status, 202)
    assert.deepEqual(
      store.messages.map(({ data, key }) => [data.event, data.body, key]),
      events.map((event) => [event.event, event, JSON.stringify([event._id, event.event])]),
    )
    assert.equal((await post('mandrill_events=%5B%5D', headers)).status, 200)
    const broken = await post('mandrill_events=nothing', headers)
    assert.equal(broken.status, 400)
    assert.match(broken.body.error?.message ?? '', /the field mandrill_events of its form/)
    // Without the field, the form is the body.
    assert.equal((await post('hello=ping', headers)).status, 202)
    assert.deepEqual(store.messages.at(-1)?.data.body, { hello: 'ping' })
  })

  test('can be signed as it was sent, and nothing else in the delivery passes for it', async () => {
    const { post, store } = await startWebhook({
      body: 'form.mandrill_events',
      verify: { scheme: 'hmac', header: 'x-sign', template: '{body.mandrill_events}', secret: 'key' },
    })
    const text = '[{"event": "send"}]'
    const proof = { 'x-sign': createHmac('sha256', 'key').update(text).digest('hex') }
    const form = { ...proof, 'content-type': 'application/x-www-form-urlencoded' }
    const field = new URLSearchParams({ mandrill_events: text }).toString()
    const evil = new URLSearchParams({ mandrill_events: '[{"event":"evil"}]' }).toString()
    const payload = new URLSearchParams({ payload: JSON.stringify({ mandrill_events: text }) }).toString()
    assert.equal((await post(field, form)).status, 202)
    for (const body of [evil, `${field}&${evil}`, `${evil}&${field}`, `${payload}&${evil}`])
      assert.equal((await post(body, form)).status, 401, body)
    const asJson = await post(JSON.stringify({ a: `&${field}&` }), { ...json, ...proof })
    assert.equal(asJson.status, 401)
    assert.equal(store.messages.length, 1)
  })

  test('may contain the signature', async () => {
    const { hook, last } = await startWebhook({
      body: 'form.json',
      answer: 'Hello API Event Received',
      verify: {
        scheme: 'hmac',
        field: 'event.event_hash',
        template: '{body.event.event_time}{body.event.event_type}',
        secret: 'api-key',
      },
      key: '#',
    })
    // As Dropbox Sign posts an event: multipart, signed with the API key.
    const send = async (secret: string) => {
      const event = { event_time: '1795860000', event_type: 'signature_request_signed' }
      const event_hash = createHmac('sha256', secret)
        .update(event.event_time + event.event_type)
        .digest('hex')
      const body = new FormData()
      body.set('json', JSON.stringify({ event: { ...event, event_hash } }))
      const response = await fetch(hook, { method: 'POST', body })
      return [response.status, await response.text()]
    }
    assert.deepEqual(await send('api-key'), [200, 'Hello API Event Received'])
    assert.equal(Object(last().data.body).event.event_type, 'signature_request_signed')
    assert.equal((await send('another'))[0], 401)
  })
})

describe('other methods', () => {
  test('are accepted if the gateway lists them', async () => {
    const { hook, last } = await startWebhook({
      methods: ['GET', 'POST', 'PUT'],
      text: 'data.query.text',
      from: 'data.query.msisdn',
      key: 'data.query.messageId',
    })
    // An SMS as Vonage delivers it by default.
    const sms = '?msisdn=447700900001&to=447700900000&messageId=0A0000001&text=Hello+you&type=text'
    assert.equal((await fetch(hook + sms)).status, 202)
    const { text, from, key, data } = last()
    assert.deepEqual([text, from.id, key, data.method], ['Hello you', '447700900001', '0A0000001', 'GET'])
    assert.equal((await fetch(hook, { method: 'PUT', body: '{"a":1}', headers: json })).status, 202)
    assert.deepEqual([last().data.body, last().data.method], [{ a: 1 }, 'PUT'])
    await fetch(hook, { method: 'POST', body: '{}' })
    assert.equal(last().data.method, undefined)
    const refused = await fetch(hook, { method: 'DELETE' })
    assert.deepEqual([refused.status, refused.headers.get('allow')], [405, 'GET, POST, PUT, HEAD, OPTIONS'])
  })

  test('answer a repeated GET with the stored reply, but not one with another query', async () => {
    const { hook, last, transport, store } = await startWebhook({
      methods: ['GET'],
      respond: 'result',
      key: 'data.query.id',
    })
    const ask = async (query: string) => Object(await (await fetch(`${hook}?${query}`)).json())
    const first = ask('id=7&name=ada')
    await until(() => store.messages.length > 0, 'the question')
    const { id, data } = last()
    const target = { body: String(Object(data.replyTarget).body) }
    const reply = { gateway: 'test', conversation: id, inReplyTo: id, target, text: 'for ada' }
    await transport.send({ key: `${id}:r:0`, ...reply })
    assert.equal((await first).reply, 'for ada')
    assert.equal((await ask('id=7&name=ada')).reply, 'for ada')
    store.settle(id, 'failed')
    const guessed = await ask('id=7&name=eve')
    assert.deepEqual([guessed.duplicate, guessed.reply], [true, undefined])
  })

  test('are refused to pictures and links of web pages, but not to scripts of pages on this machine', async () => {
    const { hook, store } = await startWebhook({ methods: ['GET'] })
    for (const site of ['cross-site', 'same-site'])
      assert.equal(await statusOf(hook, 'GET', { 'sec-fetch-site': site }), 403, site)
    assert.equal(store.acceptCalls, 0)
    // A page at `localhost`, while the gateway is at 127.0.0.1.
    const script = { 'sec-fetch-site': 'cross-site', origin: 'http://localhost:3000' }
    assert.equal(await statusOf(hook, 'GET', script), 202)
    for (const site of ['same-origin', 'none'])
      assert.equal(await statusOf(hook, 'GET', { 'sec-fetch-site': site }), 202, site)
  })
})

describe('scripts of web pages', () => {
  const origin = 'https://shop.example.com'
  const preflight = {
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'content-type,x-form',
  }

  test('can send JSON and read the response if the gateway lists their origin', async () => {
    const { hook, last } = await startWebhook({ origins: [origin, 'http://localhost:5173'] })
    const asked = await fetch(hook, { method: 'OPTIONS', headers: { origin, ...preflight } })
    const answers = (response: Response) =>
      ['origin', 'methods', 'headers', 'credentials'].map((name) =>
        response.headers.get(`access-control-allow-${name}`),
      )
    assert.deepEqual([asked.status, ...answers(asked)], [204, origin, 'POST', 'content-type,x-form', null])
    const sent = await fetch(hook, { method: 'POST', body: '{"a":1}', headers: { origin, ...json } })
    assert.deepEqual([sent.status, ...answers(sent)], [202, origin, null, null, null])
    assert.equal(sent.headers.get('vary'), 'Origin')
    assert.deepEqual(last().data.body, { a: 1 })
    // The script can read errors too.
    const broken = await fetch(hook, { method: 'POST', body: '{', headers: { origin, ...json } })
    assert.deepEqual([broken.status, ...answers(broken)], [400, origin, null, null, null])
  })

  test('are of a listed origin whatever its case: browsers send it in lower case', async () => {
    const { hook } = await startWebhook({ origins: ['https://Shop.example.com'] })
    const { status, headers } = await fetch(hook, { method: 'POST', body: 'x', headers: { origin } })
    assert.deepEqual([status, headers.get('access-control-allow-origin')], [202, origin])
  })

  test('of other origins are refused, and all are without the option `origins`', async () => {
    const { hook } = await startWebhook({ origins: [origin] })
    for (const other of [
      'https://evil.example',
      'null',
      `${origin}.evil.example`,
      'http://shop.example.com',
    ]) {
      const asked = await fetch(hook, { method: 'OPTIONS', headers: { origin: other, ...preflight } })
      assert.equal(asked.headers.get('access-control-allow-origin'), null, other)
      const sent = await fetch(hook, { method: 'POST', body: '{}', headers: { origin: other } })
      assert.deepEqual([sent.status, sent.headers.get('access-control-allow-origin')], [403, null], other)
    }
    const closed = await startWebhook()
    const asked = await fetch(closed.hook, { method: 'OPTIONS', headers: { origin, ...preflight } })
    assert.equal(asked.headers.get('access-control-allow-origin'), null)
  })

  test('of any origin, even of a local file, are accepted with `origins: ["*"]`', async () => {
    const { hook } = await startWebhook({ origins: ['*'], respond: 'accepted', methods: ['PUT'] })
    const asked = await fetch(hook, {
      method: 'OPTIONS',
      headers: { origin: 'null', ...preflight, 'access-control-request-headers': 'a\tb: c' },
    })
    assert.deepEqual(
      ['origin', 'methods', 'headers'].map((name) => asked.headers.get(`access-control-allow-${name}`)),
      ['*', 'PUT', null],
    )
    assert.equal((await fetch(hook, { method: 'PUT', body: '{}', headers: { origin: 'null' } })).status, 202)
  })

  test('are listed as origins, not as hosts or URLs of pages', () => {
    for (const wrong of [
      'shop.example.com',
      'https://shop.example.com/',
      'https://shop.example.com/page',
      '',
    ])
      assert.equal(webhookOptions.safeParse({ path: '/x', origins: [wrong] }).success, false, wrong)
  })
})

describe('a secret in the query', () => {
  const verify = { scheme: 'query', name: 'code', secret: ['s3cret', 'old'] }

  test('verifies the sender, and is not in the message', async () => {
    const { post, last } = await startWebhook({ verify, 'keep-original': true })
    assert.equal((await post('{"a":1}', json, '?code=s3cret&topic=x')).status, 202)
    assert.deepEqual([last().data.query, last().from.verified], [{ topic: 'x' }, true])
    assert.doesNotMatch(JSON.stringify(last()), /s3cret/)
    assert.equal((await post('{}', json, '?code=old')).status, 202)
  })

  test('must be there exactly once, in its own parameter', async () => {
    const { post, store } = await startWebhook({ verify })
    for (const query of [
      '',
      '?code=',
      '?code=S3CRET',
      '?token=s3cret',
      '?code=s3cret&code=x',
      '#code=s3cret',
    ])
      assert.equal((await post('{}', json, query)).status, 401, query)
    assert.equal((await post('{}', { ...json, code: 's3cret' })).status, 401)
    assert.equal(store.acceptCalls, 0)
  })
})

describe('a key of several fields', () => {
  test('distinguishes messages that differ in one of them', async () => {
    const { post, last, store } = await startWebhook({ key: ['data.body.id', 'data.body.state'] })
    const send = async (id: string, state?: string) =>
      (await post(JSON.stringify({ id, state }), json)).status
    assert.deepEqual(
      [await send('a', 'firing'), await send('a', 'resolved'), await send('a', 'firing')],
      [202, 202, 200],
    )
    assert.equal(last().key, '["a","resolved"]')
    assert.deepEqual([await send('a b', 'c'), await send('a', 'b c')], [202, 202])
    // If a field is missing, there is no key.
    assert.deepEqual([await send('a'), await send('a')], [202, 202])
    assert.equal(store.messages.length, 6)
  })

  test('is read from each element of a split list', async () => {
    const { post, store } = await startWebhook({ split: 'data.body.alerts', key: ['fingerprint', 'status'] })
    // As Alertmanager and Grafana post them.
    const alerts = [
      { fingerprint: 'f1', status: 'firing' },
      { fingerprint: 'f1', status: 'resolved' },
    ]
    await post(JSON.stringify({ alerts }), json)
    await post(JSON.stringify({ alerts: alerts.slice(1) }), json)
    assert.deepEqual(
      store.messages.map(({ key }) => key),
      ['["f1","firing"]', '["f1","resolved"]'],
    )
  })
})
