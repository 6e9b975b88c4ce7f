import { hash } from 'node:crypto'
import { textAt } from '../../../src/core/json.ts'
import { defined } from '../../../src/lib/defined.ts'
import type { MailApiOptions } from '../api-options.ts'
import type { MailApi } from './mail-api.ts'
import { type ReadyMail, shown } from './ready-mail.ts'
import { signAws } from './sigv4.ts'

type Options<Name extends MailApiOptions['provider']> = Extract<MailApiOptions, { provider: Name }>

/** The API for these options. `domain`: domain of the sender's address. */
export function mailApiOf(options: MailApiOptions, domain: string, now: () => number): MailApi {
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
    ...{ provider: 'Postmark', isRenamed: false, repeatable: 0 },
    async request(mail) {
      const files = await mail.files()
      // Otherwise Postmark would replace the Message-ID.
      const own = { ...mail.headers, 'Message-ID': mail.messageId, 'X-PM-KeepID': 'true' }
      const body = defined({
        From: shown(mail.from),
        To: mail.to.map(shown).join(', '),
        Cc: mail.cc.map(shown).join(', ') || undefined,
        Bcc: mail.bcc.map(shown).join(', ') || undefined,
        ReplyTo: mail.replyTo.map(shown).join(', ') || undefined,
        ...{ Subject: mail.subject, TextBody: mail.text, HtmlBody: mail.html || undefined },
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
    taken: (body) => ({ id: textAt(body, 'MessageID') ?? '' }),
    refusal(_, body) {
      const code = textAt(body, 'ErrorCode') ?? String(Object(body).ErrorCode ?? '')
      const reason = `${textAt(body, 'Message') ?? 'no reason'} (ErrorCode ${code})`
      return { reason, about: POSTMARK_ACCOUNT.has(code) ? 'account' : 'mail' }
    },
    probe: { url: `${url}/server`, headers },
  }
}

/** https://documentation.mailgun.com/docs/mailgun/api-reference/send/mailgun/messages: sends the raw mail. */
function mailgun({ token, url = 'https://api.mailgun.net' }: Options<'mailgun'>, domain: string): MailApi {
  const authorization = `Basic ${Buffer.from(`api:${token}`).toString('base64')}`
  return {
    ...{ provider: 'Mailgun', isRenamed: false, repeatable: 0 },
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
    taken: (body) => ({ id: textAt(body, 'id') ?? '' }),
    refusal: (_, body) => ({ reason: textAt(body, 'message') ?? 'no reason', about: 'mail' }),
  }
}

const DAY = 86_400_000

/**
 * https://resend.com/docs/api-reference/emails/send-email: an Idempotency-Key sends one mail within
 * 24 hours.
 */
function resend({ token, url = 'https://api.resend.com' }: Options<'resend'>): MailApi {
  return {
    ...{ provider: 'Resend', isRenamed: true, repeatable: DAY - DAY / 24 },
    async request(mail, key) {
      const files = await mail.files()
      const body = {
        ...{ from: shown(mail.from), subject: mail.subject, text: mail.text, headers: mail.headers },
        ...peopleOf(mail),
        ...(mail.html === '' ? {} : { html: mail.html }),
        attachments: files.map(({ name, type, base64 }) => ({
          ...{ filename: name, content_type: type, content: base64 },
        })),
      }
      const headers = {
        ...JSON_BODY,
        authorization: `Bearer ${token}`,
        'idempotency-key': hash('sha256', key),
      }
      return { url: `${url}/emails`, headers, body: JSON.stringify(body) }
    },
    taken: (body) => ({ id: textAt(body, 'id') ?? '' }),
    refusal(status, body) {
      const name = textAt(body, 'name') ?? ''
      const isOurs = status === 422 || (status === 400 && name !== 'invalid_api_key')
      const isOther = name === 'invalid_idempotent_request'
      return { reason: textAt(body, 'message') ?? name, about: isOurs || isOther ? 'mail' : 'account' }
    },
  }
}

function peopleOf({ to, cc, bcc, replyTo }: ReadyMail) {
  const named = { to, cc, bcc, reply_to: replyTo }
  const there = Object.entries(named).filter(([, list]) => list.length > 0)
  return Object.fromEntries(there.map(([name, list]) => [name, list.map(shown)]))
}

/** Errors of SES about the account, the sender or its limits. */
const SES_ACCOUNT =
  /^(AccountSuspended|SendingPaused|MailFromDomainNotVerified|LimitExceeded|NotFound|AccessDenied|UnrecognizedClient|InvalidSignature|ExpiredToken|SignatureDoesNotMatch|MissingAuthenticationToken)|address is not verified|not authorized/i

/** https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_SendEmail.html, with the raw mail. */
function ses(options: Options<'ses'>, now: () => number): MailApi {
  const { region, 'access-key': id, 'secret-key': secret, 'session-token': session } = options
  const { url = `https://email.${region}.amazonaws.com` } = options
  const host = region === 'us-east-1' ? 'email' : region
  return {
    ...{ provider: 'SES', isRenamed: true, repeatable: 0 },
    async request(mail) {
      const address = new URL(`${url.replace(/\/+$/, '')}/v2/email/outbound-emails`)
      const body = JSON.stringify({
        FromEmailAddress: mail.from.address,
        Destination: { ToAddresses: mail.recipients },
        Content: { Raw: { Data: (await mail.raw()).toString('base64') } },
      })
      const key = { id, secret, session, region, service: 'ses' }
      const request = { method: 'POST', url: address, headers: { 'content-type': 'application/json' }, body }
      return { url: address.href, headers: signAws(request, key, now()), body }
    },
    taken(body) {
      const taken = textAt(body, 'MessageId') ?? ''
      return { id: taken, ...(taken && { messageId: `<${taken}@${host}.amazonses.com>` }) }
    },
    refusal(_, body) {
      const type = (textAt(body, '__type') ?? textAt(body, 'type') ?? '').replace(/^.*#/, '')
      const said = textAt(body, 'message') ?? textAt(body, 'Message') ?? 'no reason'
      const reason = type ? `${type}: ${said}` : said
      return { reason, about: SES_ACCOUNT.test(type) || SES_ACCOUNT.test(said) ? 'account' : 'mail' }
    },
  }
}
