import type { ARCChainEntry } from 'mailauth'
import { domainOf, parseAuthenticationResults } from './authentication-results.ts'

/**
 * Whether forwarders that are trusted saw proof that the mail came from `domain`, before they changed it: mailing
 * lists and forwarding break DKIM and SPF of honest mail, and ARC (RFC 8617) is how they say so. `chain` is a chain
 * that was verified as a whole. Every one of its sealers must be in `trusted`, since each could have made up what
 * stands below it.
 */
export function provenBeforeForwarding(
  chain: readonly ARCChainEntry[],
  trusted: ReadonlySet<string>,
  domain: string,
): boolean {
  const sealers = chain.map((entry) => String(entry['arc-seal']?.parsed?.d?.value ?? '').toLowerCase())
  if (sealers.length === 0 || !sealers.every((sealer) => trusted.has(sealer))) return false
  // The first of them saw the mail as it was sent. A From that was written anew after it is not what it vouched for.
  const original = String(chain[0]?.['arc-authentication-results']?.original ?? '')
  const value = /^[^:;]*:\s*i\s*=\s*1\s*;(.*)$/is.exec(original)?.[1] ?? ''
  const found = parseAuthenticationResults(value)?.results.filter(({ method }) => method === 'dmarc') ?? []
  return (
    found.length > 0 &&
    found.every(({ result, properties }) => {
      return result === 'pass' && domainOf(properties.get('header.from') ?? '') === domain
    })
  )
}
