import { generateKeyPairSync, hash, type KeyObject, sign } from 'node:crypto'
import { FlattenedSign, SignJWT } from 'jose'
import { serveKeys } from './keys.ts'
import { ADDRESS, FORM, hmac, NOW, SECRET, seconds } from './sample.ts'

export type Delivery = { body: string; headers?: Record<string, string>; query?: string }
/** A delivery of a provider without a preset, and the check before the first one. */
export type OtherSample = {
  /** The secret as the provider shows it. Default: `SECRET`. */
  secret?: string
  /** Options of `verify` that a user adds, such as the address of the provider's keys. */
  userOptions?: object
  /** What the sample was compared with: the provider's library, a test vector, an example. */
  comparedWith?: string
  delivery: Delivery | Promise<Delivery>
  /** The check before the first delivery, and its answer. */
  challenge?: Partial<Delivery> & { answer: string; header?: [name: string, value: string] }
}

const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const ed = generateKeyPairSync('ed25519')
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const pem = (keys: { publicKey: KeyObject }) => String(keys.publicKey.export({ type: 'spki', format: 'pem' }))

const event = JSON.stringify({ id: 'e-1', type: 'created' })
const manus = JSON.stringify({ event_id: 'm-1', event_type: 'task_created' })
const list = (...items: object[]) => JSON.stringify(items)
const code = { query: `?code=${SECRET}` }
export const alerts = JSON.stringify({
  alerts: [{ fingerprint: 'f', status: 'firing', startsAt: '2026-11-28' }],
})
const lines = '{"ClientIP":"192.0.2.1"}\n{"ClientIP":"192.0.2.2"}\n'
const signed = (header: string, body = event): OtherSample => ({
  delivery: { body, headers: { [header]: hmac(body) } },
})
const time = seconds(NOW)
/** The example of hellosign-ruby-sdk, examples/EventCallback.rb. */
export const dropboxSign = {
  key: '324e3b0840f065eb51f3fd63231d0d33daa35d4ed10d27718839e81737065782',
  event: {
    event_time: '1669926463',
    event_type: 'account_confirmed',
    event_hash: 'ff8b03439122f9160500c3fb855bdee5a9ccba5fff27d3b258745d8f3074832f',
  },
}
const keys = await serveKeys()
/** A signature without its body, which is not encoded (RFC 7797). */
async function detached(header: string, own: object = {}): Promise<Delivery> {
  const jws = await new FlattenedSign(Buffer.from(event))
    .setProtectedHeader({ alg: 'RS256', kid: 'k1', b64: false, crit: ['b64'], ...own })
    .sign(keys.privateKey)
  return { body: event, headers: { [header]: `${jws.protected}..${jws.signature}` } }
}
const mandrill = JSON.stringify([{ event: 'send', _id: 'm1', msg: { email: 'ada@example.com' } }])
/** The form of the events that Intuit documents, of two companies. */
const quickBooks = list(
  ...['310687', '310688'].map((intuitaccountid, at) => ({
    specversion: '1.0',
    id: `88cd52aa-33b6-4351-9aa4-47572edbd06${at}`,
    source: 'intuit.dsnBgbseACLLRZNxo2dfc4evmEJdxde58xeeYcZliOU=',
    type: 'qbo.invoice.created.v1',
    datacontenttype: 'application/json',
    time: '2026-05-31T21:31:25.179Z',
    intuitentityid: '95',
    intuitaccountid,
    data: {},
  })),
)
const hexSecret = '0f'.repeat(64)

/** The samples of providers without a preset that need more options. */
export const OTHER_SAMPLES: Record<string, OtherSample> = {
  Alertmanager: { delivery: { body: alerts, headers: { authorization: `Bearer ${SECRET}` } } },
  Asana: {
    ...signed('x-hook-signature', JSON.stringify({ events: [{ action: 'changed' }] })),
    challenge: { headers: { 'x-hook-secret': 'b537' }, answer: '', header: ['x-hook-secret', 'b537'] },
  },
  'Azure Event Grid': {
    delivery: {
      body: list({ topic: '/t', id: 'a', eventType: 'x' }, { topic: '/t', id: 'b', eventType: 'x' }),
      ...code,
    },
    challenge: {
      body: list({ id: 'v', data: { validationCode: '512d38b6' } }),
      answer: '{"validationResponse":"512d38b6"}',
    },
  },
  'Circle (USDC)': {
    secret: pem(ec),
    delivery: {
      body: '{"notificationId":"n-1"}',
      headers: {
        'x-circle-signature': sign('sha256', Buffer.from('{"notificationId":"n-1"}'), ec.privateKey).toString(
          'base64',
        ),
      },
    },
  },
  'Cloudflare Logpush': { delivery: { body: lines, headers: { 'x-logpush-secret': SECRET } } },
  Dropbox: {
    ...signed('x-dropbox-signature'),
    challenge: { query: '?challenge=abc', answer: 'abc' },
  },
  'Constant Contact': {
    userOptions: { jwks: keys.url },
    delivery: detached('x-ctct-webhook-sig', { ts: Number(time) }),
  },
  'Dropbox Sign': {
    secret: dropboxSign.key,
    comparedWith: 'an example of its library',
    delivery: {
      body: new URLSearchParams({ json: JSON.stringify({ event: dropboxSign.event }) }).toString(),
      headers: { 'content-type': FORM },
    },
  },
  Fastly: { delivery: { body: lines, headers: { 'x-log-secret': SECRET } } },
  GetStream: {
    delivery: { body: event, headers: { 'x-signature': hmac(event), 'x-webhook-id': 'call-1' } },
  },
  Grafana: { delivery: { body: alerts, headers: { authorization: `Bearer ${SECRET}` } } },
  LinkedIn: {
    delivery: { body: event, headers: { 'x-li-signature': hmac(`hmacsha256=${event}`) } },
    challenge: {
      query: '?challengeCode=890e4665',
      answer: JSON.stringify({ challengeCode: '890e4665', challengeResponse: hmac('890e4665') }),
    },
  },
  Mandrill: {
    delivery: {
      body: new URLSearchParams({ mandrill_events: mandrill }).toString(),
      headers: {
        'content-type': FORM,
        'x-mandrill-signature': hmac(`${ADDRESS}mandrill_events${mandrill}`, 'base64', 'sha1'),
      },
    },
  },
  Manus: {
    secret: pem(rsa),
    delivery: {
      body: manus,
      headers: {
        'x-webhook-timestamp': time,
        'x-webhook-signature': sign(
          'sha256',
          Buffer.from(`${time}.${ADDRESS}.${hash('sha256', manus)}`),
          rsa.privateKey,
        ).toString('base64'),
      },
    },
  },
  'monday.com': {
    delivery: new SignJWT({ accountId: 1 })
      .setProtectedHeader({ alg: 'HS256' })
      .setAudience('https://HOST/PATH')
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(Buffer.from(SECRET.padEnd(32, '-')))
      .then((token) => ({ body: event, headers: { authorization: token } })),
    secret: SECRET.padEnd(32, '-'),
    challenge: { body: '{"challenge":"3eZb"}', answer: '{"challenge":"3eZb"}' },
  },
  Nylas: {
    ...signed('x-nylas-signature'),
    challenge: { query: '?challenge=bc609b38', answer: 'bc609b38' },
  },
  Okta: {
    delivery: {
      body: JSON.stringify({ data: { events: [{ uuid: 'u-1' }, { uuid: 'u-2' }] } }),
      headers: { authorization: SECRET },
    },
    challenge: {
      headers: { 'x-okta-verification-challenge': 'my-value' },
      answer: '{"verification":"my-value"}',
    },
  },
  Onfleet: {
    secret: hexSecret,
    delivery: {
      body: event,
      headers: { 'x-onfleet-signature': hmac(event, 'hex', 'sha512', Buffer.from(hexSecret, 'hex')) },
    },
    challenge: { query: '?check=x1', answer: 'x1' },
  },
  Plex: { delivery: { body: '{"event":"media.play"}', ...code } },
  QuickBooks: {
    delivery: {
      body: quickBooks,
      headers: { 'intuit-signature': hmac(quickBooks, 'base64') },
    },
  },
  Saleor: { userOptions: { jwks: keys.url }, delivery: detached('saleor-signature') },
  'Salesforce (outbound messages)': {
    delivery: { body: '<soapenv:Envelope/>', headers: { 'content-type': 'text/xml' }, ...code },
  },
  Smartsheet: {
    ...signed('smartsheet-hmac-sha256', JSON.stringify({ events: [{ eventType: 'updated' }] })),
    challenge: {
      headers: { 'smartsheet-hook-challenge': 'd78dd1d3' },
      answer: '{"smartsheetHookResponse":"d78dd1d3"}',
    },
  },
  SparkPost: {
    delivery: {
      body: list({ msys: { message_event: { event_id: 's-1' } } }),
      headers: { authorization: `Basic ${Buffer.from(`sparkpost:${SECRET}`).toString('base64')}` },
    },
  },
  Strava: {
    delivery: { body: '{"object_type":"activity","object_id":1}', ...code },
    challenge: {
      query: `?code=${SECRET}&hub.verify_token=STRAVA_VERIFY_TOKEN&hub.challenge=15f7`,
      answer: '{"hub.challenge":"15f7"}',
    },
  },
  'Supabase (Database Webhooks)': {
    delivery: { body: '{"type":"INSERT","table":"orders"}', headers: { authorization: `Bearer ${SECRET}` } },
  },
  Telnyx: {
    secret: pem(ed),
    comparedWith: 'webhooks.unwrap of telnyx 7.24.0',
    delivery: {
      body: '{"data":{"id":"t-1"}}',
      headers: {
        'telnyx-timestamp': time,
        'telnyx-signature-ed25519': sign(
          null,
          Buffer.from(`${time}|{"data":{"id":"t-1"}}`),
          ed.privateKey,
        ).toString('base64'),
      },
    },
  },
  'Uptime Kuma': {
    delivery: { body: '{"heartbeat":{},"msg":"down"}', headers: { 'x-kuma-secret': SECRET } },
  },
  VK: {
    delivery: { body: '{"type":"message_new","group_id":1,"event_id":"v-1"}', ...code },
    challenge: { body: '{"type":"confirmation","group_id":1}', answer: 'VK_CONFIRMATION' },
  },
  WooCommerce: {
    delivery: {
      body: '{"id":1}',
      headers: { 'x-wc-webhook-signature': hmac('{"id":1}', 'base64') },
    },
    // Sent without a signature when the webhook is saved.
    challenge: { body: 'webhook_id=12', headers: { 'content-type': FORM }, answer: 'ok' },
  },
  X: {
    delivery: { body: event, headers: { 'x-twitter-webhooks-signature': `sha256=${hmac(event, 'base64')}` } },
    challenge: {
      query: '?crc_token=MTIz',
      answer: JSON.stringify({ response_token: `sha256=${hmac('MTIz', 'base64')}` }),
    },
  },
  Xero: {
    delivery: {
      body: '{"events":[{"resourceId":"r-1"}]}',
      headers: { 'x-xero-signature': hmac('{"events":[{"resourceId":"r-1"}]}', 'base64') },
    },
  },
}
