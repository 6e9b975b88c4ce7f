import { parseForeignJson } from '../../../src/core/foreign-json.ts'
import { isJsonObject, type JsonObject, objectsAt, parseJson, textAt } from '../../../src/core/json.ts'
import { defined } from '../../../src/lib/defined.ts'
import type { Header } from '../mime/head.ts'
import type { FetchMail } from './fetch-mail.ts'
import { formatMailbox } from './pieces.ts'
import {
  type Delivered,
  fromBase64,
  incomplete,
  type MailDelivery,
  type MailProvider,
  timeOf,
} from './provider.ts'

/**
 * https://postmarkapp.com/developer/webhooks/inbound-webhook; `RawEmail` is present if the server
 * is configured to include it.
 */
export const postmark: MailProvider = {
  async read(delivery) {
    const body = jsonIn(delivery, 'Postmark')
    const id = textAt(body, 'MessageID')
    const raw = textAt(body, 'RawEmail')
    if (raw) return { id, raw: Buffer.from(raw) }
    if (!id || !isJsonObject(body.FromFull)) throw incomplete('Postmark', 'MessageID or FromFull is missing')
    const files = objectsAt(body, 'Attachments').map((file) => ({
      name: textAt(file, 'Name') ?? '',
      type: textAt(file, 'ContentType') ?? '',
      bytes: fromBase64(textAt(file, 'Content') ?? ''),
      ...defined({ contentId: textAt(file, 'ContentID') || undefined }),
    }))
    const text = textAt(body, 'TextBody') ?? ''
    return {
      id,
      pieces: { headers: postmarkHeaders(body), text, html: textAt(body, 'HtmlBody') ?? '', files },
    }
  },
}

/** All headers of a mail: `Headers` has only those that are not fields of the body. */
function postmarkHeaders(body: JsonObject): Header[] {
  const listed = objectsAt(body, 'Headers').map((each) => ({
    key: (textAt(each, 'Name') ?? '').toLowerCase(),
    value: textAt(each, 'Value') ?? '',
  }))
  const mailboxes = (list: readonly JsonObject[]) =>
    list.map((each) => formatMailbox(textAt(each, 'Name') ?? '', textAt(each, 'Email') ?? '')).join(', ')
  const fields: Record<string, string> = {
    from: mailboxes([body.FromFull].filter(isJsonObject)),
    to: mailboxes(objectsAt(body, 'ToFull')),
    cc: mailboxes(objectsAt(body, 'CcFull')),
    'reply-to': textAt(body, 'ReplyTo') ?? '',
    subject: textAt(body, 'Subject') ?? '',
    date: textAt(body, 'Date') ?? '',
    // The envelope recipient, which may be neither in To nor in Cc.
    'x-original-to': textAt(body, 'OriginalRecipient') ?? '',
  }
  const known = new Set(listed.map(({ key }) => key))
  const more = Object.entries(fields).filter(([key, value]) => value !== '' && !known.has(key))
  return [...listed, ...more.map(([key, value]) => ({ key, value }))]
}

/**
 * https://docs.aws.amazon.com/ses/latest/dg/receiving-email-notifications-contents.html, in an SNS
 * notification. Only an SNS action includes the mail.
 */
export const ses: MailProvider = {
  async read(delivery) {
    // SNS labels its JSON as text/plain.
    const message = parseForeignJson(delivery.raw.toString())
    // Other types are about the subscription.
    if (textAt(message, 'Type') !== 'Notification') return undefined
    const notification = parseJson(textAt(message, 'Message') ?? '')
    if (!isJsonObject(notification)) throw incomplete('SES', 'its Message is not JSON')
    if (notification.notificationType !== 'Received') return undefined
    const id = textAt(notification, 'mail.messageId')
    const at = timeOf(textAt(notification, 'mail.timestamp'))
    const content = textAt(notification, 'content')
    const isBase64 = /^base64$/i.test(textAt(notification, 'receipt.action.encoding') ?? '')
    if (content) return { id, at, raw: isBase64 ? fromBase64(content) : Buffer.from(content) }
    const bucket = textAt(notification, 'receipt.action.bucketName')
    const place = bucket
      ? `in the S3 bucket ${bucket} as ${textAt(notification, 'receipt.action.objectKey')}`
      : 'elsewhere'
    throw incomplete(
      'SES',
      `the mail ${id ?? ''} is ${place}, which is not read; give the receipt rule an SNS action with the encoding Base64`,
    )
  },
}

/**
 * https://resend.com/docs/webhooks/emails/received: the webhook announces a mail, and the API
 * returns its URL.
 */
export const resend: MailProvider = {
  async read(delivery, { options: { key = '', url = 'https://api.resend.com' }, fetchMail }) {
    const body = jsonIn(delivery, 'Resend')
    if (textAt(body, 'type') !== 'email.received') return undefined
    const id = textAt(body, 'data.email_id')
    if (!id) throw incomplete('Resend', 'data.email_id is missing')
    const address = `${url.replace(/\/+$/, '')}/emails/receiving/${encodeURIComponent(id)}`
    const details = await fetchJson(fetchMail, address, { authorization: `Bearer ${key}` })
    const download = textAt(details, 'raw.download_url')
    if (!download) throw incomplete('Resend', `the API has no raw.download_url for ${id}`)
    return { id, at: timeOf(textAt(body, 'data.created_at')), raw: await fetchMail(download, {}) }
  },
}

/** Email Workers, and any other service that posts the raw mail. */
export const cloudflare: MailProvider = {
  async read({ raw }): Promise<Delivered> {
    if (raw.length === 0) throw incomplete('Cloudflare', 'the body is empty; post the raw mail as it came')
    return { raw }
  },
}

/** Fetches a JSON object from the API of a provider. Empty if the response is something else. */
export async function fetchJson(
  fetchMail: FetchMail,
  address: string,
  headers: Record<string, string>,
): Promise<JsonObject> {
  const found = parseJson((await fetchMail(address, headers)).toString())
  return isJsonObject(found) ? found : {}
}

function jsonIn(delivery: MailDelivery, provider: string): JsonObject {
  const { body } = delivery.decode()
  if (!isJsonObject(body)) throw incomplete(provider, 'its body is not a JSON object')
  return body
}
