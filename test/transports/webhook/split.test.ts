import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { parse } from 'yaml'
import { decodeMessage, encodeMessage } from '../../../src/core/message.ts'
import { webhook } from '../../../transports/webhook/index.ts'
import { json } from './harness.ts'
import { hubspotEvent, startSplit } from './split-harness.ts'

describe('a split delivery', () => {
  test('becomes one message per element, in order and atomically, and is answered with their ids', async () => {
    const { send, store } = await startSplit({
      split: 'data.body',
      key: 'eventId',
      event: 'subscriptionType',
      conversation: 'objectId',
      from: 'portalId',
      text: 'propertyValue',
    })
    const list = [
      hubspotEvent(1),
      hubspotEvent(2, { propertyValue: 'lead', objectId: 7 }),
      hubspotEvent(3, { propertyValue: '' }),
    ]
    const { status, ids, id, duplicates } = await send(list)
    assert.deepEqual([status, duplicates, store.acceptCalls], [202, undefined, 1])
    assert.deepEqual(
      store.messages.map((message) => message.id),
      ids,
    )
    assert.equal(id, ids[0])
    for (const message of store.messages) {
      const back = decodeMessage(message, encodeMessage(message))
      assert.deepEqual(back.data, message.data)
    }
    const [first, second, third] = store.messages
    assert.deepEqual(first?.data.body, list[0])
    assert.deepEqual(second?.data.split, { index: 1, of: 3 })
    assert.deepEqual(
      [second?.key, second?.data.event, second?.conversation, second?.from.id, second?.text, third?.text],
      ['2', 'contact.propertyChange', 'test:7', '33', 'lead', ''],
    )
    assert.deepEqual(Object(second && webhook.eventData(second)).body, list[1])
  })

  test('that is partly repeated is deduplicated per element', async () => {
    const { send, store } = await startSplit({ split: 'data.body', key: 'data.body.eventId' })
    const first = await send([hubspotEvent(1), hubspotEvent(2)])
    const again = await send([hubspotEvent(2, { attemptNumber: 1 }), hubspotEvent(3)])
    assert.deepEqual([again.status, again.duplicates, again.duplicate], [202, 1, undefined])
    assert.equal(again.ids[0], first.ids[1])
    const whole = await send([hubspotEvent(1), hubspotEvent(2)])
    assert.deepEqual([whole.status, whole.duplicates, whole.duplicate, whole.ids], [200, 2, true, first.ids])
    assert.equal((await send([hubspotEvent(4), hubspotEvent(4)])).duplicates, 1)
    assert.equal(store.messages.length, 4)
  })

  test('may have its list at any depth, also in lists; the fields around an element are its envelope', async () => {
    // As Okta, Xero and Meta nest them.
    const cases: [split: string, body: object, bodies: unknown[], envelope: unknown][] = [
      [
        'data.body.data.events',
        { eventType: 'a', data: { events: [{ uuid: 1 }, { uuid: 2 }] } },
        [{ uuid: 1 }, { uuid: 2 }],
        { eventType: 'a' },
      ],
      [
        'data.body.events',
        { events: [{ id: 1 }], firstEventSequence: 1 },
        [{ id: 1 }],
        { firstEventSequence: 1 },
      ],
      [
        'data.body.entry.*.changes',
        {
          object: 'page',
          entry: [
            { id: 'E', changes: [1, 2] },
            { id: 'F', changes: [3] },
          ],
        },
        [1, 2, 3],
        { object: 'page', entry: { id: 'E' } },
      ],
      ['data.body.entry[].changes[]', { entry: [{ changes: [1] }, { changes: [2] }] }, [1, 2], undefined],
      [
        'data.body.entry.*.changes',
        { entry: [{ changes: [1] }, { other: 2 }] },
        [1, { other: 2 }],
        undefined,
      ],
    ]
    for (const [split, body, bodies, envelope] of cases) {
      const { send, store } = await startSplit({ split })
      assert.equal((await send(body)).ids.length, bodies.length, split)
      assert.deepEqual(
        store.messages.map(({ data }) => data.body),
        bodies,
      )
      assert.deepEqual(store.messages[0]?.data.envelope, envelope)
    }
  })

  test('of each provider in docs/webhook-in-depth.md is split, with the keys that its table documents', async () => {
    const text = readFileSync(new URL('../../../docs/webhook-in-depth.md', import.meta.url), 'utf8')
    const [, table = ''] = text.split('| provider | `split` | `key` |')
    const rows = [...table.matchAll(/^\| ([^|]+) \| `([^`]+)` \| (?:`([^`]+)`|–)/gm)]
    const samples: Record<string, [body: unknown, keys: (string | undefined)[]]> = {
      'Alertmanager, Grafana': [
        { alerts: [{ fingerprint: 'f', status: 'firing', startsAt: '2026-11-28T10:00:00Z' }] },
        ['["f","firing","2026-11-28T10:00:00Z"]'],
      ],
      'Asana, Smartsheet': [{ events: [{ action: 'changed' }] }, [undefined]],
      'Azure Event Grid': [
        [
          { topic: '/t', id: 'e1', eventType: 'a', data: {} },
          { topic: '/t', id: 'e2' },
        ],
        ['["/t","e1"]', '["/t","e2"]'],
      ],
      'CloudEvents in batches': [[{ specversion: '1.0', source: '/s', id: '1' }], ['/s 1']],
      LINE: [{ events: [{ webhookEventId: '01A' }, { webhookEventId: '01B' }] }, ['01A', '01B']],
      'Okta event hooks': [
        { eventId: 'h', data: { events: [{ uuid: 'u1' }, { uuid: 'u2' }] } },
        ['u1', 'u2'],
      ],
      QuickBooks: [[{ specversion: '1.0', source: 'intuit', id: 'q1' }], ['q1']],
      SparkPost: [
        [
          { msys: { message_event: { event_id: '92356927693813856' } } },
          { msys: { track_event: { event_id: 'x' } } },
        ],
        ['92356927693813856', 'x'],
      ],
      Xero: [{ events: [{ resourceId: 'r' }], lastEventSequence: 1 }, [undefined]],
    }
    assert.deepEqual(rows.map(([, name]) => name).sort(), Object.keys(samples).sort())
    for (const [, name = '', split, key] of rows) {
      const [body, keys] = samples[name] ?? [[], []]
      const { send, store } = await startSplit({
        split,
        ...(key && name !== 'CloudEvents in batches' ? { key: parse(key) } : {}),
      })
      await send(body)
      assert.deepEqual(
        store.messages.map((message) => message.key),
        keys,
        name,
      )
    }
  })

  test('with an empty list has no messages; without the list it is one message', async () => {
    const { send, post, store, last } = await startSplit({ split: 'data.body', key: 'id' })
    assert.deepEqual(await send([]), { status: 200, ids: [] })
    assert.equal(store.messages.length, 0)
    const ping = await post('{"hello":"ping"}', json)
    assert.deepEqual([ping.status, last().data.body, last().data.split], [202, { hello: 'ping' }, undefined])
    assert.equal((await post('hello', { 'content-type': 'text/plain' })).status, 202)
  })

  test('does not deduplicate elements without a key', async () => {
    const { send, store } = await startSplit({ split: 'data.body', key: 'id' })
    for (const _ of [1, 2]) await send([{ a: 1 }, { a: 1 }, { id: 5 }])
    assert.deepEqual(
      store.messages.map(({ key }) => key),
      [undefined, undefined, '5', undefined, undefined],
    )
  })

  test('with an id of the delivery has keys of that id and the index of the element', async () => {
    const byPreset = await startSplit({ split: 'data.body' })
    const headers = { 'webhook-id': 'msg_1' }
    for (const _ of [1, 2]) await byPreset.send([{ a: 1 }, { a: 1 }], headers)
    assert.deepEqual(
      byPreset.store.messages.map(({ key }) => key),
      ['msg_1#0', 'msg_1#1'],
    )
    const byHeader = await startSplit({ split: 'data.body', key: 'header.x-id' })
    assert.equal((await byHeader.send([1, 2], { 'x-id': '7' })).duplicates, undefined)
  })

  test('of CloudEvents has the keys and events of its elements', async () => {
    const cloud = await startSplit({ split: 'data.body' })
    const event = (id: string) => ({ specversion: '1.0', source: '/s', type: 't', id })
    await cloud.send([event('1'), event('2')], { 'content-type': 'application/cloudevents-batch+json' })
    assert.equal((await cloud.send([event('2')])).duplicate, true)
    assert.equal(cloud.last().data.event, 't')
  })

  test('keeps the digits of long ids', async () => {
    const { send, store } = await startSplit({ split: 'data.body', key: 'id' })
    await send('[{"id":7615917337495251231},{"id":7615917337495251232}]')
    assert.deepEqual(
      store.messages.map(({ key, data }) => [key, data.body]),
      ['7615917337495251231', '7615917337495251232'].map((id) => [id, { id }]),
    )
  })

  test('is refused as a whole: with too many elements, or while the store is down', async () => {
    const { post, send, store } = await startSplit({ split: 'data.body', key: 'id' })
    const list = (length: number) => JSON.stringify(Array.from({ length }, (_, id) => ({ id })))
    const over = await post(list(5_001), json)
    assert.deepEqual([over.status, over.body.error?.code], [422, 'limit_reached'])
    // The elements are small, but each message would have all headers.
    const large = await post(list(5_000), { ...json, 'x-large': 'x'.repeat(10_000) })
    assert.deepEqual([large.status, large.body.error?.code], [422, 'limit_reached'])
    store.fail()
    assert.equal((await post(list(2), json)).status, 503)
    store.recover()
    assert.equal(store.messages.length, 0)
    assert.equal((await send(list(5_000))).ids.length, 5_000)
  })
})

describe('the option split', () => {
  test('excludes `respond: result`, and allows pointers into elements', () => {
    const problems = (options: object) =>
      webhook.options.safeParse({ path: '/x', ...options }).error?.issues.map(({ path }) => path.join('.'))
    assert.deepEqual(problems({ split: 'data.body', respond: 'result' }), ['split'])
    assert.deepEqual(problems({ key: 'eventId' }), ['key'])
    const verify = { scheme: 'hubspot', secret: 's' }
    assert.equal(problems({ key: 'eventId', verify }), undefined)
    assert.deepEqual(problems({ key: 'eventId', verify, split: false }), ['key'])
    for (const split of ['body', 'data.headers', true, '']) assert.deepEqual(problems({ split }), ['split'])
    for (const split of [false, 'data.body', 'data.body.a.*.b', 'data.body[]']) {
      assert.equal(problems({ split }), undefined)
    }
  })
})

describe('the key of a split delivery', () => {
  const options = { split: 'data.body', key: 'eventId', event: 'kind', from: 'who', text: 'words' }

  test('is the id of the delivery with the index, for elements without a key', async () => {
    for (const name of ['webhook-id', 'svix-id', 'idempotency-key']) {
      const { send, store } = await startSplit(options)
      const list = [{ eventId: 'one' }, { other: 2 }, { other: 2 }]
      assert.equal((await send(list, { [name]: 'd-1' })).status, 202)
      const again = await send(list, { [name]: 'd-1' })
      assert.deepEqual([again.status, again.duplicates, again.duplicate], [200, 3, true], name)
      assert.deepEqual(
        store.messages.map(({ key }) => key),
        ['one', 'd-1#1', 'd-1#2'],
      )
      assert.equal((await send(list, { [name]: 'd-2' })).duplicates, 1)
    }
  })

  test('may join a header and a field of the element; headers alone are the id of the delivery', async () => {
    const { send, store } = await startSplit({ ...options, key: ['header.x-shop', 'eventId'] })
    for (const shop of ['a', 'b']) await send([{ eventId: 1 }, { eventId: 2 }], { 'x-shop': shop })
    assert.equal((await send([{ eventId: 2 }], { 'x-shop': 'b' })).duplicate, true)
    assert.deepEqual(
      store.messages.map(({ key }) => key),
      ['["a","1"]', '["a","2"]', '["b","1"]', '["b","2"]'],
    )
    const byHeaders = await startSplit({ ...options, key: ['header.x-shop', 'header.x-id'] })
    await byHeaders.send([{ eventId: 1 }, { eventId: 2 }], { 'x-shop': 'a', 'x-id': '7' })
    assert.deepEqual(
      byHeaders.store.messages.map(({ key }) => key),
      ['["a","7"]#0', '["a","7"]#1'],
    )
  })

  test('is missing if neither the element nor the delivery has one', async () => {
    const { send, store } = await startSplit(options)
    for (const _ of [1, 2]) assert.equal((await send([{ other: 2 }])).status, 202)
    assert.equal(store.messages.length, 2)
  })

  test('is not read from a field of the same name outside the element', async () => {
    const { send, store } = await startSplit({ ...options, split: 'data.body.events' })
    for (const _ of [1, 2]) await send({ eventId: 'account', events: [{ other: 2 }] })
    assert.equal(store.messages.length, 2)
  })

  test('and the other pointers are read from the element, even if the delivery has a field of the same name', async () => {
    const paths = { event: 'method', from: 'format', text: 'split', conversation: 'headers.id' }
    const { hook, store } = await startSplit({ ...options, ...paths, methods: ['PUT'] })
    const element = { method: 'made', format: 'ada', split: 'hello', headers: { id: 'c1' } }
    const headers = { ...json, id: 'of the request' }
    for (const body of [[element], element])
      await fetch(hook, { method: 'PUT', headers, body: JSON.stringify(body) })
    assert.equal(store.messages.length, 2)
    for (const { data, from, text, conversation } of store.messages)
      assert.deepEqual([data.event, from.id, text, conversation], ['made', 'ada', 'hello', 'test:c1'])
  })

  test('and the other pointers are read from a body without a list as from an element', async () => {
    const { post, last, store } = await startSplit(options)
    const body = '{"eventId":"one","kind":"made","who":"ada","words":"hello"}'
    assert.equal((await post(body, json)).status, 202)
    const { status, body: answer } = await post(body, json)
    assert.deepEqual([status, answer.duplicate, store.messages.length], [200, true, 1])
    const { key, from, text, data } = last()
    assert.deepEqual([key, from.id, text, data.event], ['one', 'ada', 'hello', 'made'])
    for (const _ of [1, 2]) await post('{"other":1}', { ...json, 'webhook-id': 'd-3' })
    assert.deepEqual([last().key, store.messages.length], ['d-3', 2])
  })
})
