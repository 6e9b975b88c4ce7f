import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { parse } from 'yaml'
import { z } from 'zod'
import { decodeMessage, encodeMessage } from '../../../src/core/message.ts'
import { webhook } from '../../../transports/webhook/index.ts'
import { json, post as postTo, startWebhook } from './harness.ts'

const many = z.object({
  id: z.string().optional(),
  ids: z.array(z.string()),
  duplicate: z.boolean().optional(),
  duplicates: z.number().optional(),
})

/** Starts a gateway; `send` posts JSON and gives the status and what is said of the messages. */
async function start(options: object) {
  const hook = await startWebhook(options)
  const send = async (body: unknown, headers: Record<string, string> = {}) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const response = await fetch(hook.hook, { method: 'POST', body: text, headers: { ...json, ...headers } })
    return { status: response.status, ...many.parse(await response.json()) }
  }
  return { ...hook, send }
}

// As HubSpot documents it.
const change = (eventId: number, more: object = {}) => ({
  eventId,
  subscriptionId: 25,
  portalId: 33,
  occurredAt: 1462216307945,
  subscriptionType: 'contact.propertyChange',
  attemptNumber: 0,
  objectId: 1246965,
  propertyName: 'lifecyclestage',
  propertyValue: 'subscriber',
  ...more,
})

describe('a delivery with a list', () => {
  test('becomes one message for each element, in one step, in order, and answers with their ids', async () => {
    const { send, store } = await start({
      split: 'data.body',
      key: 'eventId',
      event: 'subscriptionType',
      conversation: 'objectId',
      from: 'portalId',
      text: 'propertyValue',
    })
    const list = [
      change(1),
      change(2, { propertyValue: 'lead', objectId: 7 }),
      change(3, { propertyValue: '' }),
    ]
    const { status, ids, id, duplicates } = await send(list)
    assert.deepEqual([status, duplicates, store.calls], [202, undefined, 1])
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

  test('that comes again in part is taken once, element by element', async () => {
    const { send, store } = await start({ split: 'data.body', key: 'data.body.eventId' })
    const first = await send([change(1), change(2)])
    const again = await send([change(2, { attemptNumber: 1 }), change(3)])
    assert.deepEqual([again.status, again.duplicates, again.duplicate], [202, 1, undefined])
    assert.equal(again.ids[0], first.ids[1])
    const whole = await send([change(1), change(2)])
    assert.deepEqual([whole.status, whole.duplicates, whole.duplicate, whole.ids], [200, 2, true, first.ids])
    assert.equal((await send([change(4), change(4)])).duplicates, 1)
    assert.equal(store.messages.length, 4)
  })

  test('may lie deeper, also in lists of lists, and what stands around an element is its envelope', async () => {
    // Okta, Xero, and lists in lists.
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
      const { send, store } = await start({ split })
      assert.equal((await send(body)).ids.length, bodies.length, split)
      assert.deepEqual(
        store.messages.map(({ data }) => data.body),
        bodies,
      )
      assert.deepEqual(store.messages[0]?.data.envelope, envelope)
    }
  })

  test('of the providers in docs/webhook-in-depth.md is split as the table says, under its key', async () => {
    const text = readFileSync(new URL('../../../docs/webhook-in-depth.md', import.meta.url), 'utf8')
    const [, table = ''] = text.split('| provider | `split` | `key` |')
    const rows = [...table.matchAll(/^\| ([^|]+) \| `([^`]+)` \| (?:`([^`]+)`|–)/gm)]
    const samples: Record<string, [body: unknown, keys: (string | undefined)[]]> = {
      'Alertmanager, Grafana': [
        { alerts: [{ fingerprint: 'f', status: 'firing', startsAt: '2026-11-28T10:00:00Z' }] },
        ['["f","firing","2026-11-28T10:00:00Z"]'],
      ],
      'Azure Event Grid': [
        [{ id: 'e1', eventType: 'a', data: {} }, { id: 'e2' }],
        ['e1', 'e2'],
      ],
      'CloudEvents in batches': [[{ specversion: '1.0', source: '/s', id: '1' }], ['/s 1']],
      'Okta event hooks': [
        { eventId: 'h', data: { events: [{ uuid: 'u1' }, { uuid: 'u2' }] } },
        ['u1', 'u2'],
      ],
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
      const { send, store } = await start({
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

  test('that is empty is acknowledged without a message; one without the list is one message', async () => {
    const { send, post, store, last } = await start({ split: 'data.body', key: 'id' })
    assert.deepEqual(await send([]), { status: 200, ids: [] })
    assert.equal(store.messages.length, 0)
    const ping = await post('{"hello":"ping"}', json)
    assert.deepEqual([ping.status, last().data.body, last().data.split], [202, { hello: 'ping' }, undefined])
    assert.equal((await post('hello', { 'content-type': 'text/plain' })).status, 202)
  })

  test('keeps elements without a key apart; where the delivery has an id, by their place in it', async () => {
    const { send, store } = await start({ split: 'data.body', key: 'id' })
    for (const _ of [1, 2]) await send([{ a: 1 }, { a: 1 }, { id: 5 }])
    assert.deepEqual(
      store.messages.map(({ key }) => key),
      [undefined, undefined, '5', undefined, undefined],
    )
    const known = await start({ split: 'data.body' })
    const headers = { 'webhook-id': 'msg_1' }
    for (const _ of [1, 2]) await known.send([{ a: 1 }, { a: 1 }], headers)
    assert.deepEqual(
      known.store.messages.map(({ key }) => key),
      ['msg_1#0', 'msg_1#1'],
    )
    const byHeader = await start({ split: 'data.body', key: 'header.x-id' })
    assert.equal((await byHeader.send([1, 2], { 'x-id': '7' })).duplicates, undefined)
    const cloud = await start({ split: 'data.body' })
    const event = (id: string) => ({ specversion: '1.0', source: '/s', type: 't', id })
    await cloud.send([event('1'), event('2')], { 'content-type': 'application/cloudevents-batch+json' })
    assert.equal((await cloud.send([event('2')])).duplicate, true)
    assert.equal(cloud.last().data.event, 't')
  })

  test('keeps the digits of long ids in each element', async () => {
    const { send, store } = await start({ split: 'data.body', key: 'id' })
    await send('[{"id":7615917337495251231},{"id":7615917337495251232}]')
    assert.deepEqual(
      store.messages.map(({ key, data }) => [key, data.body]),
      ['7615917337495251231', '7615917337495251232'].map((id) => [id, { id }]),
    )
  })

  test('that is refused is refused as a whole: with too many elements, or while the store is away', async () => {
    const { post, send, store } = await start({ split: 'data.body', key: 'id' })
    const list = (length: number) => JSON.stringify(Array.from({ length }, (_, id) => ({ id })))
    const over = await post(list(5_001), json)
    assert.deepEqual([over.status, over.body.error?.code], [422, 'limit_reached'])
    // Small elements, and each would carry all the headers.
    const large = await post(list(5_000), { ...json, 'x-large': 'x'.repeat(10_000) })
    assert.deepEqual([large.status, large.body.error?.code], [422, 'limit_reached'])
    store.fail()
    assert.equal((await post(list(2), json)).status, 503)
    store.recover()
    assert.equal(store.messages.length, 0)
    assert.equal((await send(list(5_000))).ids.length, 5_000)
  })

  test('is refused in the configuration where somebody waits for a result, and pointers stay as they are without it', () => {
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

describe('the list of a provider', () => {
  const whatsapp = (messages: object[], statuses: object[] = []) => ({
    field: 'messages',
    value: {
      messaging_product: 'whatsapp',
      metadata: { display_phone_number: '15550783881', phone_number_id: '106540352242922' },
      contacts: [
        { profile: { name: 'Sheena' }, wa_id: '16505551234' },
        { profile: { name: 'Bob' }, wa_id: '491701234567' },
      ],
      ...(messages.length > 0 ? { messages } : {}),
      ...(statuses.length > 0 ? { statuses } : {}),
    },
  })
  const text = (from: string, id: string, body: string) => ({
    from,
    id,
    timestamp: '1749416383',
    type: 'text',
    text: { body },
  })

  test('of Meta is split to single messages, each in the conversation of its sender', async () => {
    const verify = { scheme: 'meta', secret: 's', 'verify-token': 'v' }
    const { send, store } = await start({ verify, text: 'data.body.value.messages.0.text.body' })
    const sent = (body: object) => {
      const proof = createHmac('sha256', 's').update(JSON.stringify(body)).digest('hex')
      return send(body, { 'x-hub-signature-256': `sha256=${proof}` })
    }
    const one = text('16505551234', 'wamid.1', 'Hi')
    const two = text('491701234567', 'wamid.2', 'Hallo')
    const read = { id: 'wamid.0', status: 'read', timestamp: '1', recipient_id: '16505551234' }
    const delivered = { ...read, status: 'delivered' }
    const changes = [
      whatsapp([one, two], [delivered, read]),
      { field: 'account_update', value: { event: 'X' } },
    ]
    const body = { object: 'whatsapp_business_account', entry: [{ id: '102290129340398', changes }] }
    assert.deepEqual([(await sent(body)).status, store.messages.length], [200, 5])
    const [first, second] = store.messages
    assert.deepEqual(
      [second?.key, second?.from.id, second?.conversation, second?.text, second?.data.event],
      ['wamid.2', '491701234567', 'test:491701234567', 'Hallo', 'messages'],
    )
    const { contacts, messages, metadata } = Object(Object(first?.data.body).value)
    assert.deepEqual([contacts.length, contacts[0].profile.name, messages], [1, 'Sheena', [one]])
    assert.equal(metadata.phone_number_id, '106540352242922')
    assert.deepEqual(first?.data.envelope, { object: body.object, entry: { id: '102290129340398' } })
    // Meta puts together anew what it repeats.
    const again = await sent({
      object: body.object,
      entry: [{ id: '102290129340398', changes: [whatsapp([two], [read])] }],
    })
    assert.deepEqual([again.duplicates, again.duplicate, store.messages.length], [2, true, 5])
    const messenger = (mid: string, more = {}) => ({
      sender: { id: 'P1' },
      recipient: { id: 'PAGE' },
      timestamp: 1,
      message: { mid, text: 'x', ...more },
    })
    const page = {
      object: 'page',
      entry: [{ id: 'PAGE', time: 2, messaging: [messenger('m1'), messenger('m1', { is_deleted: true })] }],
    }
    assert.deepEqual(
      [(await sent(page)).duplicates, store.messages.at(-1)?.conversation],
      [undefined, 'test:P1'],
    )
  })

  test('of Microsoft Graph, SendGrid and HubSpot is split, with the secret out of each element', async () => {
    const graph = await start({ verify: { scheme: 'microsoft-graph', secret: 'hush' } })
    const notice = (id: string) => ({
      id,
      subscriptionId: 's',
      clientState: 'hush',
      changeType: 'updated',
      resource: "Users('1')/Messages('2')",
      tenantId: 't',
    })
    assert.equal((await graph.send({ value: [notice('a'), notice('b')] })).ids.length, 2)
    assert.equal((await graph.send({ value: [notice('b'), notice('c')] })).duplicates, 1)
    const { key, from, data } = graph.last()
    assert.deepEqual([key, from.id, data.event], ['c', 't', 'updated'])
    assert.doesNotMatch(JSON.stringify(graph.store.messages), /hush/)
    // HubSpot does not promise that an eventId is unique, and counts the attempts in the body.
    const verify = { scheme: 'hubspot', secret: 's', url: 'https://h.example/hooks/test' }
    const hubspot = await startWebhook({ verify })
    const sent = (list: object[]) => {
      const body = JSON.stringify(list)
      const time = String(Date.now())
      const proof = createHmac('sha256', 's')
        .update(`POSThttps://h.example/hooks/test${body}${time}`)
        .digest('base64')
      const headers = { ...json, 'x-hubspot-signature-v3': proof, 'x-hubspot-request-timestamp': time }
      return postTo(hubspot.hook, body, headers)
    }
    assert.equal((await sent([change(1), change(1, { objectId: 8 })])).status, 202)
    assert.equal(hubspot.store.messages.length, 2)
    assert.equal((await sent([change(1, { attemptNumber: 1 })])).body.duplicate, true)
    assert.deepEqual([hubspot.last().data.event, hubspot.last().from.id], ['contact.propertyChange', '33'])
  })

  test('stays whole with `split: false`, and where a result is waited for', async () => {
    for (const options of [{ split: false }, { respond: 'result', timeout: '100ms' }]) {
      const { post, store } = await startWebhook({
        verify: { scheme: 'microsoft-graph', secret: 'x' },
        ...options,
      })
      const value = [1, 2].map((id) => ({ id, clientState: 'x' }))
      assert.equal((await post(JSON.stringify({ value }), json)).status, 202)
      assert.deepEqual([store.messages.length, store.messages[0]?.key], [1, '1 2'])
    }
  })
})

describe('a gateway with split and key', () => {
  const options = { split: 'data.body', key: 'eventId', event: 'kind', from: 'who', text: 'words' }

  test('knows an element without the key by the id of the delivery and its place', async () => {
    for (const name of ['webhook-id', 'svix-id', 'idempotency-key']) {
      const { send, store } = await start(options)
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

  test('takes an element without the key each time where the delivery has no id', async () => {
    const { send, store } = await start(options)
    for (const _ of [1, 2]) assert.equal((await send([{ other: 2 }])).status, 202)
    assert.equal(store.messages.length, 2)
  })

  test('takes the outer field of the same name for no key', async () => {
    const { send, store } = await start({ ...options, split: 'data.body.events' })
    for (const _ of [1, 2]) await send({ eventId: 'account', events: [{ other: 2 }] })
    assert.equal(store.messages.length, 2)
  })

  test('reads a body without a list like an element', async () => {
    const { post, last, store } = await start(options)
    const body = '{"eventId":"one","kind":"made","who":"ada","words":"hello"}'
    assert.equal((await post(body, json)).status, 202)
    const { status, body: said } = await post(body, json)
    assert.deepEqual([status, said.duplicate, store.messages.length], [200, true, 1])
    const { key, from, text, data } = last()
    assert.deepEqual([key, from.id, text, data.event], ['one', 'ada', 'hello', 'made'])
    for (const _ of [1, 2]) await post('{"other":1}', { ...json, 'webhook-id': 'd-3' })
    assert.deepEqual([last().key, store.messages.length], ['d-3', 2])
  })
})
