import type { JsonObject } from '../../../src/core/json.ts'
import type { Attachment, NewMessage } from '../../../src/core/message.ts'
import type { Artifacts } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import type { Identity } from '../proof/claim.ts'
import { isOwn } from './automatic.ts'
import { freshText } from './fresh-text.ts'
import type { Incoming } from './incoming.ts'
import type { Mail } from './parse.ts'

/** Facts about a mail besides its content. */
export type MailFacts = {
  gateway: string
  key: string
  incoming: Pick<Incoming, 'folder' | 'uid' | 'source' | 'id' | 'size'>
  identity: Identity
  /** Why the mail counts as automatic; undefined if it does not. */
  auto: string | undefined
  /**
   * Whether the sender is proven to be in `allowed-senders`, and the threading headers are signed.
   */
  allowed: boolean | undefined
  /** The addresses of this mailbox. */
  own: ReadonlySet<string>
  /** The fingerprint of our mail that this one answers. */
  fingerprint?: string | undefined
}

/** Maximum bytes of the text of a message. A longer text is cut, and stored in full as a file. */
const MAX_TEXT = 1024 * 1024
/** Maximum bytes of a field that routes do not use. */
const MAX_INLINE = 65_536
/** Maximum number of headers. */
const MAX_HEADERS = 200
/** Maximum characters of a header. */
const MAX_HEADER = 2_000
const MAX_SUBJECT = 1_000
/** Long headers that only mail servers use. */
const TRANSPORT_HEADER =
  /^(received|mime-version|authentication-results|(dkim|domainkey)-signature|(arc|content|x-google|x-ms-exchange|x-microsoft-antispam)-.*)$/

/**
 * Creates the message to accept, except for its conversation. Attachments and long texts are stored
 * as artifacts when it resolves.
 */
export async function toMessage(mail: Mail, facts: MailFacts, artifacts: Artifacts): Promise<NewMessage> {
  const { folder, uid, source, id, size } = facts.incoming
  const [sender] = mail.from
  const address = sender?.address ?? ''
  const recipients = [...mail.to, ...mail.cc].map((each) => each.address)
  /**
   * Resolves with the text. If it is too long: with its beginning, and the path of the full text.
   */
  const inlineOrFile = async (text: string, name: string, limit = MAX_INLINE) => {
    const bytes = Buffer.from(text)
    if (bytes.length <= limit) return { text, path: undefined }
    const type = name === 'html' ? 'text/html' : 'text/plain'
    const { path } = await artifacts.save(name, type, bytes, bytes.length)
    // Do not cut within a character.
    return { text: bytes.toString('utf8', 0, limit).replace(/\ufffd$/, ''), path }
  }
  const fresh = freshText(mail, facts.fingerprint)
  const text = await inlineOrFile(fresh, 'text', MAX_TEXT)
  const isComplete = withoutBlanks(fresh) === withoutBlanks(mail.text)
  const full = isComplete ? undefined : await inlineOrFile(mail.text, 'fullText')
  const html = mail.html ? await inlineOrFile(mail.html, 'html') : undefined
  const attachments = await Array.fromAsync(mail.parts, ({ name, type, content }) =>
    artifacts.save(name, type, content, content.length),
  )
  return {
    gateway: facts.gateway,
    transport: 'email',
    key: facts.key,
    from: {
      id: address || 'unknown',
      ...defined({
        name: sender?.name || undefined,
        address: address || undefined,
        verified: facts.identity.result === 'pass' || undefined,
      }),
    },
    ...defined({
      to: recipients.find((each) => isOwn(each, facts.own)) ?? recipients[0],
      subject: mail.subject?.slice(0, MAX_SUBJECT),
      html: html?.path ? undefined : html?.text,
    }),
    text: text.text,
    data: {
      to: mail.to.map((each) => each.address),
      cc: mail.cc.map((each) => each.address),
      headers: headersOf(mail),
      size,
      authentication: { ...facts.identity },
      ...defined({
        folder,
        uid,
        provider: source,
        providerId: id,
        messageId: mail.messageId,
        inReplyTo: mail.inReplyTo,
        date: mail.date,
        auto: facts.auto,
        allowed: facts.allowed || undefined,
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
