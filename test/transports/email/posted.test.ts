import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, test } from 'node:test'
import { objectAt } from '../../../src/core/json.ts'
import { CERTIFICATE } from '../../fixtures/sns-signing.ts'
import { NOW } from '../webhook/providers/sample.ts'
import { signed as snsSigned, TOPIC } from '../webhook/providers/sns.ts'
import { mail } from './harness.ts'
import { startApi, startPosted } from './posted.ts'
import { dnsOf, signed } from './signing.ts'

const BASIC = { scheme: 'basic', user: 'postmark', secret: 'open sesame' }
const basic = { authorization: `Basic ${Buffer.from('postmark:open sesame').toString('base64')}` }
const json = { 'content-type': 'application/json' }

/** A delivery of Postmark, as its documentation describes it. */
const postmarkMail = (changes: object = {}) => ({
  FromName: 'Anna Ágnes',
  From: 'anna@example.net',
  FromFull: { Email: 'anna@example.net', Name: 'Anna Ágnes', MailboxHash: '' },
  ToFull: [{ Email: 'support@example.com', Name: 'Support', MailboxHash: '' }],
  CcFull: [{ Email: 'carl@example.org', Name: '', MailboxHash: '' }],
  BccFull: [],
  OriginalRecipient: 'support@example.com',
  Subject: 'Parcel',
  MessageID: '73e6d360-66eb-11e1-8e72-a8904824019b',
  ReplyTo: '',
  MailboxHash: '',
  MessageStream: 'inbound',
  Date: new Date().toUTCString(),
  TextBody: 'Where is it?',
  HtmlBody: '<p>Where is it?</p>',
  StrippedTextReply: 'Where is it?',
  Headers: [
    { Name: 'Message-ID', Value: '<one@example.net>' },
    { Name: 'MIME-Version', Value: '1.0' },
  ],
  Attachments: [
    {
      Name: 'slip.txt',
      Content: Buffer.from('paid').toString('base64'),
      ContentType: 'text/plain',
      ContentLength: 4,
      ContentID: 'slip@1',
    },
  ],
  ...changes,
})

describe('mail posted by a provider', () => {
  test('of Postmark has its text, names, files, thread and reply target', async () => {
    const gateway = await startPosted({ provider: 'postmark', verify: BASIC })
    const { status, body } = await gateway.post(JSON.stringify(postmarkMail()), { ...json, ...basic })
    assert.deepEqual([status, body.outcome], [200, 'accepted'])
    const { from, subject, text, data, attachments, key } = gateway.last()
    assert.deepEqual(from, { id: 'anna@example.net', name: 'Anna Ágnes', address: 'anna@example.net' })
    assert.deepEqual([subject, text, key], ['Parcel', 'Where is it?', 'mid:<one@example.net>'])
    assert.deepEqual([data.cc, data.provider], [['carl@example.org'], 'postmark'])
    assert.deepEqual(
      attachments.map(({ name, size }) => [name, size]),
      [['slip.txt', 4]],
    )
    const target = objectAt(data, 'replyTarget')
    assert.deepEqual(
      [target.to, target.messageId, target.suppress],
      ['anna@example.net', '<one@example.net>', undefined],
    )
    assert.match(String(objectAt(data, 'authentication').detail), /configure it to post the raw mail/)
    const again = await gateway.post(JSON.stringify(postmarkMail()), { ...json, ...basic })
    assert.deepEqual([again.status, gateway.store.messages.length], [200, 1])
  })

  test('of Postmark with its raw mail is verified by its signature', async () => {
    const gateway = await startPosted({ provider: 'postmark', verify: BASIC }, { authentication: 'require' })
    const raw = await signed(mail({ text: 'Signed.' }))
    const post = (RawEmail: string) =>
      gateway.post(JSON.stringify(postmarkMail({ RawEmail })), { ...json, ...basic })
    assert.equal((await post(raw.toString())).body.outcome, 'accepted')
    assert.equal(gateway.last().from.verified, true)
    assert.equal((await post(raw.toString().replace('Signed.', 'Forged.'))).body.outcome, 'refused')
    assert.equal(gateway.store.messages.length, 1)
    assert.deepEqual(gateway.refused, ['authentication'])
  })

  test('of a robot is not answered, and an own mail is not a message', async () => {
    const gateway = await startPosted({
      provider: 'cloudflare',
      verify: { scheme: 'bearer', secret: 'a-secret' },
    })
    const headers = { authorization: 'Bearer a-secret', 'content-type': 'message/rfc822' }
    await gateway.post(mail({ headers: { 'Auto-Submitted': 'auto-replied' } }), headers)
    assert.equal(objectAt(gateway.last().data, 'replyTarget').suppress, 'auto-submitted')
    const own = `trivium-check.${crypto.randomUUID()}@example.com`
    assert.equal((await gateway.post(mail({ id: own }), headers)).body.outcome, 'own')
  })

  test('of Mailgun is raw, parsed, or fetched from its storage', async () => {
    const raw = mail({ text: 'Stored.', id: 'stored@example.net' })
    const api = await startApi(() => ({ body: { 'body-mime': raw } }))
    const options = {
      provider: 'mailgun',
      verify: { scheme: 'mailgun', secret: 'signing' },
      key: 'key-1',
      url: api.url,
    }
    const gateway = await startPosted(options)
    const proof = (token: string) => {
      const timestamp = String(Math.floor(Date.now() / 1000))
      const signature = createHmac('sha256', 'signing')
        .update(timestamp + token)
        .digest('hex')
      return { timestamp, token, signature }
    }
    const token = (digit: number) => String(digit).repeat(50)
    const common = { recipient: 'support@example.com', sender: 'anna@example.net', subject: 'Help' }

    const whole = { ...common, ...proof(token(1)), 'body-mime': mail({ text: 'As it was.' }) }
    assert.equal((await gateway.post(new URLSearchParams(whole))).body.outcome, 'accepted')
    assert.equal(gateway.last().text, 'As it was.')

    const form = new FormData()
    const pieces = {
      ...common,
      ...proof(token(2)),
      'body-plain': 'In pieces.',
      'stripped-text': 'In pieces.',
      'message-headers': JSON.stringify([
        ['From', 'Anna <anna@example.net>'],
        ['To', 'support@example.com'],
        ['Subject', 'Help'],
        ['Message-Id', '<pieces@example.net>'],
        ['Auto-Submitted', 'auto-generated'],
      ]),
      'content-id-map': JSON.stringify({ '<slip@1>': 'attachment-1' }),
      'attachment-count': '1',
    }
    for (const [name, value] of Object.entries(pieces)) form.set(name, value)
    form.set('attachment-1', new Blob(['paid'], { type: 'text/plain' }), 'slip.txt')
    assert.equal((await gateway.post(form)).body.outcome, 'accepted')
    const message = gateway.last()
    assert.deepEqual(
      [message.text, message.key, message.attachments.length],
      ['In pieces.', 'mid:<pieces@example.net>', 1],
    )
    assert.deepEqual(
      [message.data.auto, Object.keys(objectAt(message.data, 'inline'))],
      ['auto-submitted', ['slip@1']],
    )

    const stored = { ...common, ...proof(token(3)), 'message-url': `${api.url}/v3/domains/x/messages/1` }
    assert.equal((await gateway.post(new URLSearchParams(stored))).body.outcome, 'accepted')
    assert.equal(gateway.last().text, 'Stored.')
    assert.equal(
      api.requests[0]?.headers.authorization,
      `Basic ${Buffer.from('api:key-1').toString('base64')}`,
    )

    const elsewhere = { ...common, ...proof(token(4)), 'message-url': 'https://mailgun.net.evil.example/1' }
    const refusal = await gateway.post(new URLSearchParams(elsewhere))
    assert.deepEqual([refusal.status, refusal.body.error.code], [400, 'bad_request'])
    assert.match(refusal.body.error.message, /not at Mailgun/)
    assert.equal(
      (await gateway.post(new URLSearchParams({ ...whole, signature: 'f'.repeat(64) }))).status,
      401,
    )
  })

  test('of Resend is fetched by its id, and answered 503 while that fails', async () => {
    const raw = await signed(mail({ text: 'Fetched.' }))
    let isDown = true
    const api = await startApi(({ path }) => {
      if (isDown) return { status: 500 }
      return path.startsWith('/emails')
        ? { body: { raw: { download_url: `${api.url}/download` } } }
        : { body: raw }
    })
    const secret = `whsec_${Buffer.from('the secret of the endpoint').toString('base64')}`
    const gateway = await startPosted({
      provider: 'resend',
      verify: { scheme: 'standard-webhooks', secret },
      key: 're_1',
      url: api.url,
    })
    const post = (body: object, id = 'msg_1') => {
      const text = JSON.stringify(body)
      const time = String(Math.floor(Date.now() / 1000))
      const key = Buffer.from('the secret of the endpoint')
      const signature = `v1,${createHmac('sha256', key).update(`${id}.${time}.${text}`).digest('base64')}`
      return gateway.post(text, {
        ...json,
        'svix-id': id,
        'svix-timestamp': time,
        'svix-signature': signature,
      })
    }
    const event = {
      type: 'email.received',
      data: { email_id: '56761188', from: 'anna@example.net', to: ['support@example.com'] },
    }
    const first = await post(event)
    assert.deepEqual(
      [first.status, first.body.error.code, gateway.store.messages.length],
      [503, 'mail_unavailable', 0],
    )
    isDown = false
    assert.equal((await post(event)).body.outcome, 'accepted')
    assert.deepEqual(
      [gateway.last().text, gateway.last().from.verified, gateway.last().data.providerId],
      ['Fetched.', true, '56761188'],
    )
    assert.equal((await post({ type: 'email.delivered', data: {} }, 'msg_2')).body.outcome, 'ignored')
    assert.equal(api.requests.at(-2)?.headers.authorization, 'Bearer re_1')
    assert.equal(api.requests.at(-1)?.headers.authorization, undefined)
  })

  test('of SES is read from an SNS message, and refused with the place if it is only in a bucket', async (t) => {
    const realFetch = fetch
    t.mock.method(globalThis, 'fetch', async (address: string | URL, init?: RequestInit) =>
      new URL(String(address)).hostname === '127.0.0.1'
        ? realFetch(address, init)
        : new Response(CERTIFICATE),
    )
    const gateway = await startPosted(
      { provider: 'ses', verify: { scheme: 'sns', topic: TOPIC } },
      {},
      { now: () => NOW },
    )
    const notification = (action: object, more: object = {}) =>
      snsSigned({
        Message: JSON.stringify({
          notificationType: 'Received',
          receipt: { recipients: ['support@example.com'], action },
          mail: { messageId: 'd6iitobk75ur44p8', timestamp: new Date(NOW).toISOString() },
          ...more,
        }),
      })
    const plain = { 'content-type': 'text/plain; charset=UTF-8' }
    const post = (message: object) => gateway.post(JSON.stringify(message), plain)
    const raw = mail({ text: 'Grüße.', headers: { Date: new Date(NOW).toUTCString() } })
    const inside = notification(
      { type: 'SNS', encoding: 'BASE64' },
      { content: Buffer.from(raw).toString('base64') },
    )
    assert.equal((await post(inside)).body.outcome, 'accepted')
    assert.equal(gateway.last().text, 'Grüße.')
    const outside = await post(notification({ type: 'S3', bucketName: 'my-mail', objectKey: 'in/1' }))
    assert.equal(outside.status, 400)
    assert.match(
      outside.body.error.message,
      /S3 bucket my-mail as in\/1.*SNS action with the encoding Base64/,
    )
    assert.equal((await post(snsSigned({ Type: 'SubscriptionConfirmation' }))).body.outcome, 'confirmed')
    assert.equal(
      (await post(snsSigned({ Message: '{"notificationType":"Bounce"}' }))).body.outcome,
      'ignored',
    )
    assert.equal((await post({ ...inside, Message: '{}' })).status, 401)
    assert.equal(gateway.store.messages.length, 1)
  })

  test('of SendGrid is raw or parsed', async () => {
    const gateway = await startPosted({ provider: 'sendgrid', verify: BASIC })
    const raw = new FormData()
    raw.set('email', mail({ text: 'Raw.' }))
    raw.set('envelope', '{"to":["support@example.com"],"from":"anna@example.net"}')
    assert.equal((await gateway.post(raw, basic)).body.outcome, 'accepted')
    assert.equal(gateway.last().text, 'Raw.')
    const pieces = new FormData()
    pieces.set(
      'headers',
      'From: Anna <anna@example.net>\nTo: support@example.com\nSubject: Re: Help\nMessage-ID: <two@example.net>\nReferences: <root@example.net>\n',
    )
    pieces.set('text', 'Pieces.')
    pieces.set('attachments', '1')
    pieces.set('attachment1', new Blob(['x'], { type: 'image/png' }), 'a.png')
    assert.equal((await gateway.post(pieces, basic)).body.outcome, 'accepted')
    assert.deepEqual([gateway.last().text, gateway.last().attachments[0]?.type], ['Pieces.', 'image/png'])
  })
})

describe('deliveries of mail', () => {
  test('with a wrong signature, body or size are refused with different codes', async () => {
    const gateway = await startPosted({ provider: 'postmark', verify: BASIC }, { 'max-size': '4kb' })
    const refusal = async (body: string, headers = {}) => {
      const answer = await gateway.post(body, { ...json, ...basic, ...headers })
      return [answer.status, answer.body.error?.code]
    }
    assert.deepEqual(await refusal('{}', { authorization: 'Basic eDp5' }), [401, 'signature_invalid'])
    assert.deepEqual(await refusal('{"MessageID":'), [400, 'bad_request'])
    assert.deepEqual(await refusal('{"MessageID":"1"}'), [400, 'bad_request'])
    assert.deepEqual(await refusal('[]'), [400, 'bad_request'])
    assert.deepEqual(await refusal('x'.repeat(2_000_000)), [413, 'body_too_large'])
    assert.equal(gateway.store.messages.length, 0)
    assert.equal(gateway.refused.length, 5)
  })

  test('with a large or truncated raw mail are accepted', async () => {
    const gateway = await startPosted({ provider: 'postmark', verify: BASIC }, { 'max-size': '4kb' })

    const large = mail({ text: 'x'.repeat(5_000), subject: 'Large' })
    const answer = await gateway.post(JSON.stringify(postmarkMail({ RawEmail: large })), {
      ...json,
      ...basic,
    })
    assert.equal(answer.body.outcome, 'accepted')
    const message = gateway.last()
    assert.deepEqual(
      [message.subject, message.text, message.attachments[0]?.size],
      ['Large', '', Buffer.byteLength(large)],
    )
    assert.match(String(message.data.unreadable), /max-size is 4096\. It is attached as mail\.eml/)

    const cut = `${mail({ headers: { 'Content-Type': 'multipart/mixed; boundary=b' }, text: '--b\nContent-Type: text/plain\n\nUp to he' }).trimEnd()}`
    await gateway.post(JSON.stringify(postmarkMail({ RawEmail: cut })), { ...json, ...basic })
    assert.equal(gateway.last().text, 'Up to he')
  })

  test('whose sender cannot be verified yet are answered 503, and accepted after the limit', async () => {
    let now = Date.now()
    const down = dnsOf({}, () => 'ESERVFAIL')
    const secret = { scheme: 'bearer', secret: 'a-secret' }
    const gateway = await startPosted(
      { provider: 'cloudflare', verify: secret },
      {},
      { now: () => now, overrides: { resolver: down, decisionTimeout: 60_000 } },
    )
    const raw = new Uint8Array(await signed(mail({ text: 'Whose?' })))
    const post = () => gateway.post(raw, { authorization: 'Bearer a-secret' })
    const first = await post()
    assert.deepEqual([first.status, first.body.error.code], [503, 'mail_unavailable'])
    now += 30_000
    assert.equal((await post()).status, 503)
    const notes = gateway.logs.filter(({ message }) => message === 'a mail was set aside')
    assert.equal(notes.length, 1, 'the log has each mail once')
    now += 31_000
    assert.equal((await post()).body.outcome, 'accepted')
    assert.equal(objectAt(gateway.last().data, 'replyTarget').suppress, 'unauthenticated')
  })
})

describe('a gateway for posted mail', () => {
  test('with a wrong configuration is refused with the missing or wrong option', async () => {
    const faultOf = async (webhook: object, options = {}) => {
      const error = await startPosted(webhook, options).catch((thrown: unknown) => thrown)
      return String(error)
    }
    assert.match(await faultOf({ provider: 'postmark' }), /missing key \\"verify\\": for postmark .*basic/)
    assert.match(await faultOf({ provider: 'ses', verify: BASIC }), /comes through SNS/)
    assert.match(await faultOf({ provider: 'resend', verify: BASIC }), /missing key \\"key\\"/)
    assert.match(
      await faultOf({ provider: 'postmark', verify: BASIC }, { inbound: 'imap' }),
      /missing key \\"imap\\".*inbound: webhook/s,
    )
    assert.match(
      await faultOf({ provider: 'postmark', verify: BASIC }, { outbound: 'smtp' }),
      /missing key \\"smtp\\"/,
    )
    assert.match(
      await faultOf({ provider: 'postmark', verify: BASIC }, { api: { provider: 'ses' } }),
      /missing key \\"region\\"/,
    )
    assert.match(await faultOf({ provider: 'postmark', verify: BASIC }, { after: 'delete' }), /in no folder/)
    assert.match(
      await faultOf({ provider: 'postmark', verify: BASIC }, { handover: 'on-human-reply' }),
      /needs `sent: \{ folder \}`/,
    )
    assert.match(
      await faultOf({ provider: 'postmark', verify: BASIC }, { handover: 'sometimes' }),
      /expected on-human-reply/,
    )
  })
})
