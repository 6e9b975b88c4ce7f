import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { describe, test } from 'node:test'
import { Webhooks } from '@octokit/webhooks'
import { verifyKey } from 'discord-interactions'
import { Webhook } from 'standardwebhooks'
import Stripe from 'stripe'
import { isJsonObject } from '../../../src/core/json.ts'
import { assertPrompt } from '../../fixtures/in-time.ts'
import { until } from '../../fixtures/until.ts'
import { json, startWebhook } from './harness.ts'

const NOW = Date.UTC(2026, 10, 21)
const SECONDS = String(NOW / 1000)
const form = { 'content-type': 'application/x-www-form-urlencoded' }
type Headers = Record<string, string>

const hmac = (text: string, encoding: 'hex' | 'base64' = 'hex') =>
  createHmac('sha256', 'one').update(text).digest(encoding)

const discord = generateKeyPairSync('ed25519')
const discordKey = discord.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex')

const whsec = `whsec_${btoa('a secret of the standard kind')}`

/** `verify` of each gateway, besides the scheme. The default secret is `one`. */
const options: Record<string, object> = {
  discord: { secret: discordKey },
  meta: { 'verify-token': 'meatyhamhock' },
  'microsoft-graph': { secret: ['old', 'one'] },
  sendgrid: {
    secret:
      'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==',
  },
  square: {
    secret: 'Ibxx_5AKakO-3qeNVR61Dw',
    url: 'https://webhook.site/679a4f3a-dcfa-49ee-bac5-9d0edad886b9',
  },
  'standard-webhooks': { secret: whsec },
  twilio: { secret: '12345', url: 'https://mycompany.com/myapp.php' },
}

const v0 = (family: string, body: string) => ({
  [`${family}-signature`]: `v0=${hmac(`v0:${SECONDS}:${body}`)}`,
  [`${family}-request-timestamp`]: SECONDS,
})

/** Sign like the provider: by its library, or by its documentation. */
const signers: Record<string, (body: string) => Headers | Promise<Headers>> = {
  async discord(body) {
    const signature = sign(null, Buffer.from(SECONDS + body), discord.privateKey).toString('hex')
    assert.ok(await verifyKey(body, signature, SECONDS, discordKey))
    return { 'x-signature-ed25519': signature, 'x-signature-timestamp': SECONDS }
  },
  meta: async (body) => ({ 'x-hub-signature-256': await new Webhooks({ secret: 'one' }).sign(body) }),
  'standard-webhooks': (body) => {
    const signature = new Webhook(whsec).sign('msg_1', new Date(NOW), body)
    return { 'svix-id': 'msg_1', 'svix-timestamp': SECONDS, 'svix-signature': signature }
  },
  stripe(payload) {
    const signed = { payload, secret: 'one', timestamp: NOW / 1000 }
    return { 'stripe-signature': Stripe.webhooks.generateTestHeaderString(signed) }
  },
  telegram: () => ({ 'x-telegram-bot-api-secret-token': 'one' }),
  typeform: (body) => ({ 'typeform-signature': `sha256=${hmac(body, 'base64')}` }),
  zendesk(body) {
    const time = '2026-11-21T00:00:00Z'
    const header = 'x-zendesk-webhook-signature'
    return { [header]: hmac(time + body, 'base64'), [`${header}-timestamp`]: time }
  },
  slack: (body) => v0('x-slack', body),
  zoom: (body) => v0('x-zm', body),
}

const OK = '{"id":'
const TWIML = '<?xml version="1.0" encoding="UTF-8"?><Response></Response>'
const answers: Record<string, [status: number, text: string]> = {
  mailgun: [200, OK],
  meta: [200, OK],
  zoom: [200, OK],
  twilio: [200, TWIML],
}

const token = 'e0b5477167110d68991efc6b9f89f0a11066af27834600e123'
const mailgun = { token, timestamp: SECONDS, signature: hmac(SECONDS + token) }
const opened = JSON.stringify({ signature: mailgun, 'event-data': { event: 'opened', recipient: 'a@b.c' } })
const whatsapp = (from: string) => ({ changes: [{ field: 'messages', value: { messages: [{ from }] } }] })
const graph = (...items: object[]) => JSON.stringify({ value: items })
const created = { changeType: 'created', tenantId: 't' }
const command = { id: '7', type: 2, data: { name: 'ask' }, member: { user: { id: 'U' } }, channel_id: 'C' }
const posted = {
  type: 'event_callback',
  team_id: 'T1',
  event_id: 'Ev1',
  event: { type: 'posted', user: 'U1' },
}
const sms =
  'MessageSid=SM1&SmsStatus=received&From=%2B12349013030&To=%2B18005551212&Body=gr%C3%BC%C3%9Fe+%F0%9F%8C%8D&MediaUrl=b&MediaUrl=a&MediaUrl=b&Empty='
const smsFound = 'received | SM1 received | +12349013030 | +12349013030'
const status =
  'MessageSid=SM1&MessageStatus=delivered&SmsStatus=delivered&From=%2B18005551212&To=%2B12349013030'
const call =
  'CallSid=CA1234567890ABCDE&Caller=%2B12349013030&Digits=1234&From=%2B12349013030&To=%2B18005551212'
const bodyHash = '0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620'
const signedBy = (signature: string) => ({ ...form, 'x-twilio-signature': signature })

/** Unsigned headers that somebody could add to a captured delivery, to have it accepted again. */
const FORGED_IDS = Object.fromEntries(
  'idempotency-key webhook-id svix-id x-github-delivery x-gitea-delivery x-shopify-webhook-id linear-delivery ce-id'
    .split(' ')
    .map((name) => [name, 'another']),
)

/** `expected`: `event | key | from | conversation` of the newest message; `#` is a hash. */
type Case = [name: string, body: object | string, expected: string, more?: More]
/** `count`: number of messages of the delivery. */
type More = { answer?: [number, string]; headers?: Headers; query?: string; now?: number; count?: number }

const cases: Case[] = [
  ['discord, a command', command, 'ask | 7 | U | C', { answer: [200, '{"type":5}'] }],
  [
    'discord, a click',
    { id: '8', type: 3, user: { id: 'U' } },
    ' | 8 | U | ',
    { answer: [200, '{"type":6}'] },
  ],
  ['discord, an event', { type: 1, event: { type: 'JOINED' } }, 'JOINED | # |  | ', { answer: [204, ''] }],
  ['mailgun, an event', opened, `opened | ${token} | a@b.c | `],
  [
    'mailgun, a mail',
    `sender=a@b.c&${new URLSearchParams(mailgun)}`,
    ` | ${token} | a@b.c | `,
    { headers: form },
  ],
  ['meta, WhatsApp', { entry: [whatsapp('49'), whatsapp('49')] }, 'messages | # | 49 | 49'],
  [
    'meta, WhatsApp without a phone number',
    { entry: [{ changes: [{ field: 'messages', value: { messages: [{ from_user_id: 'US.134' }] } }] }] },
    'messages | # | US.134 | US.134',
  ],
  [
    'meta, of two people',
    { entry: [whatsapp('49'), whatsapp('50')] },
    'messages | # | 50 | 50',
    { count: 2 },
  ],
  [
    'meta, Messenger',
    { object: 'page', entry: [{ messaging: [{ sender: { id: 'P' } }] }] },
    'page | # | P | P',
  ],
  [
    'microsoft-graph',
    graph({ id: 'a', clientState: 'one', ...created }, { id: 'b', clientState: 'old', ...created }),
    'created | b | t | ',
    { count: 2 },
  ],
  // The vector of github.com/sendgrid/sendgrid-nodejs, packages/eventwebhook
  [
    'sendgrid',
    '[{"email":"hello@world.com","event":"dropped","reason":"Bounced Address","sg_event_id":"ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA","sg_message_id":"LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0","smtp-id":"<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>","timestamp":1600112492}]\r\n',
    'dropped | ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA | hello@world.com | ',
    {
      headers: {
        'x-twilio-email-event-webhook-signature':
          'MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM=',
        'x-twilio-email-event-webhook-timestamp': '1600112502',
      },
      now: 1_600_112_502_000,
    },
  ],
  // A vector that the WebhooksHelper of Square's library takes
  [
    'square',
    '{"merchant_id":"MLEFBHHSJGVHD","type":"webhooks.test_notification","event_id":"ac3ac95b-f97d-458c-a6e6-18981597e05f","created_at":"2022-07-13T20:30:59.037339943Z","data":{"type":"webhooks","id":"bc368e64-01aa-407e-b46e-3231809b1129"}}',
    'webhooks.test_notification | ac3ac95b-f97d-458c-a6e6-18981597e05f | MLEFBHHSJGVHD | ',
    { headers: { 'x-square-hmacsha256-signature': 'GF4YkrJgGBDZ9NIYbNXBnMzqb2HoL4RW/S6vkZ9/2N4=' } },
  ],
  ['slack, an event', posted, 'posted | T1:Ev1 | U1 | '],
  ['slack, a command', 'command=%2Fask&trigger_id=1.2.abc', ' | 1.2.abc |  | ', { headers: form }],
  ['standard-webhooks', { type: 'user.created' }, 'user.created | msg_1 |  | '],
  ['stripe, v1', { id: 'evt_1', object: 'event', type: 'a.b' }, 'a.b | evt_1 |  | '],
  ['stripe, v2', { id: 'evt_2', object: 'v2.core.event', type: 'c' }, 'c | evt_2 |  | '],
  [
    'telegram',
    { update_id: 5, callback_query: { from: { id: 9 }, message: { chat: { id: -3 } } } },
    'callback_query | 5 | 9 | -3',
  ],
  // Vectors of Twilio's documentation and of its library, version 6
  ['twilio, a message', sms, smsFound, { headers: signedBy('u1h9zFDuIvhSBfUrSO3XosYYm4I=') }],
  ['twilio, with the port', sms, smsFound, { headers: signedBy('Wz2G0gekyiakRG5XIzBOSKcn1Ew=') }],
  [
    'twilio, a status',
    status,
    'delivered | SM1 delivered | +18005551212 | +12349013030',
    { headers: signedBy('WFCyCzKf0RNIAtQwS4yfAXhXHcE=') },
  ],
  [
    'twilio, a call',
    call,
    ' |  | +12349013030 | CA1234567890ABCDE',
    { headers: signedBy('0/KCTR6DLpKmkAf8muzZqo1nDgQ='), query: '?foo=1&bar=2' },
  ],
  [
    'twilio, JSON',
    '{"property": "value", "boolean": true}',
    ' |  |  | ',
    { headers: signedBy('a9nBmqA0ju/hNViExpshrM61xv4='), query: `?foo=1&bar=2&bodySHA256=${bodyHash}` },
  ],
  ['typeform', { event_id: '01', event_type: 'form_response' }, 'form_response | 01 |  | '],
  ['zendesk', { id: 'z1', type: 'zen:event-type:a' }, 'zen:event-type:a | z1 |  | '],
  ['zoom', { event: 'meeting.started', event_ts: 1 }, 'meeting.started | # |  | '],
]

/** Starts the gateway of a case; `post` posts its delivery. */
async function start([name, content, , { headers, query, now = NOW } = {}]: Case, more: object = {}) {
  const [scheme = ''] = name.split(',')
  const verify = { scheme, secret: 'one', ...options[scheme] }
  const hook = await startWebhook({ verify, ...more }, { now: () => now })
  const body = typeof content === 'string' ? content : JSON.stringify(content)
  const proof = { ...json, ...headers, ...(await signers[scheme]?.(body)) }
  const post = async (text = body, headers: Headers = proof) => {
    const response = await fetch(hook.hook + (query ?? ''), { method: 'POST', body: text, headers })
    return [response.status, await response.text()] as const
  }
  return { ...hook, body, proof, post, answer: answers[scheme] ?? [202, OK] }
}

describe('a webhook gateway with a preset', () => {
  for (const each of cases) {
    const [name, , expected, more] = each
    test(`accepts ${name} once, reads its fields, and answers as the provider requires`, async () => {
      const { post, last, store, body, proof, answer } = await start(each)
      const isBodySigned = !/mailgun|graph|telegram/.test(name)
      if (isBodySigned) assert.equal((await post(`${body.slice(0, -4)}~${body.slice(-3)}`))[0], 401)
      const [status, text] = await post()
      const [wantedStatus, wantedText] = more?.answer ?? answer
      assert.equal(status, wantedStatus, text)
      assert.equal(wantedText === OK ? text.slice(0, OK.length) : text, wantedText)
      const { data, key = '', from, id, conversation } = last()
      const lane = conversation === id ? '' : conversation.slice('test:'.length)
      const known = key.startsWith('sha256:') ? '#' : key
      const sender = from.id === '127.0.0.1' ? '' : from.id
      assert.equal([data.event ?? '', known, sender, lane].join(' | '), expected)
      if (key === '') return
      await post(body, { ...FORGED_IDS, ...proof })
      assert.equal(store.messages.length, more?.count ?? 1)
    })
  }

  test('answers Discord and Twilio with the reply of a skill in their format', async () => {
    const replyTo = async (name: string, text = 'a < b') => {
      const found = cases.find(([each]) => each === name)
      assert.ok(found)
      const { post, transport, store } = await start(found, { respond: 'result' })
      const answer = post()
      await until(() => store.messages.length > 0, 'the message')
      const { id = '', conversation = '', data } = store.messages[0] ?? {}
      const target = isJsonObject(data?.replyTarget) ? data.replyTarget : {}
      await transport.send({ key: 'k', gateway: 'test', conversation, inReplyTo: id, target, text })
      return (await answer)[1]
    }
    assert.equal(await replyTo('discord, a command'), '{"type":4,"data":{"content":"a < b"}}')
    const cut = `{"type":4,"data":{"content":"${'x'.repeat(1_999)}…"}}`
    assert.equal(await replyTo('discord, a command', 'x'.repeat(2_001)), cut)
    assert.equal(await replyTo('telegram'), '{"method":"sendMessage","chat_id":"-3","text":"a < b"}')
    assert.match(await replyTo('twilio, a message', 'x'.repeat(1_601)), /<Message>x{1599}…<\/Message>/)
    assert.match(await replyTo('twilio, a message'), /<Response><Message>a &lt; b<\/Message><\/Response>$/)
    assert.match(await replyTo('twilio, a call'), /<Response><Say>a &lt; b<\/Say><\/Response>$/)
  })

  test('answers the checks of a URL by providers, and accepts no message for them', async () => {
    const get = async (address: string, method = 'GET') => {
      const response = await fetch(address, { method })
      assert.equal(response.headers.get('x-content-type-options') ?? 'nosniff', 'nosniff')
      return [response.status, response.headers.get('content-type'), await response.text()]
    }
    const meta = await start(['meta', '{}', ''])
    const ask = `${meta.hook}?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=`
    assert.deepEqual(await get(`${ask}meatyhamhock`), [200, 'text/plain', '1158201444'])
    assert.equal((await get(`${ask}other`))[0], 401)
    assert.equal((await get(`${ask}meatyhamhock`, 'PUT'))[0], 405)

    const graph = await start(['microsoft-graph', '', ''])
    const validate = `${graph.hook}?validationToken=Validation%3a+%3Cb%3E`
    assert.deepEqual(await get(validate, 'POST'), [200, 'text/plain', 'Validation: <b>'])

    const plainToken = 'qgg8vlvZRS6UYooatFL8Aw'
    const validation = { event: 'endpoint.url_validation', payload: { plainToken } }
    const challenges: [scheme: string, check: object, answer: [number, string]][] = [
      ['discord', { type: 1, id: '1' }, [200, '{"type":1}']],
      ['discord', { type: 0 }, [204, '']],
      ['slack', { type: 'url_verification', challenge: '3eZbr' }, [200, '{"challenge":"3eZbr"}']],
      ['zoom', validation, [200, JSON.stringify({ plainToken, encryptedToken: hmac(plainToken) })]],
    ]
    for (const [scheme, check, answer] of challenges) {
      const { post, body, store } = await start([scheme, check, ''])
      assert.deepEqual(await post(), answer)
      assert.equal((await post(body, json))[0], 401)
      assert.equal(store.acceptCalls, 0)
    }
    assert.equal(meta.store.acceptCalls + graph.store.acceptCalls, 0)
  })

  test('refuses notifications of Microsoft without the secret, and removes it from messages and refusals', async () => {
    const { post, last, store, deps } = await start(['microsoft-graph', '', ''], { 'rate-limit': '1/h' })
    const one = { clientState: 'one' }
    const odd = graph({ clientState: { toString: 1 } })
    for (const body of [odd, graph(), graph({}), graph(one, { clientState: 'two' }), '{}', '[]', '"one"']) {
      assert.equal((await post(body))[0], 401, body)
    }
    assert.equal(store.acceptCalls, 0)
    assert.equal((await post(graph({ ...one, resource: 'r' })))[0], 202)
    const kept: unknown[] = [last()]
    deps.refused = (_, about) => void kept.push(String(about?.body))
    assert.equal((await post(graph({ ...one, resource: 'r' })))[0], 429)
    assert.deepEqual(kept[1], '{"value":[{"resource":"r"}]}')
    assert.doesNotMatch(JSON.stringify(kept), /one/)
    assert.deepEqual(last().data.body, { resource: 'r' })
  })

  test('accepts a token of Mailgun once, whatever the rest of the delivery, and none from last week', async () => {
    const { post } = await start(['mailgun', opened, ''])
    assert.equal((await post(opened.replace('e0b5', 'e0b6')))[0], 401)
    await post()
    assert.match((await post(opened.replace('opened', 'failed')))[1], /"duplicate":true/)
    const cut = { timestamp: `${SECONDS}123`, token: 'abc', signature: hmac(`${SECONDS}123abc`) }
    assert.equal((await post(JSON.stringify({ signature: cut })))[0], 401)
    const packed = { ...json, 'content-encoding': 'gzip' }
    assert.equal((await post(opened, packed))[0], 401)
    const late = await start(['mailgun', opened, '', { now: NOW + 8 * 86_400_000 }])
    assert.equal((await late.post())[0], 401)
  })

  test('refuses an unsigned form with very many fields quickly', async () => {
    const { post } = await start(['twilio', Array.from({ length: 50_000 }, (_, n) => n).join('&'), ''])
    const began = performance.now()
    assert.equal((await post())[0], 401)
    await assertPrompt('the refusal', performance.now() - began, 5_000)
  })
})
