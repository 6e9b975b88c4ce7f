import type { DNSResolver } from 'mailauth'
import { reasonOf } from '../../../src/core/errors.ts'
import type { Mail } from '../inbound/parse.ts'
import { readClaim, type Verdict } from './claim.ts'
import { trustedResult } from './trusted.ts'
import { verifySender } from './verify.ts'

/** Tells who wrote a mail; `raw` is the mail as it came. Never throws. */
export type VerifyIdentity = (mail: Mail, raw: Buffer) => Promise<Verdict>

/**
 * `off`: no mail is verified. With `trust` the Authentication-Results (RFC 8601) of that host are believed.
 * Else DKIM, SPF, DMARC and ARC are verified here, with what the Received headers of own servers say of the sender.
 * A mail passes only where the address that is shown is the one that was verified, and where its headers are read
 * here as they are read by whoever verifies them.
 */
export function createIdentityCheck(options: {
  authentication: 'require' | 'prefer' | 'off'
  trust: string | undefined
  /** Domains whose ARC seals (RFC 8617) are believed. */
  sealers: readonly string[]
  resolver: DNSResolver
}): VerifyIdentity {
  const { authentication, trust, resolver } = options
  const sealers = new Set(options.sealers.map((each) => each.toLowerCase()))
  return async (mail, raw) => {
    if (authentication === 'off') return { identity: { result: 'none', by: 'off', detail: 'not verified' } }
    try {
      const claim = readClaim(mail, raw)
      if (!claim)
        return { identity: { result: 'fail', by: 'from', detail: 'there is not exactly one sender' } }
      if (trust) return { identity: trustedResult(claim, trust) }
      return await verifySender(claim, { resolver, sealers })
    } catch (error) {
      // It may pass, or be the mail's own fault, by which it is not let in.
      return { identity: { result: 'fail', by: 'error', detail: reasonOf(error) }, undecided: true }
    }
  }
}
