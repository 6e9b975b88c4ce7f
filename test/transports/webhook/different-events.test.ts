// Two events about the same thing are two messages: no key of docs/reference/webhook-providers.md, or of a
// preset, merges them.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { valueAt } from '../../../transports/deliveries/pointers.ts'
import { PRESETS } from '../../../transports/deliveries/presets.ts'
import { META_SPLIT } from '../../../transports/deliveries/split-presets.ts'
import { json, startWebhook } from './harness.ts'
import { FORM } from './providers/sample.ts'
import { providerRows } from './providers/table.ts'

type Delivery = { body: object; headers?: Record<string, string> }
/** Two events about the same thing, in deliveries that differ as little as the provider's do. */
type Pair = [Delivery, Delivery]

const bodies = (one: object, two: object): Pair => [{ body: one }, { body: two }]
/** Events that share their fields, and differ in an id of the event. */
const byId = (name: string, shared: object = {}) =>
  bodies({ ...shared, [name]: 'e-1' }, { ...shared, [name]: 'e-2' })
const byHeader = (name: string, body: object): Pair => [
  { body, headers: { [name]: 'e-1' } },
  { body, headers: { [name]: 'e-2' } },
]
const listOf = (name: string, [one, two]: Pair): Pair =>
  bodies({ [name]: [one.body] }, { [name]: [two.body] })

const viber = {
  event: 'delivered',
  timestamp: 1457764197627,
  message_token: '491266184665523145',
  user_id: 'u-1',
}
const vonage = { message_uuid: 'aaaaaaaa-bbbb', to: '447700900000', status: 'submitted' }
const signed = (id: string) => ({
  event: { event_time: '1669926463', event_type: 'signature_request_signed', event_hash: 'ff8b' },
  signature_request: { signature_request_id: id },
})
const recurly = {
  id: 'sub-1',
  object_type: 'subscription',
  event_type: 'renewed',
  event_time: '2026-11-29T10:00:00Z',
}
const zalo = { event_name: 'user_reacted_message', message: { msg_id: 'm-1' }, timestamp: '1795954000000' }
const click = { event: 'click', _id: 'm1', ts: 1795954000, url: 'https://example.com/a' }
const teams = (channel: string) => ({ id: '1485983408511', conversation: { id: channel } })
const pubsub = (subscription: string) => ({ subscription, message: { messageId: '136969346945' } })
const clickup = (event: string) => ({
  event,
  webhook_id: 'w-1',
  history_items: [{ id: '2800763136717140857' }],
})
const adyen = (eventDate: string) => ({
  notificationItems: [{ NotificationRequestItem: { eventCode: 'REFUND', pspReference: 'p-1', eventDate } }],
})
const docusign = (time: string) => ({
  event: 'recipient-completed',
  data: { envelopeId: 'e-1' },
  generatedDateTime: `2026-11-29T${time}`,
})
const subscription = (updated_at: string) => ({
  meta: { event_name: 'subscription_updated' },
  data: { id: '1', attributes: { updated_at } },
})
/** Both have the same signed fields. */
const midtrans = {
  order_id: 'o-1',
  status_code: '200',
  gross_amount: '1.00',
  transaction_status: 'settlement',
}
const reminder = { event: 'charge.dispute.remind', data: { id: 1, due_at: '2026-11-29' } }
const wompi = (checksum: string) => ({ event: 'transaction.updated', signature: { checksum } })
const alert = (status: string) => ({ fingerprint: 'f', status, startsAt: '2026-11-29T10:00:00Z' })

const PAIRS: Record<string, Pair> = {
  Adyen: bodies(adyen('2026-11-29T10:00:00+01:00'), adyen('2026-11-29T10:00:01+01:00')),
  Alertmanager: listOf('alerts', bodies(alert('firing'), alert('resolved'))),
  'Azure Event Grid': bodies([{ topic: '/a', id: '1' }], [{ topic: '/b', id: '1' }]),
  Box: byId('id', { trigger: 'FILE.UPLOADED', source: { id: 'f-1' } }),
  'Circle (USDC)': byId('notificationId', { notification: { id: 'transfer-1' } }),
  ClickUp: bodies(clickup('taskCreated'), clickup('taskStatusUpdated')),
  DingTalk: byId('msgId', { conversationId: 'c-1' }),
  DocuSign: bodies(docusign('10:00:00.1234567Z'), docusign('10:00:00.1234568Z')),
  'Dropbox Sign': bodies(signed('document-1'), signed('document-2')),
  'Front (rule)': byId('id', { conversation: { id: 'c-1' } }),
  GetStream: byHeader('x-webhook-id', { type: 'message.new', message: { id: 'm-1' } }),
  'Google Pub/Sub': bodies(pubsub('projects/p/subscriptions/a'), pubsub('projects/p/subscriptions/b')),
  Grafana: listOf('alerts', bodies(alert('firing'), alert('resolved'))),
  Jira: byHeader('x-atlassian-webhook-identifier', {
    webhookEvent: 'jira:issue_updated',
    issue: { id: '1' },
  }),
  LINE: listOf('events', byId('webhookEventId', { source: { userId: 'U1' } })),
  LaunchDarkly: byId('_id', { name: 'flag' }),
  'Lemon Squeezy': bodies(subscription('2026-11-29T10:00:00Z'), subscription('2026-11-29T10:00:01Z')),
  Manus: byId('event_id', { event_type: 'task_progress', task_detail: { task_id: 't-1' } }),
  Mandrill: bodies([click], [{ ...click, url: 'https://example.com/b' }]),
  'Microsoft Teams (outgoing webhook)': bodies(teams('19:one'), teams('19:two')),
  Midtrans: bodies(midtrans, { ...midtrans, transaction_status: 'refund' }),
  Mux: byId('id', { object: { type: 'asset', id: 'a-1' } }),
  Notion: byId('id', { entity: { id: 'p-1' } }),
  Nylas: byId('id', { type: 'message.updated' }),
  Okta: bodies({ data: { events: [{ uuid: 'e-1' }] } }, { data: { events: [{ uuid: 'e-2' }] } }),
  Paystack: bodies(reminder, { ...reminder, data: { id: 1, due_at: '2026-11-30' } }),
  QuickBooks: bodies([{ id: 'e-1', intuitentityid: '95' }], [{ id: 'e-2', intuitentityid: '95' }]),
  Razorpay: byHeader('x-razorpay-event-id', { event: 'payment.failed' }),
  Recurly: bodies(recurly, { ...recurly, event_time: '2026-12-29T10:00:00Z' }),
  Segment: byId('messageId', { userId: 'u-1' }),
  SparkPost: bodies(
    [{ msys: { track_event: { event_id: 'e-1', message_id: 'm-1' } } }],
    [{ msys: { track_event: { event_id: 'e-2', message_id: 'm-1' } } }],
  ),
  'Starling (version 1)': byId('webhookNotificationUid', { accountHolderUid: 'a-1' }),
  Tally: byId('eventId', { data: { formId: 'f-1' } }),
  Telnyx: bodies(
    { data: { id: 'e-1', payload: { id: 'm-1' } } },
    { data: { id: 'e-2', payload: { id: 'm-1' } } },
  ),
  'Twitch EventSub': byHeader('twitch-eventsub-message-id', { subscription: { id: 's-1' } }),
  VK: byId('event_id', { type: 'message_edit', group_id: 1 }),
  Vercel: byId('id', { payload: { deployment: { id: 'd-1' } } }),
  Viber: bodies(viber, { ...viber, user_id: 'u-2' }),
  Vonage: bodies(vonage, { ...vonage, status: 'delivered' }),
  Wompi: bodies(wompi('3476'), wompi('3477')),
  Zalo: bodies(zalo, { ...zalo, timestamp: '1795954000001' }),
}

const rows = providerRows().filter(({ options }) => 'key' in options)

test('every provider with a `key` has two different events here', () => {
  assert.deepEqual(rows.map(({ provider }) => provider).sort(), Object.keys(PAIRS).sort())
})

describe('two events about the same thing are two messages, and their repetitions none', () => {
  for (const { provider, options } of rows) {
    const pair = PAIRS[provider]
    if (!pair) continue
    test(provider, async () => {
      const { challenge: _, ...own } = options
      const { hook, store } = await startWebhook(own)
      const field = /^form\.(.*)/.exec(String(options.body))?.[1]
      for (const { body, headers } of [...pair, ...pair]) {
        const text = JSON.stringify(body)
        const sent = field ? String(new URLSearchParams({ [field]: text })) : text
        const type = field ? { 'content-type': FORM } : json
        const response = await fetch(hook, { method: 'POST', body: sent, headers: { ...type, ...headers } })
        assert.ok(response.ok, await response.text())
      }
      assert.equal(store.messages.length, pair.length)
    })
  }

  const keyOfStatus = (status: object) => {
    const body = { field: 'messages', value: { statuses: [{ id: 'wamid.1', ...status }] } }
    return valueAt(META_SPLIT.key, { headers: {}, body, text: JSON.stringify(body) })
  }

  test('WhatsApp: a message to a group, read by two members', () => {
    const read = { status: 'read', timestamp: '1', recipient_id: 'g', recipient_type: 'group' }
    const [one, two] = ['49', '50'].map((member) =>
      keyOfStatus({ ...read, recipient_participant_id: member }),
    )
    assert.notEqual(one, two)
    assert.equal(one, keyOfStatus({ ...read, recipient_participant_id: '49' }))
  })

  test('WhatsApp: an order with two failed payments', () => {
    const failed = (id: string) =>
      keyOfStatus({ status: 'failed', type: 'payment', payment: { transaction: { id } } })
    assert.notEqual(failed('t-1'), failed('t-2'))
  })

  test('WhatsApp: a status is repeated with another price', () => {
    assert.equal(
      keyOfStatus({ status: 'read' }),
      keyOfStatus({ status: 'read', pricing: { billable: true } }),
    )
  })

  test('Twilio: a message that only has the older SmsSid', () => {
    const keyOf = (SmsSid: string | undefined) =>
      PRESETS.twilio.key({ headers: {}, body: { SmsStatus: 'sent', ...(SmsSid && { SmsSid }) }, text: '' })
    assert.deepEqual([keyOf('SM1'), keyOf('SM2'), keyOf(undefined)], ['SM1 sent', 'SM2 sent', undefined])
  })
})

test('a `key` of "#" outside of `key`, or without its quotes, is refused', async () => {
  await assert.rejects(startWebhook({ event: '#' }))
  await assert.rejects(startWebhook({ key: null }))
})
