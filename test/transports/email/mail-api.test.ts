import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Reply } from '../../../src/core/transport.ts'
import { signAws } from '../../../transports/email/api/sigv4.ts'
import { parseMail } from '../../../transports/email/inbound/parse.ts'
import { until } from '../../fixtures/until.ts'
import { mail, replyTo } from './harness.ts'
import { type ApiAnswer, type ApiRequest, codeOf, startApi, startPosted } from './posted.ts'

const CLOUDFLARE = { provider: 'cloudflare', verify: { scheme: 'bearer', secret: 'a-secret' } }
const authorized = { authorization: 'Bearer a-secret' }

/**
 * Starts a gateway that sends by an API, and delivers a mail to it. `answer` answers for the API;
 * `reply` is a reply to the mail.
 */
async function startWithApi(
  api: object,
  answer: (request: ApiRequest) => ApiAnswer,
  more: Parameters<typeof startPosted>[2] = {},
) {
  // A GET only checks the key.
  const server = await startApi((request) => (request.method === 'GET' ? {} : answer(request)))
  // The final slash changes nothing.
  const options = { name: 'Support', authentication: 'off', api: { ...api, url: `${server.url}/` } }
  const gateway = await startPosted(CLOUDFLARE, options, more)
  await gateway.post(
    mail({ id: 'one@example.net', headers: { References: '<root@example.net>' } }),
    authorized,
  )
  const reply = replyTo(gateway.last(), 'It is on its **way**.')
  const posts = () => server.requests.filter(({ method }) => method === 'POST')
  return { ...gateway, server, reply, posts }
}

const jsonOf = (request: ApiRequest | undefined) => Object(JSON.parse(request?.body ?? '{}'))
const withFile = async ({ deps }: Awaited<ReturnType<typeof startPosted>>, reply: Reply): Promise<Reply> => ({
  ...reply,
  attachments: [await deps.artifacts.save('slip.txt', 'text/plain', Buffer.from('paid'), 100)],
})

describe('mail by the API of a provider', () => {
  test('is posted to Postmark once, with its thread, Message-ID and files', async () => {
    const gateway = await startWithApi({ provider: 'postmark', token: 'server-token' }, () => ({
      body: { ErrorCode: 0, Message: 'OK', MessageID: 'b7bc2f4a' },
    }))
    const receipt = await gateway.transport.send(await withFile(gateway, gateway.reply))
    const [asked] = gateway.posts()
    assert.deepEqual(
      [asked?.method, asked?.path, asked?.headers['x-postmark-server-token']],
      ['POST', '/email', 'server-token'],
    )
    const body = jsonOf(asked)
    assert.deepEqual(
      [body.From, body.To, body.Subject],
      ['"Support" <support@example.com>', '"Anna" <anna@example.net>', 'Re: Help'],
    )
    assert.match(body.TextBody, /on its \*?\*?way/)
    const headers = Object.fromEntries(
      body.Headers.map(({ Name, Value }: { Name: string; Value: string }) => [Name, Value]),
    )
    assert.deepEqual(
      [headers['In-Reply-To'], headers.References, headers['X-PM-KeepID'], headers['Auto-Submitted']],
      ['<one@example.net>', '<root@example.net> <one@example.net>', 'true', 'auto-replied'],
    )
    assert.equal(headers['Message-ID'], receipt.id)
    assert.deepEqual(body.Attachments, [
      { Name: 'slip.txt', ContentType: 'text/plain', Content: Buffer.from('paid').toString('base64') },
    ])
    await gateway.transport.send(gateway.reply)
    assert.equal(gateway.posts().length, 1, 'a second send with the same key makes no request')
  })

  test('whose API refuses the key is logged with the name of the provider, until a mail is sent', async () => {
    const server = await startApi(({ method }) =>
      method === 'GET' ? { status: 401, body: { Message: 'bad key', ErrorCode: 10 } } : { body: {} },
    )
    const api = { provider: 'postmark', token: 'server-token', url: server.url }
    const { transport, post, last, logs } = await startPosted(CLOUDFLARE, { authentication: 'off', api })
    const lines = () => logs.map(({ message }) => message).filter((text) => /be used/.test(text))
    await until(() => lines().length > 0, 'the result of the check')
    await post(mail({ id: 'one@example.net' }), authorized)
    await transport.send(replyTo(last(), 'Yes.'))
    assert.deepEqual(lines(), [
      'the API of Postmark cannot be used; replies wait until it can',
      'the API of Postmark can be used again',
    ])
  })

  test('is posted to Mailgun as raw MIME, for all recipients', async () => {
    const gateway = await startWithApi({ provider: 'mailgun', token: 'key-1' }, () => ({
      body: { id: '<x@example.com>', message: 'Queued.' },
    }))
    await gateway.transport.send(
      await withFile(gateway, { ...gateway.reply, cc: ['carl@example.org'], bcc: ['bea@example.org'] }),
    )
    const [asked] = gateway.posts()
    assert.deepEqual(
      [asked?.path, asked?.headers.authorization],
      ['/v3/example.com/messages.mime', `Basic ${Buffer.from('api:key-1').toString('base64')}`],
    )
    const request = new Request('http://x', {
      method: 'POST',
      body: Buffer.from(asked?.body ?? '', 'latin1'),
      headers: { 'content-type': String(asked?.headers['content-type']) },
    })
    const form = await request.formData()
    assert.equal(form.get('to'), 'anna@example.net,carl@example.org,bea@example.org')
    const file = form.get('message')
    const sent = await parseMail(
      file instanceof File ? Buffer.from(await file.arrayBuffer()) : Buffer.alloc(0),
    )
    assert.deepEqual(
      [sent.inReplyTo, sent.cc.length, sent.parts.map(({ name }) => name)],
      ['<one@example.net>', 1, ['slip.txt']],
    )
    assert.match(sent.messageId ?? '', /^<trivium\./)
  })

  test('is posted to Resend with an idempotency key, so that a lost answer is not ambiguous', async () => {
    const answers: ApiAnswer[] = [
      { cut: true },
      { status: 500, body: { message: 'oops' } },
      { body: { id: 're-1' } },
    ]
    const gateway = await startWithApi({ provider: 'resend', token: 're_1' }, () => answers.shift() ?? {})
    const { reply, transport, posts } = gateway
    assert.equal(await codeOf(transport.send(reply)), 'send_failed')
    assert.deepEqual(await transport.probe?.(reply), { sent: false })
    assert.equal(await codeOf(transport.send(reply)), 'send_failed')
    await transport.send(reply)
    const asked = posts()
    const keys = new Set(asked.map(({ headers }) => headers['idempotency-key']))
    assert.deepEqual([asked.length, keys.size, asked[0]?.headers.authorization], [3, 1, 'Bearer re_1'])
    assert.deepEqual(asked[0]?.body, asked[2]?.body)
    const { to, headers } = jsonOf(asked[0])
    assert.deepEqual(to, ['"Anna" <anna@example.net>'])
    // Resend replaces the Message-ID. Answers refer to it through the References.
    assert.match(
      headers.References,
      /<root@example\.net> <one@example\.net> <trivium\.[0-9a-f]{40}@example\.com>$/,
    )
  })

  test('is posted to SES with a signature, and an answer to the Message-ID of SES joins the conversation', async () => {
    const id = '0102018f-3a7e-4c11'
    const api = { provider: 'ses', region: 'eu-west-1', 'access-key': 'AKIDEXAMPLE', 'secret-key': 'secret' }
    const gateway = await startWithApi(api, () => ({ body: { MessageId: id } }))
    const { conversation } = gateway.last()
    await gateway.transport.send(gateway.reply)
    const [asked] = gateway.posts()
    assert.equal(asked?.path, '/v2/email/outbound-emails')
    assert.match(
      String(asked?.headers.authorization),
      /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-west-1\/ses\/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=[0-9a-f]{64}$/,
    )
    const { Content, Destination } = jsonOf(asked)
    assert.deepEqual(Destination, { ToAddresses: ['anna@example.net'] })
    assert.equal((await parseMail(Buffer.from(Content.Raw.Data, 'base64'))).inReplyTo, '<one@example.net>')
    const answer = mail({
      subject: 'Re: something else',
      headers: { 'In-Reply-To': `<${id}@eu-west-1.amazonses.com>` },
    })
    await gateway.post(answer, authorized)
    assert.deepEqual([gateway.store.messages.length, gateway.last().conversation], [2, conversation])
  })

  test('is rejected, retried or ambiguous depending on the answer', async () => {
    const outcome = async (api: object, answer: ApiAnswer) => {
      const gateway = await startWithApi(api, () => answer)
      const code = await codeOf(gateway.transport.send(gateway.reply))
      return [code, await gateway.transport.probe?.(gateway.reply).then(({ sent }) => sent)]
    }
    const postmark = { provider: 'postmark', token: 't' }
    const mailgun = { provider: 'mailgun', token: 't' }
    const resend = { provider: 'resend', token: 't' }
    const ses = { provider: 'ses', region: 'us-east-1', 'access-key': 'a', 'secret-key': 's' }
    assert.deepEqual(
      await outcome(postmark, { status: 422, body: { ErrorCode: 300, Message: 'Invalid To' } }),
      ['send_rejected', false],
    )
    assert.deepEqual(
      await outcome(postmark, { status: 422, body: { ErrorCode: 405, Message: 'no credits' } }),
      ['send_failed', false],
    )
    assert.deepEqual(
      await outcome(postmark, { status: 401, body: { ErrorCode: 10, Message: 'bad token' } }),
      ['send_failed', false],
    )
    assert.deepEqual(await outcome(postmark, { status: 500, body: {} }), ['send_ambiguous', 'unknown'])
    assert.deepEqual(await outcome(postmark, { cut: true }), ['send_ambiguous', 'unknown'])
    assert.deepEqual(await outcome(postmark, { status: 503, body: {} }), ['send_failed', false])
    assert.deepEqual(await outcome(postmark, { status: 429, headers: { 'retry-after': '7' } }), [
      'SendPostponed',
      false,
    ])
    assert.deepEqual(
      await outcome(mailgun, { status: 400, body: { message: "'to' parameter is not a valid address" } }),
      ['send_rejected', false],
    )
    assert.deepEqual(await outcome(mailgun, { status: 401, body: 'Forbidden' }), ['send_failed', false])
    assert.deepEqual(
      await outcome(resend, { status: 422, body: { name: 'validation_error', message: 'bad to' } }),
      ['send_rejected', false],
    )
    assert.deepEqual(
      await outcome(resend, {
        status: 403,
        body: { name: 'validation_error', message: 'domain not verified' },
      }),
      ['send_failed', false],
    )
    assert.deepEqual(
      await outcome(ses, { status: 400, body: { message: 'Email address is not verified.' } }),
      ['send_failed', false],
    )
    assert.deepEqual(
      await outcome(ses, { status: 400, body: { message: 'Local address contains control character' } }),
      ['send_rejected', false],
    )
    const gateway = await startWithApi(postmark, () => ({}))
    await gateway.server.close()
    assert.deepEqual(
      [
        await codeOf(gateway.transport.send(gateway.reply)),
        (await gateway.transport.probe?.(gateway.reply))?.sent,
      ],
      ['send_failed', false],
    )
    assert.match(gateway.transport.health().detail ?? '', /mail cannot be sent: .*Postmark/)
  })

  test('is signed for Amazon as in the example of its documentation', () => {
    // The example of "Signature Version 4" for Identity and Access Management, with its published
    // key.
    const key = {
      id: 'AKIDEXAMPLE',
      secret: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
      region: 'us-east-1',
      service: 'service',
    }
    const request = { method: 'POST', url: new URL('https://example.amazonaws.com/'), headers: {}, body: '' }
    const { authorization } = signAws(request, key, Date.UTC(2015, 7, 30, 12, 36, 0))
    assert.match(
      authorization,
      /SignedHeaders=host;x-amz-date, Signature=5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b$/,
    )
  })
})
