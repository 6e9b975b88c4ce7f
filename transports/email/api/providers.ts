import { hash } from 'node:crypto'
import { textAt } from '../../../src/core/json.ts'
import { HOUR } from '../../../src/core/units.ts'
import { defined } from '../../../src/lib/defined.ts'
import type { MailApiOptions } from '../api-options.ts'
import type { MailApi } from './mail-api.ts'
import { formatMailbox, type ReadyMail } from './ready-mail.ts'
import { signAws } from './sigv4.ts'

type Options<Name extends MailApiOptions['provider']> = Extract<MailApiOptions, { provider: Name }>

/** The API for these options. `domain`: domain of the sender's address. */
export function mailApiOf(given: MailApiOptions, domain: string, now: () => number): MailApi {
  // Paths are appended to it.
  const url = given.url?.replace(/\/+$/, '')
  const options = { ...given, ...defined({ url }) }
  switch (options.provider) {
    case 'postmark':
      return postmark(options)
    case 'mailgun':
      return mailgun(options, options.domain ?? domain)
    case 'resend':
      return resend(options)
    case 'ses':
      return ses(options, now)
  }
}

const JSON_BODY = { 'content-type': 'application/json', accept: 'application/json' }
/**
 * Postmark's error codes about the token, server, sender or account
 * (https://postmarkapp.com/developer/api/overview#error-codes).
 */
const POSTMARK_ACCOUNT = new Set(['10', '100', '400', '401', '405', '412', '413', '1235'])

/** https://postmarkapp.com/developer/api/email-api */
function postmark({ token, stream, url = 'https://api.postmarkapp.com' }: Options<'postmark'>): MailApi {
  const headers = { ...JSON_BODY, 'x-postmark-server-token': token }
  return {
    provider: 'Postmark',
    replacesMessageId: false,
    repeatableMs: 0,
    async request(mail) {
      const files = await mail.files()
      // Otherwise Postmark would replace the Message-ID.
      const own = { ...mail.headers, 'Message-ID': mail.messageId, 'X-PM-KeepID': 'true' }
      const body = defined({
        From: formatMailbox(mail.from),
        To: mail.to.map(formatMailbox).join(', '),
        Cc: mail.cc.map(formatMailbox).join(', ') || undefined,
        Bcc: mail.bcc.map(formatMailbox).join(', ') || undefined,
        ReplyTo: mail.replyTo.map(formatMailbox).join(', ') || undefined,
        Subject: mail.subject,
        TextBody: mail.text,
        HtmlBody: mail.html || undefined,
        Headers: Object.entries(own).map(([Name, Value]) => ({ Name, Value })),
        Attachments: files.map(({ name, type, base64 }) => ({
          Name: name,
          ContentType: type,
          Content: base64,
        })),
        MessageStream: stream,
      })
      return { url: `${url}/email`, headers, body: JSON.stringify(body) }
    },
    accepted: (body) => ({ id: textAt(body, 'MessageID') ?? '' }),
    refusal(_, body) {
      const code = textAt(body, 'ErrorCode') ?? String(Object(body).ErrorCode ?? '')
      const reason = `${textAt(body, 'Message') ?? 'no reason'} (ErrorCode ${code})`
      return { reason, about: POSTMARK_ACCOUNT.has(code) ? 'account' : 'mail' }
    },
    probe: { url: `${url}/server`, headers },
  }
}

/**
 * https://documentation.mailgun.com/docs/mailgun/api-reference/send/mailgun/messages: sends the raw
 * mail.
 */
function mailgun({ token, url = 'https://api.mailgun.net' }: Options<'mailgun'>, domain: string): MailApi {
  const authorization = `Basic ${Buffer.from(`api:${token}`).toString('base64')}`
  return {
    provider: 'Mailgun',
    replacesMessageId: false,
    repeatableMs: 0,
    async request(mail) {
      const form = new FormData()
      form.set('to', mail.recipients.join(','))
      form.set(
        'message',
        new Blob([new Uint8Array(await mail.raw())], { type: 'message/rfc822' }),
        'mail.eml',
      )
      const address = `${url}/v3/${encodeURIComponent(domain)}/messages.mime`
      return { url: address, headers: { authorization }, body: form }
    },
    accepted: (body) => ({ id: textAt(body, 'id') ?? '' }),
    refusal: (_, body) => ({ reason: textAt(body, 'message') ?? 'no reason', about: 'mail' }),
  }
}

/**
 * https://resend.com/docs/api-reference/emails/send-email: Resend knows an Idempotency-Key for 24
 * hours. One hour less is used, as a margin.
 */
function resend({ token, url = 'https://api.resend.com' }: Options<'resend'>): MailApi {
  return {
    provider: 'Resend',
    replacesMessageId: true,
    repeatableMs: 23 * HOUR,
    async request(mail, key) {
      const files = await mail.files()
      const body = {
        from: formatMailbox(mail.from),
        subject: mail.subject,
        text: mail.text,
        headers: mail.headers,
        ...recipientsOf(mail),
        ...(mail.html === '' ? {} : { html: mail.html }),
        attachments: files.map(({ name, type, base64 }) => ({
          filename: name,
          content_type: type,
          content: base64,
        })),
      }
      const headers = {
        ...JSON_BODY,
        authorization: `Bearer ${token}`,
        'idempotency-key': hash('sha256', key),
      }
      return { url: `${url}/emails`, headers, body: JSON.stringify(body) }
    },
    accepted: (body) => ({ id: textAt(body, 'id') ?? '' }),
    refusal(status, body) {
      const name = textAt(body, 'name') ?? ''
      const isInvalidMail = status === 422 || (status === 400 && name !== 'invalid_api_key')
      const isKeyOfOtherMail = name === 'invalid_idempotent_request'
      const about = isInvalidMail || isKeyOfOtherMail ? 'mail' : 'account'
      return { reason: textAt(body, 'message') ?? name, about }
    },
  }
}

function recipientsOf({ to, cc, bcc, replyTo }: ReadyMail) {
  const fields = { to, cc, bcc, reply_to: replyTo }
  const present = Object.entries(fields).filter(([, list]) => list.length > 0)
  return Object.fromEntries(present.map(([name, list]) => [name, list.map(formatMailbox)]))
}

/** Errors of SES about the account, the sender or its limits. */
const SES_ACCOUNT =
  /^(AccountSuspended|SendingPaused|MailFromDomainNotVerified|LimitExceeded|NotFound|AccessDenied|UnrecognizedClient|InvalidSignature|ExpiredToken|SignatureDoesNotMatch|MissingAuthenticationToken)|address is not verified|not authorized/i

/** https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_SendEmail.html, with the raw mail. */
function ses(options: Options<'ses'>, now: () => number): MailApi {
  const { region, 'access-key': accessKey, 'secret-key': secret, 'session-token': session } = options
  const { url = `https://email.${region}.amazonaws.com` } = options
  // The host in new Message-IDs.
  const host = region === 'us-east-1' ? 'email' : region
  return {
    provider: 'SES',
    replacesMessageId: true,
    repeatableMs: 0,
    async request(mail) {
      const address = new URL(`${url}/v2/email/outbound-emails`)
      const body = JSON.stringify({
        FromEmailAddress: mail.from.address,
        Destination: { ToAddresses: mail.recipients },
        Content: { Raw: { Data: (await mail.raw()).toString('base64') } },
      })
      const key = { id: accessKey, secret, session, region, service: 'ses' }
      const request = { method: 'POST', url: address, headers: { 'content-type': 'application/json' }, body }
      return { url: address.href, headers: signAws(request, key, now()), body }
    },
    accepted(body) {
      const id = textAt(body, 'MessageId') ?? ''
      return { id, ...(id && { messageId: `<${id}@${host}.amazonses.com>` }) }
    },
    refusal(_, body) {
      const type = (textAt(body, '__type') ?? textAt(body, 'type') ?? '').replace(/^.*#/, '')
      const message = textAt(body, 'message') ?? textAt(body, 'Message') ?? 'no reason'
      const reason = type ? `${type}: ${message}` : message
      return { reason, about: SES_ACCOUNT.test(type) || SES_ACCOUNT.test(message) ? 'account' : 'mail' }
    },
  }
}
