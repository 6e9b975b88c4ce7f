import type { ARCChainEntry } from 'mailauth'
import { withoutComments } from './trusted-results.ts'

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
  const [first] = chain
  const results = withoutComments(String(first?.['arc-authentication-results']?.original ?? ''))
  return results.split(';').some((each) => {
    const from = /\bheader\.from\s*=\s*"?([^\s";]{1,300})/i.exec(each)?.[1] ?? ''
    return /^\s*dmarc\s*=\s*pass\b/i.test(each) && from.toLowerCase() === domain
  })
}
