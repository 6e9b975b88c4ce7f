import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import { Webhooks } from '@octokit/webhooks'
import { Paddle } from '@paddle/paddle-node-sdk'
import { isValidSlackRequest } from '@slack/bolt'
import { WorkOS } from '@workos-inc/node'
import { verifyKey } from 'discord-interactions'
import { Webhook } from 'standardwebhooks'
import Stripe from 'stripe'
import { ADDRESS, FORM, type Headers, hmac, NOW, plain, type Sample, SECRET, seconds } from './sample.ts'

const discord = generateKeyPairSync('ed25519')
const sendgrid = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
const whsec = `whsec_${Buffer.from('a secret of the standard kind').toString('base64')}`

function standard(family: string, secret: string, body: object): Sample {
  return {
    secret,
    body,
    comparedWith: 'the library `standardwebhooks` (by Svix)',
    sign: (text, at) => ({
      [`${family}-id`]: 'msg_1',
      [`${family}-timestamp`]: seconds(at),
      // Supabase shows its secret with `v1,` before it.
      [`${family}-signature`]: new Webhook(secret.replace('v1,', '')).sign('msg_1', new Date(at), text),
    }),
  }
}

const versioned =
  (family: string) =>
  (text: string, at: number): Headers => ({
    [`${family}-signature`]: `v0=${hmac(`v0:${seconds(at)}:${text}`)}`,
    [`${family}-request-timestamp`]: seconds(at),
  })

const mailgunToken = (at: number) => ({
  timestamp: seconds(at),
  token: 'tok_1',
  signature: hmac(`${seconds(at)}tok_1`),
})
/** A form with a file, as Mailgun sends it. */
function multipart(fields: Record<string, string>): string {
  const part = (head: string, text: string) =>
    `--xYzZY\r\nContent-Disposition: form-data; ${head}\r\n\r\n${text}\r\n`
  const parts = Object.entries(fields).map(([name, text]) => part(`name="${name}"`, text))
  const file = part('name="attachment-1"; filename="a.txt"\r\nContent-Type: text/plain', 'signature=forged')
  return `${parts.join('')}${file}--xYzZY--\r\n`
}

const github = (body: object | string, type?: string): Sample => ({
  body,
  ...(type && { type }),
  comparedWith: '@octokit/webhooks',
  sign: async (text) => ({
    'x-github-delivery': 'd-1',
    'x-github-event': 'push',
    'x-hub-signature-256': await new Webhooks({ secret: SECRET }).sign(text),
  }),
})
const noHeaders = () => ({})

/** https://dev.frontapp.com/docs/application-webhooks: the time is in milliseconds. */
function signedByFront(text: string, at: number): Headers {
  return { 'x-front-request-timestamp': String(at), 'x-front-signature': hmac(`${at}:${text}`, 'base64') }
}

const MESSENGER = {
  id: '36401',
  time: NOW,
  messaging: [{ sender: { id: '254' }, recipient: { id: '36401' }, timestamp: NOW, message: { mid: 'm_1' } }],
}

/**
 * The samples of the presets, by the name of the provider in docs/reference/webhook-providers.md; a second
 * one as `NAME / kind`.
 */
export const PRESET_SAMPLES: Record<string, Sample> = {
  Bitbucket: {
    body: { push: { changes: [] } },
    sign: (text) => ({
      'x-event-key': 'repo:push',
      'x-request-uuid': 'u-1',
      'x-hub-signature': `sha256=${hmac(text)}`,
    }),
  },
  Calendly: {
    body: { event: 'invitee.created', payload: { email: 'a@example.com' } },
    sign: (text, at) => ({
      'calendly-webhook-signature': `t=${seconds(at)},v1=${hmac(`${seconds(at)}.${text}`)}`,
    }),
  },
  Clerk: standard('svix', whsec, { type: 'user.created' }),
  Discord: {
    comparedWith: 'discord-interactions',
    secret: discord.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex'),
    body: { id: '7', type: 2, data: { name: 'ask' } },
    async sign(text, at) {
      const signature = sign(null, Buffer.from(seconds(at) + text), discord.privateKey).toString('hex')
      const key = discord.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex')
      assert.ok(await verifyKey(text, signature, seconds(at), key))
      return { 'x-signature-ed25519': signature, 'x-signature-timestamp': seconds(at) }
    },
    async handshake({ post }) {
      assert.deepEqual(await post('{"type":1,"id":"1"}'), { status: 200, text: '{"type":1}' })
    },
  },
  'Front (application)': {
    body: { type: 'inbound_received', payload: { id: 'evt_1', conversation: { id: 'cnv_1' } } },
    sign: signedByFront,
    async handshake({ at, hook }) {
      const body = JSON.stringify({ type: 'sync', authorization: { id: 'cmp_abc' } })
      const headers = { 'content-type': 'application/json', 'x-front-challenge': '3eZbr' }
      const ask = (proof: Headers) => fetch(hook, { method: 'POST', body, headers: { ...headers, ...proof } })
      assert.equal((await ask({})).status, 401)
      const answer = await ask(signedByFront(body, at))
      assert.deepEqual([answer.status, await answer.json()], [200, { challenge: '3eZbr' }])
    },
  },
  'GitHub / form': github(`payload=${encodeURIComponent('{"ref":"main"}')}`, FORM),
  GitHub: github({ ref: 'main' }),
  'Gitea, Forgejo': github({ ref: 'main' }),
  GitLab: {
    body: { object_kind: 'push' },
    sign: () => ({ 'x-gitlab-event': 'Push Hook', 'x-gitlab-token': SECRET, 'idempotency-key': 'i-1' }),
  },
  // Made by the class `Signature` of @hubspot/api-client 14.0.1.
  HubSpot: {
    comparedWith: '@hubspot/api-client',
    secret: 'yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy',
    now: 1795219200000,
    body: '[{"eventId":100,"subscriptionType":"contact.creation","portalId":62515}]',
    sign: () => ({
      'x-hubspot-signature-v3': 'JZ5BC1sthYfuKTG8tWQ7XW+RxzK4LapUaC8pu9tnP50=',
      'x-hubspot-request-timestamp': '1795219200000',
    }),
  },
  Intercom: plain(
    'x-hub-signature',
    { id: 'notif_1', topic: 'user.created' },
    { hash: 'sha1', prefix: 'sha1=' },
  ),
  Linear: {
    comparedWith: 'LinearWebhookClient of @linear/sdk 98.0.0',
    body: { action: 'create', type: 'Issue', webhookTimestamp: NOW },
    sign: (text) => ({ 'linear-delivery': 'l-1', 'linear-event': 'Issue', 'linear-signature': hmac(text) }),
  },
  Mailgun: {
    body: { signature: mailgunToken(NOW), 'event-data': { event: 'opened' } },
    sign: noHeaders,
  },
  'Mailgun / mail': {
    body: String(new URLSearchParams({ ...mailgunToken(NOW), sender: 'a@example.com' })),
    type: FORM,
    sign: noHeaders,
  },
  'Mailgun / mail with files': {
    body: multipart({
      ...mailgunToken(NOW),
      sender: 'a@example.com',
      'body-plain': 'See the file.',
      'attachment-count': '1',
    }),
    type: 'multipart/form-data; boundary=xYzZY',
    sign: noHeaders,
  },
  'Meta (Facebook, Instagram, Messenger, WhatsApp)': {
    ...plain('x-hub-signature-256', { object: 'page', entry: [MESSENGER] }, { prefix: 'sha256=' }),
    userOptions: { 'verify-token': 'meatyhamhock' },
    async handshake({ hook }) {
      const answer = await fetch(`${hook}?hub.mode=subscribe&hub.challenge=42&hub.verify_token=meatyhamhock`)
      assert.deepEqual([answer.status, await answer.text()], [200, '42'])
    },
  },
  'Microsoft Graph': {
    body: { value: [{ id: 'n-1', clientState: SECRET, changeType: 'created' }] },
    sign: noHeaders,
    async handshake({ hook }) {
      const answer = await fetch(`${hook}?validationToken=a%20b`, { method: 'POST' })
      assert.deepEqual([answer.status, await answer.text()], [200, 'a b'])
    },
  },
  'OpenAI, Resend, Svix': standard('webhook', whsec, { type: 'response.completed' }),
  Paddle: {
    comparedWith: '@paddle/paddle-node-sdk',
    secret: 'pdl_ntfset_01_secret',
    body: { event_id: 'evt_01', event_type: 'transaction.completed', data: { customer_id: 'ctm_01' } },
    async sign(text, at) {
      const signatureAt = (time: number) =>
        `ts=${seconds(time)};h1=${hmac(`${seconds(time)}:${text}`, 'hex', 'sha256', 'pdl_ntfset_01_secret')}`
      // The library tolerates five seconds.
      const fresh = signatureAt(Date.now())
      assert.ok(await new Paddle('key').webhooks.isSignatureValid(text, 'pdl_ntfset_01_secret', fresh))
      return { 'paddle-signature': signatureAt(at) }
    },
  },
  PagerDuty: {
    body: { event: { id: 'e-1', event_type: 'incident.triggered' } },
    sign: (text) => ({
      'x-pagerduty-signature': `v1=${hmac(text, 'hex', 'sha256', 'the old secret')},v1=${hmac(text)}`,
    }),
  },
  'SendGrid (events)': {
    comparedWith: 'EventWebhook of @sendgrid/eventwebhook 8.0.0',
    secret: sendgrid.publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
    body: [
      { sg_event_id: 'e-1', event: 'open' },
      { sg_event_id: 'e-2', event: 'open' },
    ],
    sign: (text, at) => ({
      'x-twilio-email-event-webhook-timestamp': seconds(at),
      'x-twilio-email-event-webhook-signature': sign(
        'sha256',
        Buffer.from(seconds(at) + text),
        sendgrid.privateKey,
      ).toString('base64'),
    }),
  },
  Sentry: {
    body: { action: 'created' },
    sign: (text) => ({ 'sentry-hook-resource': 'issue', 'sentry-hook-signature': hmac(text) }),
  },
  Shopify: {
    comparedWith: 'webhooks.validate of @shopify/shopify-api 15.0.0',
    body: { id: 1 },
    sign: (text) => ({
      'x-shopify-topic': 'orders/create',
      'x-shopify-webhook-id': 's-1',
      'x-shopify-shop-domain': 'shop.example.com',
      'x-shopify-hmac-sha256': hmac(text, 'base64'),
    }),
  },
  Slack: {
    comparedWith: '@slack/bolt',
    body: { type: 'event_callback', team_id: 'T1', event_id: 'Ev1', event: { type: 'message' } },
    sign(body, at) {
      const headers = versioned('x-slack')(body, at)
      const given = {
        'x-slack-signature': headers['x-slack-signature'] ?? '',
        'x-slack-request-timestamp': Number(headers['x-slack-request-timestamp']),
      }
      assert.ok(isValidSlackRequest({ signingSecret: SECRET, body, headers: given, nowMilliseconds: at }))
      return headers
    },
    async handshake({ post }) {
      const answer = await post('{"type":"url_verification","challenge":"3eZbr"}')
      assert.deepEqual(answer, { status: 200, text: '{"challenge":"3eZbr"}' })
    },
  },
  // A test vector of the WebhooksHelper in Square's library.
  Square: {
    comparedWith: 'a vector of its library',
    secret: 'Ibxx_5AKakO-3qeNVR61Dw',
    userOptions: { url: 'https://webhook.site/679a4f3a-dcfa-49ee-bac5-9d0edad886b9' },
    body: '{"merchant_id":"MLEFBHHSJGVHD","type":"webhooks.test_notification","event_id":"ac3ac95b-f97d-458c-a6e6-18981597e05f","created_at":"2022-07-13T20:30:59.037339943Z","data":{"type":"webhooks","id":"bc368e64-01aa-407e-b46e-3231809b1129"}}',
    sign: () => ({ 'x-square-hmacsha256-signature': 'GF4YkrJgGBDZ9NIYbNXBnMzqb2HoL4RW/S6vkZ9/2N4=' }),
  },
  Stripe: {
    comparedWith: 'stripe',
    body: { id: 'evt_1', object: 'event', type: 'charge.succeeded' },
    sign(payload, at) {
      const signed = { payload, secret: SECRET, timestamp: Number(seconds(at)) }
      return { 'stripe-signature': Stripe.webhooks.generateTestHeaderString(signed) }
    },
  },
  'Supabase (Auth Hooks)': standard('webhook', `v1,${whsec}`, { type: 'user' }),
  Telegram: {
    body: { update_id: 5, message: {} },
    sign: () => ({ 'x-telegram-bot-api-secret-token': SECRET }),
  },
  Trello: {
    body: { action: { id: 'a-1', type: 'createCard' }, model: { id: 'm-1' } },
    query: '?memberID=14&mainModel=true',
    sign: (text) => ({
      'x-trello-webhook': hmac(`${text}${ADDRESS}?memberID=14&mainModel=true`, 'base64', 'sha1'),
    }),
    async handshake({ hook }) {
      assert.equal((await fetch(hook, { method: 'HEAD' })).status, 200)
    },
  },
  // One of the vectors in `../presets.test.ts`, from Twilio's documentation and its library.
  Twilio: {
    comparedWith: 'a vector of its documentation and its library',
    secret: '12345',
    userOptions: { url: 'https://mycompany.com/myapp.php' },
    body: 'MessageSid=SM1&SmsStatus=received&From=%2B12349013030&To=%2B18005551212&Body=gr%C3%BC%C3%9Fe+%F0%9F%8C%8D&MediaUrl=b&MediaUrl=a&MediaUrl=b&Empty=',
    type: FORM,
    sign: () => ({ 'x-twilio-signature': 'u1h9zFDuIvhSBfUrSO3XosYYm4I=' }),
  },
  Typeform: plain(
    'typeform-signature',
    { event_id: '01', event_type: 'form_response' },
    { encoding: 'base64', prefix: 'sha256=' },
  ),
  WorkOS: {
    comparedWith: '@workos-inc/node',
    body: { id: 'event_01', event: 'user.created', data: { id: 'user_01' } },
    async sign(payload, at) {
      const sigHeader = `t=${at}, v1=${hmac(`${at}.${payload}`)}`
      const { webhooks } = new WorkOS('sk_test')
      // `at` was read when this file was loaded, which can be minutes ago.
      assert.ok(await webhooks.verifyHeader({ payload, sigHeader, secret: SECRET, tolerance: 3_600_000 }))
      return { 'workos-signature': sigHeader }
    },
  },
  Zendesk: {
    body: { id: 'z-1', type: 'zen:event-type:ticket.created' },
    sign(text, at) {
      const time = new Date(at).toISOString()
      const header = 'x-zendesk-webhook-signature'
      return { [`${header}-timestamp`]: time, [header]: hmac(time + text, 'base64') }
    },
  },
  Zoom: {
    body: { event: 'meeting.started', event_ts: 1 },
    sign: versioned('x-zm'),
    async handshake({ post }) {
      const body = { event: 'endpoint.url_validation', payload: { plainToken: 'qgg8' } }
      const { status, text } = await post(JSON.stringify(body))
      assert.deepEqual(
        [status, JSON.parse(text)],
        [200, { plainToken: 'qgg8', encryptedToken: hmac('qgg8') }],
      )
    },
  },
}
