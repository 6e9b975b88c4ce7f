import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { Mail } from './claim.ts'
import { withoutComments } from './results.ts'

/** The delivering client, as recorded by the receiving servers. */
export type LastHop = {
  /** Undefined unless known for certain. */
  client?: { ip: string; helo: string }
  /** The envelope sender; '' for the null path; undefined if not recorded. */
  sender?: string
  /** The record can be read in several ways, possibly because of the client's HELO name. */
  isAmbiguous?: true
}

/**
 * Maximum number of hops within the receiving organisation: content filters, delivery agents,
 * relays.
 */
const MAX_OWN = 10
/** Maximum characters of a Received header that are read. */
const MAX_VALUE = 10_000

const PRIVATE = /^(?:loopback|private|carrierGradeNat|linkLocal|uniqueLocal)$/
/** 10.0.0.0/8 in 6to4 notation, which Google uses for its own machines. */
const GOOGLE = /^2002:0?a[\da-f]{2}:/i

/**
 * Finds the client that handed the mail to the receiving organisation, for SPF (RFC 7208). Servers
 * add Received headers at the top. The topmost ones from the organisation's own machines are
 * skipped: delivery by LMTP, clients on the loopback, and private addresses whose name is the
 * server that wrote the header below. Only the first other one can name the client, because the
 * sender may have written all headers below it.
 */
export function lastHop(mail: Mail): LastHop {
  const hops = mail.headers.filter(({ key }) => key === 'received').slice(0, MAX_OWN + 1)
  let at = 0
  let returnPath: string | undefined
  for (const { key, value } of mail.headers) {
    if (key === 'return-path') returnPath ??= value
    if (key !== 'received') continue
    const hop = readHop(value)
    if (!hop) return { isAmbiguous: true }
    const below = hops[at + 1]
    if (!isOwn(hop, below && readHop(below.value))) return externalHop(hop, returnPath)
    if (++at > MAX_OWN) break
  }
  return senderOf(returnPath)
}

function externalHop({ addresses, helo }: Hop, returnPath: string | undefined): LastHop {
  const [ip, ...others] = addresses
  const sender = senderOf(returnPath)
  if (others.length > 0 || sender.isAmbiguous) return { isAmbiguous: true }
  return ip && helo && !isPrivate(ip) ? { client: { ip, helo }, ...sender } : sender
}

function senderOf(returnPath: string | undefined): LastHop {
  if (returnPath === undefined) return {}
  const sender = /^\s*<([^\r\n]*)>\s*$/.exec(returnPath)?.[1] ?? returnPath.trim()
  return sender === '' || /^[^@].*@[^@<>\s]+$/.test(sender) ? { sender } : { isAmbiguous: true }
}

type Hop = NonNullable<ReturnType<typeof readHop>>

const CLAUSES = new Set(['from', 'by', 'via', 'with', 'id', 'for'])

/**
 * Reads a Received header (RFC 5321, section 4.4); `name`: the client's name by DNS. Undefined if
 * the header is ambiguous.
 */
function readHop(value: string) {
  const [bare] = withoutComments(value.slice(0, MAX_VALUE))?.split(';') ?? []
  const words = bare?.trim().split(/\s+/) ?? []
  const clauses = new Map<string, string>()
  for (const [at, word] of words.entries()) {
    const name = word.toLowerCase()
    if (!CLAUSES.has(name)) continue
    if (clauses.has(name)) return undefined
    clauses.set(name, words[at + 1] ?? '')
  }
  if (!clauses.has('by')) return undefined
  const [from = ''] = value.split(/\sby\s/i, 1)
  const [, helo = '', seen = ''] = /^\s*from\s+([^\s(]*)(.*)$/is.exec(from) ?? []
  return {
    helo,
    name: nameOf(/\(\s*([\w.-]+)\s+\[/.exec(seen)?.[1] ?? ''),
    by: nameOf(clauses.get('by') ?? ''),
    protocol: clauses.get('with') ?? '',
    addresses: addressesIn(helo, seen),
  }
}

function nameOf(text: string): string {
  return text.toLowerCase().replace(/\.$/, '')
}

const LITERAL = /\[(?:IPv6:)?([\da-f.:]+)\]/gi

/** The addresses that the server saw, without those in the client's HELO name. */
function addressesIn(helo: string, seen: string): string[] {
  const trusted = seen.replaceAll(/\b(?:helo|ehlo)=[^\s)]+/gi, '')
  const found = new Set([...trusted.matchAll(LITERAL)].map(([, ip = '']) => ip.toLowerCase()))
  // Exim writes clients without a name with their address first, and their HELO name in a comment.
  const [, first = ''] = /^\[(?:IPv6:)?([\da-f.:]+)\](?::\d+)?$/i.exec(helo) ?? []
  if (found.size === 0 && /^\s*\((?:[^()]*\s)?(?:helo|ehlo|port)=/i.test(seen)) found.add(first.toLowerCase())
  return [...found].filter((ip) => isIP(ip) !== 0)
}

/** Whether a hop is within the organisation. `below`: the hop before it. */
function isOwn(hop: Hop, below: Hop | undefined): boolean {
  if (/^lmtp/i.test(hop.protocol)) return true
  // A hop between machines of one cluster, without a client.
  if (hop.helo === '') return isPrivate(hop.by)
  const { addresses } = hop
  if (addresses.length === 0) return false
  if (addresses.every((ip) => rangeOf(ip) === 'loopback')) return true
  // The address is not enough: a server behind NAT sees all clients at private addresses, without
  // names.
  return addresses.every(isPrivate) && hop.name !== '' && hop.name === below?.by
}

function rangeOf(ip: string): string {
  return isIP(ip) === 0 ? '' : ipaddr.process(ip).range()
}

function isPrivate(ip: string): boolean {
  return PRIVATE.test(rangeOf(ip)) || GOOGLE.test(ip)
}
