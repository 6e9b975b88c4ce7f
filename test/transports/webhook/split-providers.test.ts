import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, test } from 'node:test'
import { json, post as postTo, startWebhook } from './harness.ts'
import { hubspotEvent, startSplit } from './split-harness.ts'

/** Starts a gateway for Meta. `sendSigned` signs a body and posts it. */
async function startMeta() {
  const verify = { scheme: 'meta', secret: 's', 'verify-token': 'v' }
  const { send, store } = await startSplit({ verify, text: 'data.body.value.messages.0.text.body' })
  const sendSigned = (body: object) => {
    const proof = createHmac('sha256', 's').update(JSON.stringify(body)).digest('hex')
    return send(body, { 'x-hub-signature-256': `sha256=${proof}` })
  }
  return { sendSigned, store }
}

/** A change of WhatsApp, with two contacts. */
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

describe('a delivery of a provider that sends lists', () => {
  test('of WhatsApp is split into single messages, each in the conversation of its sender', async () => {
    const { sendSigned, store } = await startMeta()
    const one = text('16505551234', 'wamid.1', 'Hi')
    const two = text('491701234567', 'wamid.2', 'Hallo')
    const read = { id: 'wamid.0', status: 'read', timestamp: '1', recipient_id: '16505551234' }
    const delivered = { ...read, status: 'delivered' }
    const changes = [
      whatsapp([one, two], [delivered, read]),
      { field: 'account_update', value: { event: 'X' } },
    ]
    const body = { object: 'whatsapp_business_account', entry: [{ id: '102290129340398', changes }] }
    assert.deepEqual([(await sendSigned(body)).status, store.messages.length], [200, 5])
    const [first, second] = store.messages
    assert.deepEqual(
      [second?.key, second?.from.id, second?.conversation, second?.text, second?.data.event],
      ['wamid.2', '491701234567', 'test:491701234567', 'Hallo', 'messages'],
    )
    const { contacts, messages, metadata } = Object(Object(first?.data.body).value)
    assert.deepEqual([contacts.length, contacts[0].profile.name, messages], [1, 'Sheena', [one]])
    assert.equal(metadata.phone_number_id, '106540352242922')
    assert.deepEqual(first?.data.envelope, { object: body.object, entry: { id: '102290129340398' } })
    // A repetition by Meta may combine the elements differently.
    const again = await sendSigned({
      object: body.object,
      entry: [{ id: '102290129340398', changes: [whatsapp([two], [read])] }],
    })
    assert.deepEqual([again.duplicates, again.duplicate, store.messages.length], [2, true, 5])
  })

  test('of Messenger is split, and the deletion of a message is not its duplicate', async () => {
    const { sendSigned, store } = await startMeta()
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
      [(await sendSigned(page)).duplicates, store.messages.at(-1)?.conversation],
      [undefined, 'test:P1'],
    )
  })

  test('of Microsoft Graph is split, without the secret in its elements', async () => {
    const graph = await startSplit({ verify: { scheme: 'microsoft-graph', secret: 'hush' } })
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
  })

  test('of HubSpot is split; equal event ids with other contents are not duplicates, but later attempts are', async () => {
    const verify = { scheme: 'hubspot', secret: 's', url: 'https://h.example/hooks/test' }
    const hubspot = await startWebhook({ verify })
    const send = (list: object[]) => {
      const body = JSON.stringify(list)
      const time = String(Date.now())
      const proof = createHmac('sha256', 's')
        .update(`POSThttps://h.example/hooks/test${body}${time}`)
        .digest('base64')
      const headers = { ...json, 'x-hubspot-signature-v3': proof, 'x-hubspot-request-timestamp': time }
      return postTo(hubspot.hook, body, headers)
    }
    assert.equal((await send([hubspotEvent(1), hubspotEvent(1, { objectId: 8 })])).status, 202)
    assert.equal(hubspot.store.messages.length, 2)
    assert.equal((await send([hubspotEvent(1, { attemptNumber: 1 })])).body.duplicate, true)
    assert.deepEqual([hubspot.last().data.event, hubspot.last().from.id], ['contact.propertyChange', '33'])
  })

  test('is one message with `split: false` or `respond: result`', async () => {
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
