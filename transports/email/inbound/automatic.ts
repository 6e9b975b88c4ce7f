import { withoutTag } from '../../../src/core/identity.ts'
import { header } from '../mime/head.ts'
import { decodeWords } from '../mime/words.ts'
import { domainOf } from '../proof/results.ts'
import { isAwaySubject } from './away.ts'
import { type Mail, startOf } from './parse.ts'
import { isCalendar, type Part } from './parts.ts'

/** The addresses that are this mailbox, in lower case. */
export type OwnAddresses = ReadonlySet<string>

/**
 * Why a mail was written by a machine or for many (RFC 3834, section 2, and practice): it is never answered. Or undefined.
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
  // Who it is from depends on who reads it, so nobody is answered.
  const authors = mail.headers.filter(({ key }) => key === 'from')
  if (mail.from.length > 1 || authors.length > 1) return 'several-senders'
  if (isRobot(sender.address)) return 'robot-address'
  return isAwaySubject(mail.subject) ? 'away' : undefined
}

/** An address of this mailbox, also with a tag of its own (`support+7@`). */
export function isOwn(address: string, own: OwnAddresses): boolean {
  return own.has(address) || own.has(withoutTag(address))
}

/** What automatic mail says of itself; the first that fits counts. */
const HEADERS: { name: RegExp; value: RegExp; reason: string }[] = [
  // RFC 3834, section 5: everything but `no`, parameters and comments aside.
  { name: /^(x-)?auto-submitted$/, value: /^(?!\s*no\s*([;(]|$))/i, reason: 'auto-submitted' },
  // Older than RFC 3834, and still sent.
  {
    name: /^x-(mail-)?(auto-?(reply|respond|responder|reply-from|generated|response|replied)|vacation|away|amazon-auto-reply|autoresponder)$/,
    value: /^(?!\s*(no|false|none|0)?\s*$)/i,
    reason: 'auto-submitted',
  },
  { name: /^x-fc-machinegenerated$/, value: /^\s*(true|yes|1)/i, reason: 'auto-submitted' },
  {
    name: /^(x-post-messageclass|x-mailer|user-agent)$/,
    value: /\b(autoresponder|auto-?reply|vacation)\b/i,
    reason: 'auto-submitted',
  },
  // A name where an address should be: what a program writes that answers by itself.
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
  // Whoever adds this looks for it in what comes back, so as to break a loop.
  { name: /^x-loop$/, value: /\S/, reason: 'x-loop' },
  // The other values (DR, RN, NRN) are about receipts only.
  {
    name: /^x-auto-response-suppress$/,
    value: /\b(all|oof|autoreply)\b/i,
    reason: 'x-auto-response-suppress',
  },
  // What bounces come with (RFC 5321, section 4.5.5).
  { name: /^return-path$/, value: /^\s*<\s*>\s*$/, reason: 'null-return-path' },
  { name: /^content-type$/, value: /^\s*multipart\/report\b/i, reason: 'report' },
]

const ROBOT = /^(mailer-daemon|postmaster|listserv|majordomo|bounces?|nobody|autoresponder)(\+|$)/
/** A word of its own in the local part, whatever stands around it: `drive-shares-noreply`, `do_not_reply`, `noreply2`. */
const NO_REPLY =
  /(^|[-_.+=])(no|do[-_.]?not|dont)[-_.]?(reply|respond|responder|answer)\d*([-_.+=]|$)|(^|[-_.+=])ne[-_.]?pas[-_.]?repondre([-_.+=]|$)|(^|[-_.+=])nicht[-_.]?antworten([-_.+=]|$)/

/** The local parts that no person answers from; RFC 3834, section 2, names most of them. */
export function isRobot(address: string): boolean {
  const local = address.slice(0, address.lastIndexOf('@')).toLowerCase()
  return (
    ROBOT.test(local) ||
    NO_REPLY.test(local) ||
    /^owner-|-(owner|request|bounces?)$/.test(local) ||
    // One address for each mail that was sent (VERP): `bounces-71=anna=example.net`.
    /^bounces?[-_.](\d|.*=)/.test(local)
  )
}

/** Answers to invitations, and what else one calendar writes to another (RFC 5546, section 3.2). */
const METHODS = /^(reply|counter|declinecounter|refresh|cancel)$/i
const METHOD_LINE = /^METHOD:(REPLY|COUNTER|DECLINECOUNTER|REFRESH|CANCEL)\s*$/im
/** How Outlook names an answer whose calendar is in a TNEF file. */
const ANSWER =
  /^(?:accepted|declined|tentative(?:ly accepted)?|canceled|cancelled|zugesagt|angenommen|abgelehnt|mit vorbehalt(?: angenommen)?|abgesagt|accepté|refusé|provisoire|annulé|aceptad[ao]|rechazad[ao]|cancelad[ao]|accettato|rifiutato|annullato|geaccepteerd|geweigerd|afgewezen|geannuleerd|aceite|aceito|recusad[ao]|zaakceptowano|odrzucono|odwołano|accepterat|avböjt|inställt|godtatt|avslått|avlyst|accepteret|afvist|aflyst|hyväksytty|hylätty|peruutettu|přijato|odmítnuto|zrušeno|承諾済み|辞退|已接受|已拒绝|已取消|kabul edildi|reddedildi|iptal edildi)\s?[:：]/i

function isCalendarReply(mail: Mail): boolean {
  const isReply = (part: Part) =>
    METHODS.test(part.method ?? '') || (isCalendar(part) && METHOD_LINE.test(startOf(part, 4096)))
  if (mail.parts.some(isReply)) return true
  const isMeeting = /calendarmessage/i.test(header(mail, 'content-class') ?? '')
  return isMeeting && ANSWER.test(mail.subject ?? '')
}

const NAMING = /^(resent-)?(to|b?cc)$/
/** Where servers write whom they delivered to, before and after aliases. */
const TRACE =
  /^received$|^(x-)?(delivered-to|envelope-to)$|^x-(original-to|rcpt-to|forwarded-to|forwarded-for)$/
const FORWARDING = ['x-forwarded-to', 'x-forwarded-for', 'auto-forwarded', 'x-ms-exchange-inbox-rules-loop']
/** `Received: … for <hello@example.net>; …` (RFC 5321, section 4.4). */
const FOR = /\sfor\s+([^\s@]{1,250}@\S{1,250})/i
const MAX_VALUE = 20_000
const ADDRESS = /[^\s<>"(),;:]{1,250}@[^\s<>"(),;:]{1,250}/g

/**
 * Whether a mail names this mailbox as one that it is for: what answers by itself answers no other (RFC 3834, section
 * 2; RFC 5230, section 4.5). Aliases that nobody configured must not fall silent, so a trace of one is enough; and where
 * To and Cc are empty, as web forms leave them, that a server took the mail for us.
 */
export function isAddressed(mail: Mail, own: OwnAddresses): boolean {
  // In the form of the DNS: senders write the letters of `bücher.example`, or what these are there.
  const domains = new Set([...own].map(domainOf))
  const isOurs = (address: string) => domains.has(domainOf(address))
  const named = addresses(mail, NAMING)
  if (named.some(isOurs)) return true
  const passed = new Set(addresses(mail, TRACE))
  if (named.length > 0) return named.some((each) => passed.has(each)) || wasForwarded(mail)
  const isSilent = !mail.headers.some(({ key, value }) => NAMING.test(key) && value.trim() !== '')
  return isSilent && [...passed].some(isOurs)
}

/** Some senders encode all of a header, where only names may be. */
function addresses(mail: Mail, names: RegExp): string[] {
  return mail.headers
    .filter(({ key }) => names.test(key))
    .map(({ key, value }) => (key === 'received' ? (FOR.exec(value)?.[1] ?? '') : value))
    .flatMap((value) => decodeWords(value.slice(0, MAX_VALUE)).match(ADDRESS) ?? [])
    .map((each) => each.toLowerCase())
}

/** Forwarders say so in a header of their own, or rewrite the return path (SRS; Gmail's `+caf_=`). */
function wasForwarded(mail: Mail): boolean {
  const rewritten = /^<?([^@]*\+)?(srs[01]?[=+-]|caf_=)/i.test(header(mail, 'return-path') ?? '')
  return rewritten || FORWARDING.some((name) => header(mail, name) !== undefined)
}
