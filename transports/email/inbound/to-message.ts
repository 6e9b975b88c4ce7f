import { withoutTag } from '../../../src/core/identity.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import type { Attachment, NewMessage } from '../../../src/core/message.ts'
import type { Artifacts } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import type { Identity } from '../proof/claim.ts'
import { freshText } from './fresh-text.ts'
import type { Incoming } from './incoming.ts'
import type { Mail } from './parse.ts'

/** What is known about a mail besides its content. */
export type Circumstances = {
  gateway: string
  key: string
  incoming: Pick<Incoming, 'folder' | 'uid' | 'source' | 'id' | 'size'>
  identity: Identity
  auto: string | undefined
  /**
   * The sender is proven to be in `allowed-senders`, and the reference to the answered mail is
   * proven too.
   */
  allowed: boolean | undefined
  own: ReadonlySet<string>
  /** The fingerprint of our mail that this one answers. */
  said?: string | undefined
}

/**
 * Maximum bytes of a text that routes see. A longer text than people write is cut, and continues in
 * a file.
 */
const MAX_TEXT = 1024 * 1024
/** Fields that routes do not use become files above this size; this much stays in the message. */
const MAX_INLINE = 65_536
const MAX_HEADERS = 200
const MAX_HEADER = 2000
/** Long headers that only mail servers use. */
const TRANSPORT_HEADER =
  /^(received|mime-version|authentication-results|(dkim|domainkey)-signature|(arc|content|x-google|x-ms-exchange|x-microsoft-antispam)-.*)$/

/**
 * Makes the message to accept, except for its conversation. Attachments and long texts are stored
 * as artifacts when it resolves.
 */
export async function toMessage(mail: Mail, known: Circumstances, artifacts: Artifacts): Promise<NewMessage> {
  const { folder, uid, source, id, size } = known.incoming
  const [sender] = mail.from
  const address = sender?.address ?? ''
  const recipients = [...mail.to, ...mail.cc].map((each) => each.address)
  /** The text, or its beginning and the file with all of it. */
  const keep = async (text: string, name: string, limit = MAX_INLINE) => {
    const bytes = Buffer.from(text)
    if (bytes.length <= limit) return { text, path: undefined }
    const type = name === 'html' ? 'text/html' : 'text/plain'
    const { path } = await artifacts.save(name, type, bytes, bytes.length)
    // Do not cut within a character.
    return { text: bytes.toString('utf8', 0, limit).replace(/\ufffd$/, ''), path }
  }
  const fresh = freshText(mail, known.said)
  const text = await keep(fresh, 'text', MAX_TEXT)
  const full =
    withoutBlanks(fresh) === withoutBlanks(mail.text) ? undefined : await keep(mail.text, 'fullText')
  const html = mail.html ? await keep(mail.html, 'html') : undefined
  const attachments = await Array.fromAsync(mail.parts, ({ name, type, content }) =>
    artifacts.save(name, type, content, content.length),
  )
  return {
    gateway: known.gateway,
    transport: 'email',
    key: known.key,
    from: {
      id: address || 'unknown',
      ...defined({
        name: sender?.name || undefined,
        address: address || undefined,
        verified: known.identity.result === 'pass' || undefined,
      }),
    },
    ...defined({
      to: recipients.find((each) => known.own.has(withoutTag(each))) ?? recipients[0],
      subject: mail.subject?.slice(0, 1000),
      html: html?.path ? undefined : html?.text,
    }),
    text: text.text,
    data: {
      to: mail.to.map((each) => each.address),
      cc: mail.cc.map((each) => each.address),
      headers: headersOf(mail),
      size,
      authentication: { ...known.identity },
      ...defined({
        folder,
        uid,
        provider: source,
        providerId: id,
        messageId: mail.messageId,
        inReplyTo: mail.inReplyTo,
        date: mail.date,
        auto: known.auto,
        allowed: known.allowed || undefined,
        unreadable: mail.unreadable,
        calendar: mail.invitation,
        textPath: text.path,
        fullText: full?.text,
        fullTextPath: full?.path,
        htmlPath: html?.path,
        inline: inlineParts(mail, attachments),
      }),
    },
    attachments,
  }
}

/** Removes spaces at line ends. */
function withoutBlanks(text: string): string {
  const lines = text.trim().split('\n')
  return lines.map((line) => line.trimEnd()).join('\n')
}

/** The attachments that `<img src="cid:…">` in the HTML refer to. */
function inlineParts(mail: Mail, attachments: Attachment[]): JsonObject | undefined {
  const entries = mail.parts.flatMap((part, index) => {
    const path = attachments[index]?.path
    return part.contentId && path ? [[part.contentId, path] as const] : []
  })
  return entries.length > 0 ? Object.fromEntries(entries) : undefined
}

function headersOf(mail: Mail): JsonObject {
  const headers = new Map<string, string>()
  for (const { key, value } of mail.headers) {
    if (TRANSPORT_HEADER.test(key) || key === '__proto__' || headers.has(key)) continue
    headers.set(key, value.trim().slice(0, MAX_HEADER))
  }
  return Object.fromEntries([...headers].slice(0, MAX_HEADERS))
}
