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
import { sealed } from './encrypted.ts'
import { type Part, partsFrom } from './parts.ts'

export type { Mailbox } from '../mime/addresses.ts'
export { type Part, startOf } from './parts.ts'

/** A mail taken apart. Nothing in it is trusted; everything may be missing. */
export type Mail = {
  /** In document order, names in lower case, values unfolded. */
  headers: Header[]
  /** With angle brackets. */
  messageId?: string
  inReplyTo?: string
  /** Oldest first. */
  references: string[]
  /** When the sender says it was written (Unix ms). */
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
  /** The calendar in it, such as an invitation. */
  invitation?: Invitation
  /** Why it could only be read in part. */
  unreadable?: string
  /** It could not be parsed, and its headers were read roughly: nothing in them counts as proven. */
  guessed?: true
}

/** What Outlook wraps rich text and its attachments in. */
const TNEF = /^application\/(?:vnd\.)?ms-tnef$/i
/** Nobody's is longer, with what is said of its time zone in parentheses. */
const MAX_DATE = 200
/** RFC 5322 sets no limit; mail servers do. The root and the newest are what clients thread by. */
const MAX_IDS = 30
const MAX_FROM = 10_000

/** Takes a mail (RFC 5322) apart. Never rejects: of what cannot be parsed the headers stay, and `unreadable` says why. */
export async function parseMail(raw: Buffer): Promise<Mail> {
  try {
    return mailFrom(readEntity(raw))
  } catch (error) {
    return headersOnly(raw, reasonOf(error))
  }
}

/** The mail with these parts. */
export function mailFrom(root: Entity): Mail {
  const { headers } = root
  const value = (name: string) => header({ headers }, name)
  const all = (name: string) => headers.filter(({ key }) => key === name).map((each) => each.value)
  const { text, html, files } = readBody(root)
  const parts = partsFrom(files)
  const isSilent = text.trim() === ''
  const winmail = isSilent ? parts.find(({ type }) => TNEF.test(type)) : undefined
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
        sealed(root, text, parts) ?? (winmail && `Its text may be in ${winmail.name}, which is not read.`),
    }),
    text: isSilent && invitation ? invitationText(invitation, subject) : text,
    parts,
  }
}

/** The message ids in a header value, with angle brackets, in order; hostile lengths are cut off. */
function messageIds(value: string | undefined): string[] {
  if (!value) return []
  // Programs that fold within an id, or encode the header, break the id for others, not for its thread.
  const ids = decodeIdWords(value.slice(0, 100_000)).match(/<[^<>]{1,900}>/g) ?? []
  const whole = ids.map((id) => id.replaceAll(/\s+/g, '')).filter((id) => id.length > 2)
  return whole.length > MAX_IDS ? [...whole.slice(0, 1), ...whole.slice(1 - MAX_IDS)] : whole
}

/** Some senders leave the angle brackets away. */
function bareId(value: string | undefined): string | undefined {
  const id = value && decodeIdWords(value.slice(0, 2000))
  return id && /^[^\s<>]{1,900}@[^\s<>]{1,250}$/.test(id) ? `<${id}>` : undefined
}

function dateOf(value: string | undefined): number | undefined {
  const time = value ? Date.parse(value.slice(0, MAX_DATE).replace(/\s*\([^)]*\)\s*$/, '')) : Number.NaN
  return Number.isNaN(time) ? undefined : time
}

/** What the headers of a mail say that cannot be taken apart; the mail itself is its only part. */
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
    // Nothing is lost: who can read it finds it whole.
    parts: [{ name: 'mail.eml', type: 'message/rfc822', content: raw }],
    unreadable: reason,
    guessed: true,
  }
}
