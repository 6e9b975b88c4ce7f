import { Resolver } from 'node:dns/promises'
import type { DNSResolver } from 'mailauth'
import { z } from 'zod'
import { isTemporary } from './inbound/dns-failure.ts'

const TTL = 300_000
/** How long it is remembered that there is no such name, and that the DNS did not answer. */
const NO_NAME_TTL = 30_000
const FAILED_TTL = 2000
const MAX = 5000
const TIMEOUT = 3000

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
