import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, test } from 'node:test'
import { isJsonObject } from '../../../src/core/json.ts'
import { decodeMessage, encodeMessage } from '../../../src/core/message.ts'
import { webhook } from '../../../transports/webhook/index.ts'
import { json, startWebhook } from './harness.ts'

const form = { 'content-type': 'application/x-www-form-urlencoded' }

describe('the message of a webhook delivery', () => {
  test('has the body unchanged as its text, and parsed JSON as its data', async () => {
    const { post, last } = await startWebhook()
    const body = '{ "a": [1, {"b": "ü"}],\n "big": 1e3 }'
    await post(body, json)
    assert.equal(last().text, body)
    assert.equal(last().data.format, 'json')
    assert.deepEqual(last().data.body, { a: [1, { b: 'ü' }], big: 1000 })
  })

  test('has the value of the pointer `text` as its text, or the whole body if there is no such value', async () => {
    const { post, last } = await startWebhook({ text: 'data.body.say' })
    const body = { say: 'yes', who: 'ada' }
    await post(JSON.stringify(body), json)
    const back = decodeMessage(last(), encodeMessage(last()))
    for (const message of [last(), back]) assert.deepEqual([message.text, message.data.body], ['yes', body])
    await post('{"who":"ada"}', json)
    assert.equal(decodeMessage(last(), encodeMessage(last())).text, '{"who":"ada"}')
  })

  test('keeps the digits of ids beyond 2^53, in data and in all fields, before and after it is stored', async () => {
    const { post, store, last } = await startWebhook({
      key: 'data.body.id',
      conversation: 'data.body.chat.id',
      from: 'data.body.user.id',
    })
    // Ids of TikTok, X, Discord and Shopify, each with its successor, which would be the same
    // number in JavaScript.
    for (const id of [7615917337495251231n, 1871609825485357264n, 175928847299117063n, 820982911946154508n]) {
      for (const each of [id, id + 1n]) {
        const body = `{"id":${each},"chat":{"id":-${each}},"user":{"id":${each}},"n":1}`
        assert.equal((await post(body, json)).status, 202, String(each))
        const back = decodeMessage(last(), encodeMessage(last()))
        for (const message of [last(), back]) {
          const { key, conversation, from, text, data } = message
          assert.deepEqual([key, conversation, from.id, text], [`${each}`, `test:-${each}`, `${each}`, body])
          assert.deepEqual(data.body, {
            id: `${each}`,
            chat: { id: `-${each}` },
            user: { id: `${each}` },
            n: 1,
          })
        }
      }
    }
    assert.equal(store.messages.length, 8)
    assert.equal((await post('{"id":7615917337495251231}', json)).body.duplicate, true)
  })

  test('has any JSON value as its body, also falsy ones and an empty object', async () => {
    const { post, last } = await startWebhook()
    for (const value of [null, false, 0, '', [], {}, 'text', '\ud800']) {
      assert.equal((await post(JSON.stringify(value), json)).status, 202)
      assert.deepEqual(last().data.body, value)
      assert.deepEqual(webhook.eventData(last()).body, value)
    }
  })

  test('has JSON that is sent as a form (curl) or without a type, but not JSON in other text', async () => {
    const { post, last } = await startWebhook()
    await post('{"a":1}', form)
    assert.deepEqual(last().data.body, { a: 1 })
    await post(Buffer.from('[1]'))
    assert.deepEqual(last().data.body, [1])
    for (const type of ['text/xml', 'text/csv']) {
      await post('{"a":1}', { 'content-type': type })
      assert.deepEqual([last().data.format, last().data.body], ['text', undefined])
    }
    await post('{not json', form)
    assert.equal(last().text, '{not json')
  })

  test('has the fields of a form, with repeated ones as lists, or the JSON of its field `payload`', async () => {
    const { post, last } = await startWebhook()
    await post('a=1&b=x+y&a=2&__proto__=z&%C3%BC=%F0%9F%8C%8D', form)
    const body = last().data.body
    assert.deepEqual(JSON.stringify(body), '{"a":["1","2"],"b":"x y","__proto__":"z","ü":"🌍"}')
    await post(`payload=${encodeURIComponent('{"action":"opened","sender":{"login":"octocat"}}')}`, form)
    assert.deepEqual(last().data.body, { action: 'opened', sender: { login: 'octocat' } })
    assert.equal(last().from.id, 'octocat')
  })

  test('has no byte order mark, and is decoded from other charsets', async () => {
    const { post, last } = await startWebhook()
    await post('\ufeff{"a":1}', json)
    assert.deepEqual([last().text, last().data.body], ['{"a":1}', { a: 1 }])
    await post(Buffer.from('grün', 'latin1'), { 'content-type': 'text/plain; charset=ISO-8859-1' })
    assert.equal(last().text, 'grün')
  })

  test('has binary bodies as attachments', async () => {
    const { post, last, deps } = await startWebhook()
    const bytesOf = async (sha256 = '') => Buffer.concat(await (await deps.artifacts.open(sha256)).toArray())
    const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 255])
    await post(png, { 'content-type': 'image/png' })
    const [image] = last().attachments
    assert.deepEqual([image?.type, image?.size, last().text], ['image/png', 6, ''])
    assert.deepEqual(await bytesOf(image?.sha256), png)
    await post(Buffer.from([0xff, 0xfe, 0xfd]))
    assert.equal(last().attachments.length, 1)
  })

  test('has a large body like a small one', async () => {
    const { post, last } = await startWebhook()
    const large = JSON.stringify({ sender: { login: 'octocat' }, fill: 'x'.repeat(65_536) })
    await post(large, { ...json, 'x-github-event': 'push', 'x-github-delivery': 'd1' })
    const message = last()
    assert.deepEqual([message.text, message.data.body], [large, JSON.parse(large)])
    assert.deepEqual([message.from.id, message.data.event, message.key], ['octocat', 'push', 'd1'])
    assert.deepEqual([webhook.eventData(message).body, message.attachments], [JSON.parse(large), []])
  })

  test('has no headers and query parameters that may be secret', async () => {
    const { post, last, store } = await startWebhook({
      verify: { scheme: 'hmac', header: 'x-proof', secret: 's' },
    })
    assert.equal((await post('x')).status, 401)
    const hidden =
      'authorization cookie x-api-key x-gitlab-token proxy-authorization x-hub-signature x-client-secret ' +
      'ocp-apim-subscription-key x-functions-key x-goog-iap-jwt-assertion'
    const secrets = {
      ...Object.fromEntries(hidden.split(' ').map((name) => [name, 'hidden'])),
      'x-proof': createHmac('sha256', 's').update('x').digest('hex'),
    }
    const useful = { 'x-github-hook-id': '7', 'x-event-key': 'repo:push', 'content-type': 'text/plain' }
    const inQuery = 'token api_key apiKey key code sig pwd password hmac access_token jwt'.split(' ')
    const query = inQuery.map((name) => `${name}=hidden`).join('&')
    await post('x', { ...secrets, ...useful }, `?a=1&issue_key=7&${query}`)
    const headers = last().data.headers
    assert.ok(isJsonObject(headers))
    for (const [name, value] of Object.entries(useful)) assert.equal(headers[name], value)
    for (const name of [...Object.keys(secrets), 'host', 'content-length', 'connection']) {
      assert.equal(headers[name], undefined, name)
    }
    assert.deepEqual(last().data.query, { a: '1', issue_key: '7' })
    assert.doesNotMatch(JSON.stringify(store.messages), /hidden/)
  })

  const cloud = { specversion: '1.0', id: '1', source: '/s', type: 't' }
  type Expected = [event?: string | undefined, key?: string | undefined, from?: string]
  const providers: [name: string, headers: Record<string, string>, body: object, ...Expected][] = [
    ['GitHub', { 'x-github-event': 'push', 'x-github-delivery': 'd' }, {}, 'push', 'd'],
    [
      'GitLab',
      { 'x-gitlab-event': 'Push', 'idempotency-key': 'd' },
      { user_username: 'u' },
      'Push',
      'd',
      'u',
    ],
    ['Standard Webhooks', { 'webhook-id': 'msg_1' }, { type: 'user.created' }, 'user.created', 'msg_1'],
    [
      'Shopify',
      { 'x-shopify-topic': 'orders/create', 'x-shopify-webhook-id': 's1' },
      {},
      'orders/create',
      's1',
    ],
    ['CloudEvents, binary', { 'ce-id': '1', 'ce-source': '/s', 'ce-type': 't' }, {}, 't', '/s 1'],
    ['CloudEvents, structured', {}, cloud, 't', '/s 1'],
    ['an unknown sender', { 'x-request-id': 'r' }, { id: '1', event: 'e' }, 'e'],
    ['a hostile sender', {}, { type: { toString: 1 }, event: ['x'], id: {}, event_id: 5, sender: [] }],
  ]
  test('has its event, key and sender from the places that the provider uses', async () => {
    for (const [name, headers, body, event, key, from = '127.0.0.1'] of providers) {
      const { post, last } = await startWebhook()
      assert.equal((await post(JSON.stringify(body), { ...json, ...headers })).status, 202)
      assert.deepEqual([last().data.event, last().key, last().from.id], [event, key, from], name)
    }
  })

  test('has its event, key, sender and conversation from the configured places, and no other key if that place is empty', async () => {
    const { post, last } = await startWebhook({
      key: 'data.body.order.id',
      event: 'header.X-Kind',
      from: 'data.body.by',
      conversation: 'data.body.customer',
    })
    const headers = { ...json, 'x-kind': 'paid', 'x-github-event': 'push', 'x-github-delivery': 'd' }
    await post('{"order":{"id":42},"by":"shop","customer":"c1"}', headers)
    assert.deepEqual([last().key, last().data.event, last().from.id], ['42', 'paid', 'shop'])
    assert.equal(last().conversation, 'test:c1')
    await post('{"__proto__":{"order":{"id":1}},"constructor":{"name":"x"}}', headers)
    assert.equal(last().key, undefined)
    assert.equal(last().conversation, last().id)
  })

  test('has the first of several configured conversations that has a value, also with `split`', async () => {
    const { post, last } = await startWebhook({ conversation: ['data.body.group', 'data.body.person'] })
    await post('{"person":"p1"}', json)
    assert.equal(last().conversation, 'test:p1')
    await post('{"group":"g1","person":"p1"}', json)
    assert.equal(last().conversation, 'test:g1')
    const split = await startWebhook({ split: 'data.body', conversation: ['from.group', 'from.person'] })
    await split.post('[{"from":{"person":"p1"}},{"from":{"group":"g1","person":"p1"}}]', json)
    assert.deepEqual(
      split.store.messages.map(({ conversation }) => conversation),
      ['test:p1', 'test:g1'],
    )
  })

  test('has a short, distinct key for each long delivery id', async () => {
    const { post, last } = await startWebhook()
    const keys = []
    for (const end of ['a', 'b']) {
      await post('x', { 'idempotency-key': 'k'.repeat(2_000) + end })
      keys.push(last().key)
    }
    assert.ok(keys.every((key) => key && key.length < 256))
    assert.notEqual(keys[0], keys[1])
    const hook = await startWebhook({ key: 'data.body.id' })
    await hook.post(JSON.stringify({ id: `${'k'.repeat(99)}😀${'k'.repeat(200)}` }), json)
    assert.ok(hook.last().key?.isWellFormed())
  })

  test('continues the trace of the sender if it is well-formed', async () => {
    const { post, last } = await startWebhook()
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
    await post('x', { traceparent: `00-${trace}-00f067aa0ba902b7-01` })
    assert.equal(last().trace, trace)
    for (const bad of ['nonsense', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`]) {
      await post('x', { traceparent: bad })
      assert.equal(last().trace, last().id.replaceAll('-', ''))
    }
  })

  test('has the same event as a test message with the same body', async () => {
    const samples: [options: object, body: object, headers: Record<string, string>][] = [
      [{}, { type: 'order.paid' }, {}],
      [{}, { event: 'paid' }, {}],
      [{}, {}, { 'x-github-event': 'push' }],
      [{ event: 'data.body.kind' }, { kind: 'a', type: 'b' }, {}],
      [{ event: 'header.x-kind' }, { type: 'b' }, { 'X-Kind': 'c' }],
      [{}, { nothing: 1 }, {}],
    ]
    for (const [options, body, headers] of samples) {
      const { post, last, transport } = await startWebhook(options)
      const text = JSON.stringify(body)
      await post(text, { ...json, ...headers })
      assert.equal(transport.fieldsOf?.({ text, headers }).event, last().data.event, text)
    }
  })

  test('has the same conversation as a test message with the same body', async () => {
    const samples: [options: object, body: object, headers: Record<string, string>][] = [
      [{ conversation: 'data.body.order' }, { order: 7 }, {}],
      [{ conversation: ['data.body.parent', 'data.body.id'] }, { id: 'x'.repeat(400) }, {}],
      [{ conversation: 'header.x-order' }, {}, { 'X-Order': 'c' }],
      [{ conversation: 'customer', split: 'data.body' }, { customer: 'ada' }, {}],
    ]
    for (const [options, body, headers] of samples) {
      const { post, last, transport } = await startWebhook(options)
      const text = JSON.stringify(body)
      await post(text, { ...json, ...headers })
      assert.equal(transport.fieldsOf?.({ text, headers }).conversation, last().conversation, text)
    }
    const { transport } = await startWebhook({ conversation: 'data.body.order' })
    assert.equal(transport.fieldsOf?.({ text: '{}', headers: {} }).conversation, undefined)
  })
})
