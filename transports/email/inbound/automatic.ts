import { decodeWords } from '../mime/words.ts'
import { domainOf } from '../proof/results.ts'
import { header, type Mail, startOf } from './parse.ts'

/** The addresses that are this mailbox, in lower case. */
export type OwnAddresses = ReadonlySet<string>

/** Why a mail was written by a machine or for many (RFC 3834, section 2, and practice): it is never answered. Or undefined. */
export function automaticReason(mail: Mail, own: OwnAddresses): string | undefined {
  const [sender] = mail.from
  if (!sender) return 'no-sender'
  const any = (test: (key: string, value: string) => boolean) =>
    mail.headers.some(({ key, value }) => test(key, value))
  // RFC 3834, section 5: everything but `no`, parameters and comments aside.
  if (any((key, value) => key === 'auto-submitted' && !/^\s*no\s*([;(]|$)/i.test(value)))
    return 'auto-submitted'
  const isYes = (value: string) => !/^\s*(no|false|none)?\s*$/i.test(value)
  if (any((key, value) => LEGACY.test(key) && isYes(value))) return 'auto-submitted'
  const isBulk = (value: string) => /^\s*(bulk|junk|list|auto[_-]reply)\b/i.test(value)
  if (any((key, value) => /^(x-)?precedence$/.test(key) && isBulk(value))) return 'precedence'
  if (any((key) => key.startsWith('list-') || key === 'mailing-list')) return 'list'
  // The other values (DR, RN, NRN) are about receipts only.
  if (/\b(all|oof|autoreply)\b/i.test(header(mail, 'x-auto-response-suppress') ?? '')) {
    return 'x-auto-response-suppress'
  }
  // What bounces come with (RFC 5321, section 4.5.5).
  if (/^<\s*>$/.test(header(mail, 'return-path') ?? '')) return 'null-return-path'
  if (/^\s*multipart\/report\b/i.test(header(mail, 'content-type') ?? '')) return 'report'
  if (mail.parts.some((part) => part.type === 'text/calendar' && CALENDAR_REPLY.test(startOf(part, 4096)))) {
    return 'calendar'
  }
  if (own.has(sender.address)) return 'own-address'
  // Who it is from depends on who reads it, so nobody is answered.
  const authors = mail.headers.filter(({ key }) => key === 'from')
  if (mail.from.length > 1 || authors.length > 1) return 'several-senders'
  return isRobot(sender.address) ? 'robot-address' : undefined
}

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

/** Older than RFC 3834, and still sent. */
const LEGACY = /^x-(mail-)?auto-?(reply|respond|responder|reply-from|generated|response)$/

/** That somebody accepted or declined (RFC 5546, section 3.2.3): a calendar wrote it, for a calendar. */
const CALENDAR_REPLY = /^METHOD:(REPLY|COUNTER|DECLINECOUNTER|REFRESH)\s*$/im

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
