// The option `event` of the providers in docs/reference/webhook-providers.md: each finds the name of the event in
// a delivery with the fields that the provider documents.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startWebhook } from './harness.ts'
import { FORM } from './providers/sample.ts'
import { providerRows } from './providers/table.ts'

type Delivery = { body?: unknown; headers?: Record<string, string>; event: string }

const alert = { alerts: [{ fingerprint: 'f', status: 'firing', startsAt: '2026-11-28' }] }
const signEvent = { event: { event_time: '1669926463', event_type: 'signature_request_signed' } }

const DELIVERIES: Record<string, Delivery> = {
  Adyen: {
    body: { notificationItems: [{ NotificationRequestItem: { eventCode: 'AUTHORISATION' } }] },
    event: 'AUTHORISATION',
  },
  Alertmanager: { body: alert, event: 'firing' },
  Asana: { body: { events: [{ action: 'changed' }] }, event: 'changed' },
  'Azure Event Grid': {
    body: [{ id: 'a', topic: '/t', eventType: 'Microsoft.Storage.BlobCreated' }],
    event: 'Microsoft.Storage.BlobCreated',
  },
  Box: { body: { type: 'webhook_event', id: 'b', trigger: 'FILE.UPLOADED' }, event: 'FILE.UPLOADED' },
  'Cal.com': { body: { triggerEvent: 'BOOKING_CREATED' }, event: 'BOOKING_CREATED' },
  'Circle (USDC)': { body: { notificationId: 'n', notificationType: 'transfers' }, event: 'transfers' },
  Cloudinary: { body: { notification_type: 'upload' }, event: 'upload' },
  'Constant Contact': { body: { event_type: 'tier.increase' }, event: 'tier.increase' },
  DingTalk: { body: { msgId: 'm', msgtype: 'text' }, event: 'text' },
  'Dropbox Sign': {
    body: new URLSearchParams({ json: JSON.stringify(signEvent) }).toString(),
    headers: { 'content-type': FORM },
    event: 'signature_request_signed',
  },
  Grafana: { body: alert, event: 'firing' },
  'Help Scout': { headers: { 'x-helpscout-event': 'convo.created' }, event: 'convo.created' },
  Jira: { body: { webhookEvent: 'jira:issue_created' }, event: 'jira:issue_created' },
  LaunchDarkly: { body: { _id: 'l', kind: 'flag' }, event: 'flag' },
  'Lemon Squeezy': { body: { meta: { event_name: 'order_created' } }, event: 'order_created' },
  LINE: { body: { events: [{ webhookEventId: '01A', type: 'message' }] }, event: 'message' },
  Manus: { body: { event_type: 'task_created' }, event: 'task_created' },
  Midtrans: { body: { transaction_status: 'settlement' }, event: 'settlement' },
  'monday.com': { body: { event: { type: 'create_pulse' } }, event: 'create_pulse' },
  Netlify: { headers: { 'x-netlify-event': 'deploy_created' }, event: 'deploy_created' },
  Okta: {
    body: { data: { events: [{ uuid: 'u', eventType: 'user.lifecycle.create' }] } },
    event: 'user.lifecycle.create',
  },
  Onfleet: { body: { triggerName: 'taskCompleted' }, event: 'taskCompleted' },
  Plaid: {
    body: { webhook_type: 'ITEM', webhook_code: 'SYNC_UPDATES_AVAILABLE' },
    event: 'SYNC_UPDATES_AVAILABLE',
  },
  Plex: { body: { event: 'media.play' }, event: 'media.play' },
  Postmark: { body: { RecordType: 'Delivery' }, event: 'Delivery' },
  Recurly: { body: { event_type: 'created' }, event: 'created' },
  Saleor: { headers: { 'saleor-event': 'order_created' }, event: 'order_created' },
  Smartsheet: { body: { events: [{ eventType: 'updated' }] }, event: 'updated' },
  SparkPost: { body: [{ msys: { message_event: { event_id: 's', type: 'bounce' } } }], event: 'bounce' },
  'Starling (version 1)': {
    body: { webhookNotificationUid: 'w', webhookType: 'TRANSACTION_CARD' },
    event: 'TRANSACTION_CARD',
  },
  Strava: { body: { object_type: 'activity', aspect_type: 'create' }, event: 'create' },
  Tally: { body: { eventId: 't', eventType: 'FORM_RESPONSE' }, event: 'FORM_RESPONSE' },
  Telnyx: { body: { data: { id: 't', event_type: 'message.received' } }, event: 'message.received' },
  'Twitch EventSub': {
    headers: { 'twitch-eventsub-message-id': 'e', 'twitch-eventsub-subscription-type': 'channel.follow' },
    event: 'channel.follow',
  },
  WooCommerce: { headers: { 'x-wc-webhook-topic': 'order.created' }, event: 'order.created' },
  Xero: { body: { events: [{ resourceId: 'r', eventType: 'UPDATE' }] }, event: 'UPDATE' },
  Zalo: { body: { event_name: 'user_send_text' }, event: 'user_send_text' },
}

const rows = providerRows().filter(({ options }) => 'event' in options)

test('each row with `event` has a delivery in these tests, and each delivery a row', () => {
  assert.deepEqual(rows.map(({ provider }) => provider).sort(), Object.keys(DELIVERIES).sort())
})

describe('the option `event` of a provider', () => {
  for (const { provider, options, exampleEvent } of rows)
    test(`${provider}: finds the event`, async () => {
      const delivery = DELIVERIES[provider]
      assert.ok(delivery)
      const { challenge: _, ...gateway } = options
      const { hook, store } = await startWebhook({ verify: { scheme: 'none' }, ...gateway })
      const { body = {}, headers } = delivery
      const response = await fetch(hook, {
        method: 'POST',
        body: typeof body === 'string' ? body : JSON.stringify(body),
        headers: { 'content-type': 'application/json', ...headers },
      })
      assert.ok(response.ok, String(response.status))
      assert.equal(store.messages[0]?.data.event, delivery.event)
      assert.equal(exampleEvent, delivery.event, 'the event that `trivium gateway example` matches')
    })
})
