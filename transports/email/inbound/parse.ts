import { reasonOf } from '../../../src/core/errors.ts'
import { defined } from '../../../src/lib/defined.ts'
import { type Mailbox, mailboxesIn } from '../mime/addresses.ts'
import { type Header, header, MAX_HEAD, readHead } from '../mime/head.ts'
import { oneLine } from '../mime/one-line.ts'
import { type Entity, readEntity } from '../mime/tree.ts'
import { decodeIdWords, decodeWords } from '../mime/words.ts'
import { readBody } from './body.ts'
import { type Invitation, invitationIn } from './calendar.ts'
import { invitationText } from './calendar-text.ts'
import { encryptionIn } from './encrypted.ts'
import { type Part, partsFrom } from './parts.ts'

export type { Mailbox } from '../mime/addresses.ts'
export { type Part, startAsText } from './parts.ts'

/** A parsed mail. Everything in it is untrusted, and anything may be missing. */
export type Mail = {
  /** In document order, names in lower case, values unfolded. */
  headers: Header[]
  /** With angle brackets, like the ids in `inReplyTo` and `references`. */
  messageId?: string
  inReplyTo?: string
  references: string[]
  /** The date stated by the sender (Unix ms). */
  date?: number
  from: Mailbox[]
  replyTo: Mailbox[]
  to: Mailbox[]
  cc: Mailbox[]
  subject?: string
  /** Plain text: the text part, or else made from the HTML. */
  text: string
  html?: string
  parts: Part[]
  invitation?: Invitation
  /** Why only a part of the mail could be read. */
  unreadable?: string
  /** The mail could not be parsed; its headers were read approximately, and prove nothing. */
  guessed?: true
}

/** Outlook's container for rich text and attachments. */
const TNEF = /^application\/(?:vnd\.)?ms-tnef$/i
/** Longer than any real date, including comments with time zones. */
const MAX_DATE = 200
/** RFC 5322 sets no limit, but mail servers do. Clients thread by the first and the newest ids. */
const MAX_IDS = 30
/** Maximum characters of these headers that are read. */
const MAX_REFERENCES = 100_000
const MAX_FROM = 10_000

/**
 * Parses a mail (RFC 5322). Never rejects: if that fails, the headers are kept, and `unreadable`
 * has the reason.
 */
export async function parseMail(raw: Buffer): Promise<Mail> {
  try {
    return mailFrom(readEntity(raw))
  } catch (error) {
    return headersOnly(raw, reasonOf(error))
  }
}

/** Reads the fields and the text of a mail whose structure was parsed. */
export function mailFrom(root: Entity): Mail {
  const { headers } = root
  const value = (name: string) => header({ headers }, name)
  const all = (name: string) => headers.filter(({ key }) => key === name).map((each) => each.value)
  const { text, html, files } = readBody(root)
  const parts = partsFrom(files)
  const hasNoText = text.trim() === ''
  const winmail = hasNoText ? parts.find(({ type }) => TNEF.test(type)) : undefined
  const invitation = invitationIn(parts)
  const subject = oneLine(decodeWords(value('subject') ?? '')) || undefined
  const id = value('message-id')
  return {
    headers,
    references: messageIds(value('references')),
    from: mailboxesIn((value('from') ?? '').slice(0, MAX_FROM)),
    replyTo: all('reply-to').flatMap(mailboxesIn),
    to: all('to').flatMap(mailboxesIn),
    cc: all('cc').flatMap(mailboxesIn),
    ...defined({
      messageId: messageIds(id)[0] ?? bareId(id),
      inReplyTo: messageIds(value('in-reply-to'))[0] ?? bareId(value('in-reply-to')),
      date: dateOf(value('date')),
      subject,
      html,
      invitation,
      unreadable:
        encryptionIn(root, text, parts) ??
        (winmail && `Its text may be in ${winmail.name}, which is not read.`),
    }),
    text: hasNoText && invitation ? invitationText(invitation, subject) : text,
    parts,
  }
}

/**
 * The message ids in a header value, with angle brackets, in order. Keeps the first and the newest.
 */
function messageIds(value: string | undefined): string[] {
  if (!value) return []
  // Some programs fold or encode an id. Decoded and without spaces, it is the original id again.
  const written = decodeIdWords(value.slice(0, MAX_REFERENCES)).match(/<[^<>]{1,900}>/g) ?? []
  const ids = written.map((id) => id.replaceAll(/\s+/g, '')).filter((id) => id !== '<>')
  return ids.length > MAX_IDS ? [...ids.slice(0, 1), ...ids.slice(1 - MAX_IDS)] : ids
}

/** Some senders omit the angle brackets. */
function bareId(value: string | undefined): string | undefined {
  const id = value && decodeIdWords(value.slice(0, 2000))
  return id && /^[^\s<>]{1,900}@[^\s<>]{1,250}$/.test(id) ? `<${id}>` : undefined
}

function dateOf(value: string | undefined): number | undefined {
  const time = value ? Date.parse(value.slice(0, MAX_DATE).replace(/\s*\([^)]*\)\s*$/, '')) : Number.NaN
  return Number.isNaN(time) ? undefined : time
}

/** A mail that cannot be parsed: its headers, and the mail itself as the only part. */
function headersOnly(raw: Buffer, reason: string): Mail {
  const { headers } = readHead(raw.subarray(0, MAX_HEAD))
  const none = { value: '', params: new Map() }
  const head: Entity = {
    headers,
    type: 'text/plain',
    params: none.params,
    disposition: none,
    body: Buffer.alloc(0),
  }
  return {
    ...mailFrom(head),
    // Nothing is lost: the complete mail is attached.
    parts: [{ name: 'mail.eml', type: 'message/rfc822', content: raw }],
    unreadable: reason,
    guessed: true,
  }
}
