// The options `from`, `conversation` and `text` of the providers in docs/reference/webhook-providers.md: each finds
// its value in a delivery with the fields that the provider documents.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startWebhook } from './harness.ts'
import { FORM } from './providers/sample.ts'
import { providerRows } from './providers/table.ts'

type Found = { from?: string; conversation?: string; text?: string }
type Delivery = Found & { body: object | string; headers?: Record<string, string> }

const form = (field: string, value: unknown) =>
  String(new URLSearchParams({ [field]: JSON.stringify(value) }))
const alert = { alerts: [{ fingerprint: 'f', status: 'firing', startsAt: '2026-11-28' }] }
const adyen = { pspReference: 'p', merchantReference: 'order-1', eventCode: 'AUTHORISATION' }

const DELIVERIES: Record<string, Delivery> = {
  Adyen: { body: { notificationItems: [{ NotificationRequestItem: adyen }] }, conversation: 'order-1' },
  Airtable: { body: { base: { id: 'app1' }, webhook: { id: 'ach1' } }, conversation: 'ach1' },
  Alertmanager: { body: alert, conversation: 'f' },
  Asana: {
    body: { events: [{ action: 'changed', user: { gid: '12' }, resource: { gid: '34' } }] },
    from: '12',
    conversation: '34',
  },
  'Azure Event Grid': { body: [{ id: 'a', topic: '/t', subject: '/blobs/b' }], conversation: '/blobs/b' },
  Box: { body: { id: 'b', source: { id: '73' }, created_by: { id: '22' } }, from: '22', conversation: '73' },
  'Cal.com': { body: { payload: { uid: 'bFJeNb2uX8ANpT3JL5EfXw' } }, conversation: 'bFJeNb2uX8ANpT3JL5EfXw' },
  'Circle (USDC)': { body: { notificationId: 'n', notification: { id: 't-1' } }, conversation: 't-1' },
  ClickUp: {
    body: {
      task_id: '1vj37mc',
      history_items: [
        { id: '1', user: { id: 183 } },
        { id: '2', user: { id: 183 } },
      ],
    },
    from: '183',
    conversation: '1vj37mc',
  },
  Cloudinary: { body: { public_id: 'sample' }, conversation: 'sample' },
  DingTalk: {
    body: { msgId: 'm', senderId: 'ada', conversationId: 'cid', text: { content: 'hello' } },
    from: 'ada',
    conversation: 'cid',
    text: 'hello',
  },
  DocuSign: { body: { data: { envelopeId: 'e-1' } }, conversation: 'e-1' },
  'Dropbox Sign': {
    body: form('json', { event: {}, signature_request: { signature_request_id: 's-1' } }),
    headers: { 'content-type': FORM },
    conversation: 's-1',
  },
  'Front (rule)': { body: { id: 'evt_1', conversation: { id: 'cnv_1' } }, conversation: 'cnv_1' },
  GetStream: {
    body: { type: 'message.new', cid: 'messaging:fun', user: { id: 'ada' } },
    from: 'ada',
    conversation: 'messaging:fun',
  },
  'Google Pub/Sub': { body: { message: { messageId: '1', orderingKey: 'k' } }, conversation: 'k' },
  Grafana: { body: alert, conversation: 'f' },
  'Help Scout': { body: { id: 291938 }, conversation: '291938' },
  Jira: {
    body: { webhookEvent: 'jira:issue_updated', user: { accountId: 'a-1' }, issue: { key: 'SHOP-1' } },
    from: 'a-1',
    conversation: 'SHOP-1',
  },
  'Lemon Squeezy': { body: { data: { type: 'orders', id: '1' } }, conversation: '1' },
  LINE: {
    body: {
      events: [
        {
          webhookEventId: '01A',
          type: 'message',
          source: { groupId: 'G1', userId: 'U1' },
          message: { text: 'hello' },
        },
        { webhookEventId: '01B', type: 'follow', source: { userId: 'U2' } },
      ],
    },
    from: 'U1',
    conversation: 'G1',
    text: 'hello',
  },
  Mandrill: {
    body: form('mandrill_events', [{ event: 'open', _id: 'm1', msg: { email: 'ada@example.com' } }]),
    headers: { 'content-type': FORM },
    from: 'ada@example.com',
    conversation: 'm1',
  },
  Manus: { body: { event_id: 'e', task_detail: { task_id: 't-1' } }, conversation: 't-1' },
  'Microsoft Teams (outgoing webhook)': {
    body: { id: '1', from: { id: '29:1' }, conversation: { id: '19:c' }, text: 'hello' },
    from: '29:1',
    conversation: '19:c',
    text: 'hello',
  },
  Midtrans: { body: { order_id: 'o-1' }, conversation: 'o-1' },
  'monday.com': {
    body: { event: { userId: 9603417, pulseId: 1771812698 } },
    from: '9603417',
    conversation: '1771812698',
  },
  Mux: { body: { id: 'e', object: { type: 'asset', id: 'a-1' } }, conversation: 'a-1' },
  Netlify: { body: { id: 'deploy-1' }, conversation: 'deploy-1' },
  Notion: {
    body: { id: 'e', authors: [{ id: 'u-1', type: 'person' }], entity: { id: 'p-1', type: 'page' } },
    from: 'u-1',
    conversation: 'p-1',
  },
  Nylas: { body: { id: 'e', data: { object: { id: 'm-1' } } }, conversation: 'm-1' },
  Onfleet: { body: { taskId: 't-1' }, conversation: 't-1' },
  Paystack: { body: { event: 'charge.success', data: { reference: 'r-1' } }, conversation: 'r-1' },
  Plaid: { body: { webhook_code: 'ERROR', item_id: 'i-1' }, conversation: 'i-1' },
  Plex: {
    body: { event: 'media.play', Account: { id: 1 }, Player: { uuid: 'p-1' } },
    from: '1',
    conversation: 'p-1',
  },
  Postmark: { body: { RecordType: 'Delivery', MessageID: 'm-1' }, conversation: 'm-1' },
  QuickBooks: { body: [{ id: 'e', intuitaccountid: '310687' }], conversation: '310687' },
  Razorpay: { body: { payload: { payment: { entity: { id: 'pay_1' } } } }, conversation: 'pay_1' },
  Recurly: { body: { id: 'sub-1', object_type: 'subscription' }, conversation: 'sub-1' },
  Segment: { body: { messageId: 's', userId: 'u-1' }, from: 'u-1', conversation: 'u-1' },
  Smartsheet: {
    body: { scopeObjectId: 45, events: [{ eventType: 'updated', userId: 94, rowId: 1 }] },
    from: '94',
    conversation: '45',
  },
  SparkPost: { body: [{ msys: { track_event: { event_id: 'e', message_id: 'm-1' } } }], conversation: 'm-1' },
  Strava: {
    body: { object_type: 'activity', object_id: 136, owner_id: 134 },
    from: '134',
    conversation: '136',
  },
  Telegram: { body: { update_id: 1, message: { chat: { id: 9 }, text: 'hello' } }, text: 'hello' },
  'Uptime Kuma': {
    body: form('data', { heartbeat: { monitorID: 3 } }),
    headers: { 'content-type': FORM },
    conversation: '3',
  },
  Viber: {
    body: { event: 'message', sender: { id: 'v-1' }, message: { type: 'text', text: 'hello' } },
    from: 'v-1',
    conversation: 'v-1',
    text: 'hello',
  },
  VK: {
    body: { type: 'message_new', object: { message: { from_id: 7, peer_id: 8, text: 'hello' } } },
    from: '7',
    conversation: '8',
    text: 'hello',
  },
  Wompi: { body: { data: { transaction: { id: '01-1' } } }, conversation: '01-1' },
  WooCommerce: { body: { id: 727 }, conversation: '727' },
  Xero: { body: { events: [{ resourceId: 'r-1' }] }, conversation: 'r-1' },
  Zalo: {
    body: { event_name: 'user_send_text', sender: { id: 'z-1' }, message: { text: 'hello' } },
    from: 'z-1',
    conversation: 'z-1',
    text: 'hello',
  },
}

const FINDERS = ['from', 'conversation', 'text'] as const
const rows = providerRows().filter(({ options }) => FINDERS.some((name) => name in options))

test('each row with `from`, `conversation` or `text` has a delivery here, and each delivery a row', () => {
  assert.deepEqual(rows.map(({ provider }) => provider).sort(), Object.keys(DELIVERIES).sort())
})

describe('the options `from`, `conversation` and `text` of a provider', () => {
  for (const { provider, options } of rows)
    test(`${provider}: find their values`, async () => {
      const delivery = DELIVERIES[provider]
      assert.ok(delivery)
      const { challenge: _, ...gateway } = options
      const { hook, store } = await startWebhook({ verify: { scheme: 'none' }, ...gateway })
      const { body, headers, ...found } = delivery
      const response = await fetch(hook, {
        method: 'POST',
        body: typeof body === 'string' ? body : JSON.stringify(body),
        headers: { 'content-type': 'application/json', ...headers },
      })
      assert.ok(response.ok, await response.text())
      const [message] = store.messages
      assert.deepEqual(
        Object.keys(found),
        FINDERS.filter((name) => name in options),
      )
      const { from = message?.from.id, conversation, text = message?.text } = found
      const gatewayName = message?.gateway
      assert.deepEqual(
        [message?.from.id, message?.conversation, message?.text],
        [from, conversation ? `${gatewayName}:${conversation}` : message?.id, text],
      )
    })
})

test('LINE: what a person writes in a group and in private are two conversations', async () => {
  const { hook, store } = await startWebhook({
    verify: { scheme: 'none' },
    ...rows.find(({ provider }) => provider === 'LINE')?.options,
  })
  const sources = [{ groupId: 'G1', userId: 'U1' }, { roomId: 'R1', userId: 'U1' }, { userId: 'U1' }]
  const events = sources.map((source, at) => ({ webhookEventId: `${at}`, type: 'message', source }))
  const headers = { 'content-type': 'application/json' }
  await fetch(hook, { method: 'POST', body: JSON.stringify({ events }), headers })
  assert.deepEqual(
    store.messages.map(({ conversation, from }) => [conversation, from.id]),
    [
      ['test:G1', 'U1'],
      ['test:R1', 'U1'],
      ['test:U1', 'U1'],
    ],
  )
})

test('LINE and Asana: each event of a delivery is a message, and an empty delivery is none', async () => {
  for (const provider of ['LINE', 'Asana']) {
    const { challenge: _, ...gateway } = rows.find((row) => row.provider === provider)?.options ?? {}
    const { hook, store } = await startWebhook({ verify: { scheme: 'none' }, ...gateway })
    const post = async (events: object[]) => {
      const headers = { 'content-type': 'application/json' }
      return fetch(hook, { method: 'POST', body: JSON.stringify({ events }), headers })
    }
    assert.equal((await post([])).status, 200, provider)
    assert.equal(store.messages.length, 0, provider)
    const events = ['a', 'b'].map((id) => ({
      webhookEventId: id,
      source: { userId: id },
      resource: { gid: id },
      type: id,
      action: id,
    }))
    assert.equal((await post(events)).status, 200, provider)
    assert.deepEqual(
      store.messages.map(({ conversation, data }) => [conversation?.split(':')[1], data.event]),
      [
        ['a', 'a'],
        ['b', 'b'],
      ],
    )
  }
})
