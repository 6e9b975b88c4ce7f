import { isJsonObject, type JsonObject, parseJson, textAt } from '../../../src/core/json.ts'
import { defined } from '../../../src/lib/defined.ts'
import type { DecodedBody } from '../../deliveries/decode-body.ts'
import { type Header, readHead } from '../mime/head.ts'
import { fetchJson } from './json-providers.ts'
import type { PieceFile } from './pieces.ts'
import { incomplete, type MailProvider } from './provider.ts'

const MAILGUN = /^https:\/\/([\w-]+\.)*mailgun\.(net|org)$/

/**
 * https://documentation.mailgun.com/docs/mailgun/user-manual/receive-forward-store: `forward` posts
 * the raw mail to addresses that end in `mime`, and its parsed fields to others; `store` posts the
 * location of the mail.
 */
export const mailgun: MailProvider = {
  async read(delivery, { options: { key, url }, fetchMail }) {
    const decoded = delivery.decode()
    const fields = fieldsIn(decoded, 'Mailgun')
    const id = textAt(fields, 'token')
    const posted = textAt(fields, 'body-mime')
    if (posted) return { id, raw: Buffer.from(posted) }
    const stored = textAt(fields, 'message-url')
    if (stored && key) {
      const origin = originOf(stored)
      // The key must not be sent to another host.
      if (!MAILGUN.test(origin) && (origin === '' || origin !== originOf(url)))
        throw incomplete('Mailgun', `its message-url is at ${origin || 'no address'}, and not at Mailgun`)
      const headers = {
        accept: 'message/rfc2822',
        authorization: `Basic ${Buffer.from(`api:${key}`).toString('base64')}`,
      }
      const mime = textAt(await fetchJson(fetchMail, stored, headers), 'body-mime')
      if (!mime) throw incomplete('Mailgun', 'the API has no body-mime for it')
      return { id, raw: Buffer.from(mime) }
    }
    const files = filesIn(decoded, fields, 'content-id-map')
    const areFilesStored = stored !== undefined && files.length === 0 && hasItems(fields.attachments)
    if (areFilesStored)
      throw incomplete('Mailgun', 'its files are stored at Mailgun; set webhook.key to fetch it')
    const headers = mailgunHeaders(fields)
    if (headers.length === 0) throw incomplete('Mailgun', 'body-mime and message-headers are missing')
    const html = textAt(fields, 'body-html') ?? ''
    return { id, pieces: { headers, text: textAt(fields, 'body-plain') ?? '', html, files } }
  },
}

/** The origin of a URL; empty if it is not a URL. */
function originOf(url = ''): string {
  return URL.canParse(url) ? new URL(url).origin : ''
}

function mailgunHeaders(fields: JsonObject): Header[] {
  const listed = parseJson(textAt(fields, 'message-headers') ?? '')
  return (Array.isArray(listed) ? listed : []).flatMap((pair) =>
    Array.isArray(pair) && typeof pair[0] === 'string' && typeof pair[1] === 'string'
      ? [{ key: pair[0].toLowerCase(), value: pair[1] }]
      : [],
  )
}

/**
 * https://www.twilio.com/docs/sendgrid/for-developers/parsing-email/setting-up-the-inbound-parse-webhook:
 * the raw mail is in the field `email` with "POST the raw, full MIME message", otherwise there are
 * parsed fields.
 */
export const sendgrid: MailProvider = {
  async read(delivery) {
    const decoded = delivery.decode()
    const fields = fieldsIn(decoded, 'SendGrid')
    const posted = textAt(fields, 'email')
    if (posted) return { raw: Buffer.from(posted) }
    const head = textAt(fields, 'headers')
    if (!head) throw incomplete('SendGrid', 'the fields email and headers are missing')
    const { headers } = readHead(Buffer.from(`${head.trimEnd()}\r\n\r\n`))
    const files = filesIn(decoded, fields, 'content-ids')
    return {
      pieces: { headers, text: textAt(fields, 'text') ?? '', html: textAt(fields, 'html') ?? '', files },
    }
  },
}

function fieldsIn({ body, format }: DecodedBody, provider: string): JsonObject {
  if (isJsonObject(body) && format !== 'json') return body
  throw incomplete(provider, 'its body is not a form')
}

/** The files of a form. `ids`: the field with JSON that maps each Content-ID to a file. */
function filesIn({ files = [] }: DecodedBody, fields: JsonObject, ids: string): PieceFile[] {
  const map = parseJson(textAt(fields, ids) ?? '')
  const contentIds = new Map(isJsonObject(map) ? Object.entries(map).map(([id, field]) => [field, id]) : [])
  return files.map(({ field, name, type, bytes }) => ({
    name,
    type,
    bytes,
    ...defined({ contentId: contentIds.get(field) }),
  }))
}

function hasItems(text: unknown): boolean {
  const list = typeof text === 'string' ? parseJson(text) : text
  return Array.isArray(list) && list.length > 0
}
