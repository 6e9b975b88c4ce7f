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

/** A delivery of Postmark's, by hand after its documentation. */
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

describe('mail that a provider posts', () => {
  test('of Postmark comes in pieces: text, names, files, thread and reply target', async () => {
    const world = await startPosted({ provider: 'postmark', verify: BASIC })
    const { status, body } = await world.post(JSON.stringify(postmarkMail()), { ...json, ...basic })
    assert.deepEqual([status, body.outcome], [200, 'accepted'])
    const { from, subject, text, data, attachments, key } = world.last()
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
    const again = await world.post(JSON.stringify(postmarkMail()), { ...json, ...basic })
    assert.deepEqual([again.status, world.store.messages.length], [200, 1])
  })

  test('of Postmark as it came is proven by its own signature', async () => {
    const world = await startPosted({ provider: 'postmark', verify: BASIC }, { authentication: 'require' })
    const raw = await signed(mail({ text: 'Signed.' }))
    const post = (RawEmail: string) =>
      world.post(JSON.stringify(postmarkMail({ RawEmail })), { ...json, ...basic })
    assert.equal((await post(raw.toString())).body.outcome, 'accepted')
    assert.equal(world.last().from.verified, true)
    assert.equal((await post(raw.toString().replace('Signed.', 'Forged.'))).body.outcome, 'refused')
    assert.equal(world.store.messages.length, 1)
    assert.deepEqual(world.refused, ['authentication'])
  })

  test('answers a robot never, and takes no copy of its own mail for a message', async () => {
    const world = await startPosted({
      provider: 'cloudflare',
      verify: { scheme: 'bearer', secret: 'a-secret' },
    })
    const as = { authorization: 'Bearer a-secret', 'content-type': 'message/rfc822' }
    await world.post(mail({ headers: { 'Auto-Submitted': 'auto-replied' } }), as)
    assert.equal(objectAt(world.last().data, 'replyTarget').suppress, 'auto-submitted')
    const own = `trivium-check.${crypto.randomUUID()}@example.com`
    assert.equal((await world.post(mail({ id: own }), as)).body.outcome, 'own')
  })

  test('of Mailgun comes as it was, in pieces, or is fetched where it is stored', async () => {
    const raw = mail({ text: 'Stored.', id: 'stored@example.net' })
    const api = await startApi(() => ({ body: { 'body-mime': raw } }))
    const options = {
      provider: 'mailgun',
      verify: { scheme: 'mailgun', secret: 'signing' },
      key: 'key-1',
      url: api.url,
    }
    const world = await startPosted(options)
    const proof = (token: string) => {
      const timestamp = String(Math.floor(Date.now() / 1000))
      const signature = createHmac('sha256', 'signing')
        .update(timestamp + token)
        .digest('hex')
      return { timestamp, token, signature }
    }
    const token = (at: number) => String(at).repeat(50)
    const common = { recipient: 'support@example.com', sender: 'anna@example.net', subject: 'Help' }

    const whole = { ...common, ...proof(token(1)), 'body-mime': mail({ text: 'As it was.' }) }
    assert.equal((await world.post(new URLSearchParams(whole))).body.outcome, 'accepted')
    assert.equal(world.last().text, 'As it was.')

    const form = new FormData()
    const pieces = {
      ...{ ...common, ...proof(token(2)), 'body-plain': 'In pieces.', 'stripped-text': 'In pieces.' },
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
    assert.equal((await world.post(form)).body.outcome, 'accepted')
    const message = world.last()
    assert.deepEqual(
      [message.text, message.key, message.attachments.length],
      ['In pieces.', 'mid:<pieces@example.net>', 1],
    )
    assert.deepEqual(
      [message.data.auto, Object.keys(objectAt(message.data, 'inline'))],
      ['auto-submitted', ['slip@1']],
    )

    const stored = { ...common, ...proof(token(3)), 'message-url': `${api.url}/v3/domains/x/messages/1` }
    assert.equal((await world.post(new URLSearchParams(stored))).body.outcome, 'accepted')
    assert.equal(world.last().text, 'Stored.')
    assert.equal(api.asked[0]?.headers.authorization, `Basic ${Buffer.from('api:key-1').toString('base64')}`)

    const elsewhere = { ...common, ...proof(token(4)), 'message-url': 'https://mailgun.net.evil.example/1' }
    const refusal = await world.post(new URLSearchParams(elsewhere))
    assert.deepEqual([refusal.status, refusal.body.error.code], [400, 'bad_request'])
    assert.match(refusal.body.error.message, /not at Mailgun/)
    assert.equal((await world.post(new URLSearchParams({ ...whole, signature: 'f'.repeat(64) }))).status, 401)
  })

  test('of Resend is fetched by its id, and posted again while it cannot be', async () => {
    const raw = await signed(mail({ text: 'Fetched.' }))
    let isDown = true
    const api = await startApi(({ path }) => {
      if (isDown) return { status: 500 }
      return path.startsWith('/emails')
        ? { body: { raw: { download_url: `${api.url}/download` } } }
        : { body: raw }
    })
    const secret = `whsec_${Buffer.from('the secret of the endpoint').toString('base64')}`
    const world = await startPosted({
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
      return world.post(text, { ...json, 'svix-id': id, 'svix-timestamp': time, 'svix-signature': signature })
    }
    const event = {
      type: 'email.received',
      data: { email_id: '56761188', from: 'anna@example.net', to: ['support@example.com'] },
    }
    const first = await post(event)
    assert.deepEqual(
      [first.status, first.body.error.code, world.store.messages.length],
      [503, 'mail_unavailable', 0],
    )
    isDown = false
    assert.equal((await post(event)).body.outcome, 'accepted')
    assert.deepEqual(
      [world.last().text, world.last().from.verified, world.last().data.providerId],
      ['Fetched.', true, '56761188'],
    )
    assert.equal((await post({ type: 'email.delivered', data: {} }, 'msg_2')).body.outcome, 'ignored')
    assert.deepEqual(api.asked.map(({ headers }) => headers.authorization).at(-2), 'Bearer re_1')
    assert.equal(api.asked.at(-1)?.headers.authorization, undefined)
  })

  test('of SES comes through SNS, and its bucket is named where it is there', async (t) => {
    const realFetch = fetch
    t.mock.method(globalThis, 'fetch', async (address: string | URL, init?: RequestInit) =>
      new URL(String(address)).hostname === '127.0.0.1'
        ? realFetch(address, init)
        : new Response(CERTIFICATE),
    )
    const world = await startPosted(
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
    const post = (message: object) => world.post(JSON.stringify(message), plain)
    const raw = mail({ text: 'Grüße.', headers: { Date: new Date(NOW).toUTCString() } })
    const inside = notification(
      { type: 'SNS', encoding: 'BASE64' },
      { content: Buffer.from(raw).toString('base64') },
    )
    assert.equal((await post(inside)).body.outcome, 'accepted')
    assert.equal(world.last().text, 'Grüße.')
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
    assert.equal(world.store.messages.length, 1)
  })

  test('of SendGrid comes as it was or in pieces', async () => {
    const world = await startPosted({ provider: 'sendgrid', verify: BASIC })
    const raw = new FormData()
    raw.set('email', mail({ text: 'Raw.' }))
    raw.set('envelope', '{"to":["support@example.com"],"from":"anna@example.net"}')
    assert.equal((await world.post(raw, basic)).body.outcome, 'accepted')
    assert.equal(world.last().text, 'Raw.')
    const pieces = new FormData()
    pieces.set(
      'headers',
      'From: Anna <anna@example.net>\nTo: support@example.com\nSubject: Re: Help\nMessage-ID: <two@example.net>\nReferences: <root@example.net>\n',
    )
    pieces.set('text', 'Pieces.')
    pieces.set('attachments', '1')
    pieces.set('attachment1', new Blob(['x'], { type: 'image/png' }), 'a.png')
    assert.equal((await world.post(pieces, basic)).body.outcome, 'accepted')
    assert.deepEqual([world.last().text, world.last().attachments[0]?.type], ['Pieces.', 'image/png'])
  })
})

describe('bad deliveries of mail', () => {
  test('are told apart, and lose nothing', async () => {
    const world = await startPosted({ provider: 'postmark', verify: BASIC }, { 'max-size': '4kb' })
    const refusal = async (body: string, headers = {}) => {
      const answer = await world.post(body, { ...json, ...basic, ...headers })
      return [answer.status, answer.body.error?.code]
    }
    assert.deepEqual(await refusal('{}', { authorization: 'Basic eDp5' }), [401, 'signature_invalid'])
    assert.deepEqual(await refusal('{"MessageID":'), [400, 'bad_request'])
    assert.deepEqual(await refusal('{"MessageID":"1"}'), [400, 'bad_request'])
    assert.deepEqual(await refusal('[]'), [400, 'bad_request'])
    assert.deepEqual(await refusal('x'.repeat(2_000_000)), [413, 'body_too_large'])
    assert.equal(world.store.messages.length, 0)
    assert.equal(world.refused.length, 5)

    const large = mail({ text: 'x'.repeat(5_000), subject: 'Large' })
    const answer = await world.post(JSON.stringify(postmarkMail({ RawEmail: large })), { ...json, ...basic })
    assert.equal(answer.body.outcome, 'accepted')
    const message = world.last()
    assert.deepEqual(
      [message.subject, message.text, message.attachments[0]?.size],
      ['Large', '', Buffer.byteLength(large)],
    )
    assert.match(String(message.data.unreadable), /max-size is 4096\. It is attached as mail\.eml/)

    const cut = `${mail({ headers: { 'Content-Type': 'multipart/mixed; boundary=b' }, text: '--b\nContent-Type: text/plain\n\nUp to he' }).trimEnd()}`
    await world.post(JSON.stringify(postmarkMail({ RawEmail: cut })), { ...json, ...basic })
    assert.equal(world.last().text, 'Up to he')
  })

  test('whose sender nobody can tell yet are posted again, and taken after the limit', async () => {
    let now = Date.now()
    const down = dnsOf({}, () => 'ESERVFAIL')
    const secret = { scheme: 'bearer', secret: 'a-secret' }
    const world = await startPosted(
      { provider: 'cloudflare', verify: secret },
      {},
      { now: () => now, world: { resolver: down, decisionTimeout: 60_000 } },
    )
    const raw = new Uint8Array(await signed(mail({ text: 'Whose?' })))
    const post = () => world.post(raw, { authorization: 'Bearer a-secret' })
    const first = await post()
    assert.deepEqual([first.status, first.body.error.code], [503, 'mail_unavailable'])
    now += 61_000
    assert.equal((await post()).body.outcome, 'accepted')
    assert.equal(objectAt(world.last().data, 'replyTarget').suppress, 'unauthenticated')
  })

  test('are refused with what is missing, by a gateway that is set up wrongly', async () => {
    const wrong = async (webhook: object, options = {}) => {
      const error = await startPosted(webhook, options).catch((thrown: unknown) => thrown)
      return String(error)
    }
    assert.match(await wrong({ provider: 'postmark' }), /missing key \\"verify\\": for postmark .*basic/)
    assert.match(await wrong({ provider: 'ses', verify: BASIC }), /comes through SNS/)
    assert.match(await wrong({ provider: 'resend', verify: BASIC }), /missing key \\"key\\"/)
    assert.match(
      await wrong({ provider: 'postmark', verify: BASIC }, { inbound: 'imap' }),
      /missing key \\"imap\\".*inbound: webhook/s,
    )
    assert.match(
      await wrong({ provider: 'postmark', verify: BASIC }, { outbound: 'smtp' }),
      /missing key \\"smtp\\"/,
    )
    assert.match(
      await wrong({ provider: 'postmark', verify: BASIC }, { api: { provider: 'ses' } }),
      /missing key \\"region\\"/,
    )
    assert.match(await wrong({ provider: 'postmark', verify: BASIC }, { after: 'delete' }), /in no folder/)
    assert.match(
      await wrong({ provider: 'postmark', verify: BASIC }, { handover: 'on-human-reply' }),
      /needs `sent: \{ folder \}`/,
    )
    assert.match(
      await wrong({ provider: 'postmark', verify: BASIC }, { handover: 'sometimes' }),
      /expected on-human-reply/,
    )
  })
})
