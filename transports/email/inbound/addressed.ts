import { decodeWords } from 'postal-mime'
import { domainOf } from '../proof/results.ts'
import type { OwnAddresses } from './automatic.ts'
import { header, type Mail } from './parse.ts'

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
