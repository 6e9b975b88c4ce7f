import assert from 'node:assert/strict'
import { createHash, hash } from 'node:crypto'
import { SignJWT } from 'jose'
import Razorpay from 'razorpay'
import { serveKeys } from './keys.ts'
import { hmac, NOW, plain, type Sample, SECRET, seconds } from './sample.ts'

const airtable = Buffer.from('thirty-two bytes that are secret')

const google = await serveKeys()

const timed = (header: string, body: object): Sample => ({
  body,
  sign: (text, at) => ({ [header]: `t=${seconds(at)},v1=${hmac(`${seconds(at)}.${text}`)}` }),
})

/** The samples of providers without a preset, by their names in docs/reference/webhook-providers.md. */
export const RECIPE_SAMPLES: Record<string, Sample> = {
  // The example of @adyen/api-library, src/__tests__/hmacValidator.spec.ts.
  Adyen: {
    comparedWith: 'an example of its library',
    secret: '44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056',
    body: {
      live: 'false',
      notificationItems: [
        {
          NotificationRequestItem: {
            additionalData: { hmacSignature: 'coqCmt/IZ4E3CzPvMY8zTjQVL5hYJUiBRg8UU+iCWo0=' },
            amount: { value: 1130, currency: 'EUR' },
            pspReference: '7914073381342284',
            eventCode: 'AUTHORISATION',
            merchantAccountCode: 'TestMerchant',
            merchantReference: 'TestPayment-1407325143704',
            success: 'true',
          },
        },
      ],
    },
    sign: () => ({}),
  },
  Airtable: {
    secret: airtable.toString('base64'),
    body: { base: { id: 'app1' }, webhook: { id: 'ach1' } },
    sign: (text) => ({
      'x-airtable-content-mac': `hmac-sha256=${hmac(text, 'hex', 'sha256', airtable)}`,
    }),
  },
  Box: {
    comparedWith: 'its test vectors, in vectors.test.ts',
    body: { type: 'webhook_event', id: 'b-1', trigger: 'FILE.UPLOADED' },
    sign(text, at) {
      const time = new Date(at)
        .toISOString()
        .replace(/\.\d+Z$/, '-00:00')
        .replace('-00:00', '+00:00')
      return {
        'box-delivery-timestamp': time,
        'box-signature-primary': hmac(text + time, 'base64'),
        'box-signature-secondary': hmac(text + time, 'base64', 'sha256', 'other'),
      }
    },
  },
  'Cal.com': plain('x-cal-signature-256', { triggerEvent: 'BOOKING_CREATED' }),
  ClickUp: plain('x-signature', { event: 'taskCreated', webhook_id: 'w-1', history_items: [{ id: '27' }] }),
  Cloudinary: {
    comparedWith: 'verifyNotificationSignature of cloudinary 2.11.0',
    body: { notification_type: 'upload', public_id: 'sample', asset_id: 'a-1' },
    sign: (text, at) => ({
      'x-cld-timestamp': seconds(at),
      'x-cld-signature': createHash('sha1')
        .update(text + seconds(at) + SECRET)
        .digest('hex'),
    }),
  },
  DingTalk: {
    body: { msgId: 'm-1', text: { content: 'hello' }, senderId: 'ada' },
    sign: (_, at) => ({ timestamp: String(at), sign: hmac(`${at}\n${SECRET}`, 'base64') }),
  },
  DocuSign: plain(
    'x-docusign-signature-1',
    {
      event: 'envelope-completed',
      generatedDateTime: '2026-11-29T10:00:00.1234567Z',
      retryCount: 0,
      data: { envelopeId: 'd-1' },
    },
    { encoding: 'base64' },
  ),
  'Front (rule)': plain(
    'x-front-signature',
    { _links: {}, id: 'evt_1', type: 'assign' },
    { encoding: 'base64', hash: 'sha1' },
  ),
  'Google Pub/Sub': {
    userOptions: { jwks: google.url },
    body: { message: { data: 'aGk=', messageId: '136969346945' }, subscription: 's' },
    async sign(_, at) {
      const claims = { email: 'PUBSUB_ACCOUNT', email_verified: true }
      const token = await new SignJWT(claims)
        .setProtectedHeader({ alg: 'RS256', kid: 'k1' })
        .setIssuer('https://accounts.google.com')
        .setAudience('https://HOST/PATH')
        .setIssuedAt(Number(seconds(at)))
        .setExpirationTime(Number(seconds(at)) + 3600)
        .sign(google.privateKey)
      return { authorization: `Bearer ${token}` }
    },
  },
  'Help Scout': plain('x-helpscout-signature', { id: 1 }, { encoding: 'base64', hash: 'sha1' }),
  Jira: {
    body: { webhookEvent: 'jira:issue_created' },
    sign: (text) => ({
      'x-atlassian-webhook-identifier': 'j-1',
      'x-hub-signature': `sha256=${hmac(text)}`,
    }),
  },
  LaunchDarkly: plain('x-ld-signature', { _id: 'ld-1' }),
  'Lemon Squeezy': plain('x-signature', { meta: { event_name: 'order_created' } }),
  LINE: {
    ...plain(
      'x-line-signature',
      { events: [{ webhookEventId: '01A' }, { webhookEventId: '01B' }] },
      { encoding: 'base64' },
    ),
    comparedWith: 'validateSignature of @line/bot-sdk 11.2.0',
  },
  'Microsoft Teams (outgoing webhook)': {
    secret: airtable.toString('base64'),
    body: {
      type: 'message',
      id: '1485983408511',
      conversation: { id: '19:channel;messageid=1485983408511' },
      text: '<at>Bot</at> hello',
    },
    sign: (text) => ({ authorization: `HMAC ${hmac(text, 'base64', 'sha256', airtable)}` }),
  },
  Mux: {
    ...timed('mux-signature', { id: 'm-1', type: 'video.asset.ready' }),
    comparedWith: 'webhooks.verifySignature of @mux/mux-node 15.3.0',
  },
  Netlify: {
    body: { id: 'deploy-1', state: 'ready' },
    sign: async (text) => ({
      'x-webhook-signature': await new SignJWT({ iss: 'netlify', sha256: hash('sha256', text) })
        .setProtectedHeader({ alg: 'HS256' })
        .sign(Buffer.from(SECRET)),
    }),
  },
  Notion: plain('x-notion-signature', { id: 'n-1', type: 'page.created' }, { prefix: 'sha256=' }),
  Paystack: plain('x-paystack-signature', { event: 'charge.success' }, { hash: 'sha512' }),
  Postmark: {
    body: { RecordType: 'Delivery' },
    sign: () => ({ authorization: `Basic ${Buffer.from(`postmark:${SECRET}`).toString('base64')}` }),
  },
  Razorpay: {
    comparedWith: 'razorpay',
    body: { event: 'payment.captured' },
    sign(text) {
      const signature = hmac(text)
      assert.ok(Razorpay.validateWebhookSignature(text, signature, SECRET))
      return { 'x-razorpay-event-id': 'r-1', 'x-razorpay-signature': signature }
    },
  },
  Recurly: {
    body: { id: 'rec-1', event_type: 'created' },
    sign: (text, at) => ({
      'recurly-signature': `${at},${hmac(`${at}.${text}`, 'hex', 'sha256', 'old')},${hmac(`${at}.${text}`)}`,
    }),
  },
  Segment: plain('x-signature', { messageId: 's-1', type: 'track' }, { hash: 'sha1' }),
  'Starling (version 1)': {
    body: { webhookNotificationUid: 'w-1', content: { amount: 7.47 } },
    sign: (text) => ({
      'x-hook-signature': createHash('sha512')
        .update(SECRET + text)
        .digest('base64'),
    }),
  },
  Tally: plain('tally-signature', { eventId: 't-1' }, { encoding: 'base64' }),
  'Twitch EventSub': {
    body: { subscription: { type: 'channel.follow' }, event: { user_id: '1337' } },
    sign(text, at) {
      const time = new Date(at).toISOString().replace(/\.(\d+)Z$/, '.$1234626Z')
      return {
        'twitch-eventsub-message-id': 'e76c6bd4-55c9-4987-8304-da1588d8988b',
        'twitch-eventsub-message-timestamp': time,
        'twitch-eventsub-message-signature': `sha256=${hmac(`e76c6bd4-55c9-4987-8304-da1588d8988b${time}${text}`)}`,
      }
    },
    async handshake({ post }) {
      assert.deepEqual(await post('{"challenge":"pogchamp","subscription":{"id":"f1c2"}}'), {
        status: 200,
        text: 'pogchamp',
      })
    },
  },
  Vercel: plain('x-vercel-signature', { id: 'v-1', type: 'deployment.created' }, { hash: 'sha1' }),
  Viber: {
    ...plain('x-viber-content-signature', { event: 'message', message_token: '4912661846655238145' }),
    comparedWith: 'MessageValidator of viber-bot 1.0.18',
  },
  Vonage: {
    body: { message_uuid: 'u-1', channel: 'sms' },
    sign: async (text, at) => ({
      authorization: `Bearer ${await new SignJWT({ iss: 'Vonage', payload_hash: hash('sha256', text) })
        .setProtectedHeader({ alg: 'HS256' })
        .setIssuedAt(Number(seconds(at)))
        .sign(Buffer.from(SECRET))}`,
    }),
  },
  Midtrans: {
    body: {
      transaction_id: 't-1',
      transaction_status: 'settlement',
      order_id: 'o-1',
      status_code: '200',
      gross_amount: '145000.00',
      signature_key: hash('sha512', `o-1200145000.00${SECRET}`),
    },
    sign: () => ({}),
  },
  Wompi: {
    body: {
      event: 'transaction.updated',
      data: { transaction: { id: '01-1532941443-49201', status: 'APPROVED', amount_in_cents: 4490000 } },
      signature: {
        properties: ['transaction.id', 'transaction.status', 'transaction.amount_in_cents'],
        checksum: hash('sha256', `01-1532941443-49201APPROVED44900001530291411${SECRET}`),
      },
      timestamp: 1530291411,
    },
    sign: () => ({}),
  },
  Zalo: {
    body: {
      app_id: '360846524940903967',
      event_name: 'user_send_text',
      timestamp: String(NOW),
      message: { msg_id: 'z-1' },
    },
    sign: (text) => ({
      'x-zevent-signature': `mac=${hash('sha256', `ZALO_APP_ID${text}${NOW}${SECRET}`)}`,
    }),
  },
}
