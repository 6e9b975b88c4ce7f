import { Resolver } from 'node:dns/promises'
import type { DNSResolver } from 'mailauth'
import { z } from 'zod'
import { inTime } from '../../../src/lib/pause.ts'

const TTL = 300_000
/** How long it is remembered that there is no such name, and that the DNS did not answer. */
const NO_NAME_TTL = 30_000
const FAILED_TTL = 2000
const MAX = 5000
const TIMEOUT = 3000
/**
 * Ms from the first look-up to the end of the last. Senders choose how many there are, and how slow their servers
 * answer; a mail that needed longer is tried again, and its answers are remembered until then.
 */
const LIMIT = 10_000

/**
 * Failures of the DNS that may pass. No other counts: what a name of the sender's choice can provoke, such as EBADNAME
 * or EFORMERR for a strange selector under somebody else's domain, must not look like an outage of that domain.
 */
const TEMPORARY = new Set([
  ...['ETIMEOUT', 'ESERVFAIL', 'EREFUSED', 'ECONNREFUSED', 'ECANCELLED'],
  ...['ENETUNREACH', 'EHOSTUNREACH', 'EAI_AGAIN', 'ENOTINITIALIZED', 'ELOADIPHLPAPI'],
])

/**
 * A DNS resolver for mail authentication that remembers answers for five minutes: a backlog asks about the same few
 * domains thousands of times. Failed look-ups are remembered as well, for a shorter time.
 */
export function createResolver(now: () => number): DNSResolver {
  const dns = new Resolver({ timeout: TIMEOUT, tries: 2 })
  const cache = new Map<string, { answer: Promise<string[][] | string[]>; until: number }>()

  return (domain, type) => {
    const key = `${type} ${domain}`.toLowerCase()
    const found = cache.get(key)
    if (found && found.until > now()) return found.answer
    if (cache.size >= MAX) cache.delete(cache.keys().next().value ?? '')
    const answer = lookUp(dns, domain, type)
    const entry = { answer, until: now() + TTL }
    answer.catch((error) => {
      entry.until = now() + (isTemporary(error) ? FAILED_TTL : NO_NAME_TTL)
    })
    cache.set(key, entry)
    return answer
  }
}

// mailauth reads `{ exchange, priority }` here, which its type for resolvers leaves out.
const mxRecords = z.custom<string[]>((value) => Array.isArray(value))

async function lookUp(dns: Resolver, domain: string, type: string): Promise<string[][] | string[]> {
  if (type === 'TXT') return dns.resolveTxt(domain)
  if (type === 'MX') return mxRecords.parse(await dns.resolveMx(domain))
  if (type === 'A') return dns.resolve4(domain)
  if (type === 'AAAA') return dns.resolve6(domain)
  if (type === 'PTR') return dns.resolvePtr(domain)
  if (type === 'CNAME') return dns.resolveCname(domain)
  throw new Error(`no DNS look-up of type ${type}`)
}

/** True for an error of a look-up that may succeed later. */
export function isTemporary(error: unknown): boolean {
  return TEMPORARY.has(codeOf(error))
}

/**
 * A resolver for one question about a mail. A look-up that fails for good says that there is no such name
 * (ENOTFOUND); when its time is up, all fail (ETIMEOUT), also those that are under way.
 */
export function oneTimeResolver(resolver: DNSResolver, limit = LIMIT): DNSResolver {
  let late: AbortSignal | undefined
  return async (domain, type) => {
    late ??= AbortSignal.timeout(limit)
    try {
      const answer = await inTime(resolver(domain, type), late)
      if (answer) return answer
    } catch (error) {
      if (isTemporary(error) || /^(?:ENOTFOUND|ENODATA)$/.test(codeOf(error))) throw error
      throw failure('ENOTFOUND', `there is no ${type} of ${domain}`, error)
    }
    throw failure('ETIMEOUT', `no time is left to look up ${type} of ${domain}`)
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

function failure(code: string, message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { code })
}
