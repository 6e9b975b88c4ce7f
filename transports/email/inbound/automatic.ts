import { withoutTag } from '../../../src/core/identity.ts'
import { header } from '../mime/head.ts'
import { decodeWords } from '../mime/words.ts'
import { domainOf } from '../proof/results.ts'
import { isAwaySubject } from './away.ts'
import { type Mail, startAsText } from './parse.ts'
import { isCalendar, type Part } from './parts.ts'

/** The addresses of this mailbox, in lower case. */
export type OwnAddresses = ReadonlySet<string>

/**
 * Why a mail counts as automatic or bulk mail, which is never answered (RFC 3834, section 2, and
 * practice). Undefined for other mail.
 */
export function automaticReason(mail: Mail, own: OwnAddresses): string | undefined {
  const [sender] = mail.from
  if (!sender) return 'no-sender'
  const byHeader = HEADERS.find(({ name, value }) =>
    mail.headers.some((each) => name.test(each.key) && value.test(each.value)),
  )
  if (byHeader) return byHeader.reason
  if (isCalendarReply(mail)) return 'calendar'
  if (isOwn(sender.address, own)) return 'own-address'
  // With several authors, it is not clear who would be answered.
  const authors = mail.headers.filter(({ key }) => key === 'from')
  if (mail.from.length > 1 || authors.length > 1) return 'several-senders'
  if (isRobot(sender.address)) return 'robot-address'
  return isAwaySubject(mail.subject) ? 'away' : undefined
}

/** Whether an address belongs to this mailbox, also with a tag (`support+7@`). */
export function isOwn(address: string, own: OwnAddresses): boolean {
  return own.has(address) || own.has(withoutTag(address))
}

/** Headers of automatic mail; the first match counts. */
const HEADERS: { name: RegExp; value: RegExp; reason: string }[] = [
  // RFC 3834, section 5: everything except `no`, ignoring parameters and comments.
  { name: /^(x-)?auto-submitted$/, value: /^(?!\s*no\s*([;(]|$))/i, reason: 'auto-submitted' },
  // Older than RFC 3834, and still used.
  {
    name: /^x-(mail-)?(auto-?(reply|respond|responder|reply-from|generated|response|replied)|vacation|away|amazon-auto-reply|autoresponder)$/,
    value: /^(?!\s*(no|false|none|0)?\s*$)/i,
    reason: 'auto-submitted',
  },
  // Rules of an Exchange mailbox that reply.
  {
    name: /^x-ms-exchange-generated-message-source$/,
    value: /mailbox rules agent|oof/i,
    reason: 'auto-submitted',
  },
  { name: /^x-fc-machinegenerated$/, value: /^\s*(true|yes|1)/i, reason: 'auto-submitted' },
  {
    name: /^(x-post-messageclass|x-mailer|user-agent)$/,
    value: /\b(autoresponder|auto-?reply|vacation)\b/i,
    reason: 'auto-submitted',
  },
  // Addresses of automatic repliers.
  {
    name: /^delivered-to$/,
    value: /^\s*<?(autoresponder|autoreply|vacation)>?\s*$/i,
    reason: 'auto-submitted',
  },
  {
    name: /^(x-)?pre(cedence|ference)$/,
    value: /^\s*(bulk|junk|list|auto[_-]?repl(y|ied)|auto[_-]?respon[ds]e?r?)\b/i,
    reason: 'precedence',
  },
  { name: /^(list-.*|mailing-list)$/, value: /^/, reason: 'list' },
  // Senders add this to detect their own mail in a loop.
  { name: /^x-loop$/, value: /\S/, reason: 'x-loop' },
  // The other values (DR, RN, NRN) are about receipts only.
  {
    name: /^x-auto-response-suppress$/,
    value: /\b(all|oof|autoreply)\b/i,
    reason: 'x-auto-response-suppress',
  },
  // Present in bounces (RFC 5321, section 4.5.5).
  { name: /^return-path$/, value: /^\s*<\s*>\s*$/, reason: 'null-return-path' },
  { name: /^content-type$/, value: /^\s*multipart\/report\b/i, reason: 'report' },
]

const ROBOT =
  /^(mailer-daemon|postmaster|listserv|majordomo|bounces?|nobody|autoresponder|microsoftexchange[\da-f]{32})(\+|$)/
/** A separate word in the local part: `drive-shares-noreply`, `do_not_reply`, `noreply2`. */
const NO_REPLY =
  /(^|[-_.+=])(no|do[-_.]?not|dont)[-_.]?(reply|respond|responder|answer)\d*([-_.+=]|$)|(^|[-_.+=])ne[-_.]?pas[-_.]?repondre([-_.+=]|$)|(^|[-_.+=])(nicht[-_.]?antworten|n[aã]o[-_.]?respond(a|er)|no[-_.]?(responda|contestar|conteste)|non[-_.]?rispondere|niet[-_.]?(be)?antwoorden|niet[-_.]?reageren|nie[-_.]?odpowiada[jć]|svara?[-_.]?(ikke|inte|ej)|(ikke|ej|inte)[-_.]?svara?)([-_.+=]|$)/

/** Whether a local part belongs to a machine; RFC 3834, section 2, lists most of them. */
export function isRobot(address: string): boolean {
  const local = address.slice(0, address.lastIndexOf('@')).toLowerCase()
  return (
    ROBOT.test(local) ||
    NO_REPLY.test(local) ||
    /^owner-|-(owner|request|bounces?)$/.test(local) ||
    // A separate address for each sent mail (VERP): `bounces-71=anna=example.net`.
    /^bounces?[-_.](\d|.*=)/.test(local)
  )
}

/** Answers to invitations, and other messages between calendar programs (RFC 5546, section 3.2). */
const METHODS = /^(reply|counter|declinecounter|refresh|cancel)$/i
/** Maximum bytes of a calendar that are searched for its METHOD. */
const MAX_CALENDAR_HEAD = 4_096
const METHOD_LINE = /^METHOD:(REPLY|COUNTER|DECLINECOUNTER|REFRESH|CANCEL)\s*$/im
/** Subjects by which Outlook answers an invitation. The answer itself may be in a TNEF file. */
const ANSWER_SUBJECT =
  /^(?:accepted|declined|tentative(?:ly accepted)?|canceled|cancelled|zugesagt|angenommen|abgelehnt|mit vorbehalt(?: angenommen)?|abgesagt|accepté|refusé|provisoire|annulé|aceptad[ao]|rechazad[ao]|cancelad[ao]|accettato|rifiutato|annullato|geaccepteerd|geweigerd|afgewezen|geannuleerd|aceite|aceito|recusad[ao]|zaakceptowano|odrzucono|odwołano|accepterat|avböjt|inställt|godtatt|avslått|avlyst|accepteret|afvist|aflyst|hyväksytty|hylätty|peruutettu|přijato|odmítnuto|zrušeno|承諾済み|辞退|已接受|已拒绝|已取消|kabul edildi|reddedildi|iptal edildi)\s?[:：]/i

function isCalendarReply(mail: Mail): boolean {
  const isReply = (part: Part) =>
    METHODS.test(part.method ?? '') ||
    (isCalendar(part) && METHOD_LINE.test(startAsText(part, MAX_CALENDAR_HEAD)))
  if (mail.parts.some(isReply)) return true
  const isMeeting = /calendarmessage/i.test(header(mail, 'content-class') ?? '')
  return isMeeting && ANSWER_SUBJECT.test(mail.subject ?? '')
}

const RECIPIENT_HEADER = /^(resent-)?(to|b?cc)$/
/** Headers in which servers record the recipient, before and after aliases. */
const TRACE_HEADER =
  /^received$|^(x-)?(delivered-to|envelope-to)$|^x-(original-to|rcpt-to|forwarded-to|forwarded-for)$/
const FORWARDING_HEADERS = [
  'x-forwarded-to',
  'x-forwarded-for',
  'auto-forwarded',
  'x-ms-exchange-inbox-rules-loop',
]
/** `Received: … for <hello@example.net>; …` (RFC 5321, section 4.4). */
const RECEIVED_FOR = /\sfor\s+([^\s@]{1,250}@\S{1,250})/i
/** Maximum characters of a header value that are read. */
const MAX_VALUE = 20_000
const ADDRESS = /[^\s<>"(),;:]{1,250}@[^\s<>"(),;:]{1,250}/g

/**
 * Whether a mail is addressed to this mailbox: other mail gets no automatic answer (RFC 3834,
 * section 2; RFC 5230, section 4.5). Aliases that are not configured must still be answered, so a
 * trace of one is enough. If To and Cc are empty, as with web forms, it is enough that a server
 * accepted the mail for us.
 */
export function isAddressed(mail: Mail, own: OwnAddresses): boolean {
  // In ASCII form: senders write `bücher.example` or its encoded form.
  const domains = new Set([...own].map(domainOf))
  const isOurs = (address: string) => domains.has(domainOf(address))
  const recipients = addresses(mail, RECIPIENT_HEADER)
  if (recipients.some(isOurs)) return true
  const traced = new Set(addresses(mail, TRACE_HEADER))
  if (recipients.length > 0) return recipients.some((each) => traced.has(each)) || wasForwarded(mail)
  const namesNobody = !mail.headers.some(
    ({ key, value }) => RECIPIENT_HEADER.test(key) && value.trim() !== '',
  )
  return namesNobody && [...traced].some(isOurs)
}

/**
 * The addresses in some headers, in lower case. Some senders encode the whole header, although only
 * names may be encoded.
 */
function addresses(mail: Mail, names: RegExp): string[] {
  return mail.headers
    .filter(({ key }) => names.test(key))
    .map(({ key, value }) => (key === 'received' ? (RECEIVED_FOR.exec(value)?.[1] ?? '') : value))
    .flatMap((value) => decodeWords(value.slice(0, MAX_VALUE)).match(ADDRESS) ?? [])
    .map((each) => each.toLowerCase())
}

/** Forwarders add a header of their own, or rewrite the return path (SRS; Gmail's `+caf_=`). */
function wasForwarded(mail: Mail): boolean {
  const rewritten = /^<?([^@]*\+)?(srs[01]?[=+-]|caf_=)/i.test(header(mail, 'return-path') ?? '')
  return rewritten || FORWARDING_HEADERS.some((name) => header(mail, name) !== undefined)
}
