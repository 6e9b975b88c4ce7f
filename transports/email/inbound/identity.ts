import type { Readable } from 'node:stream'
import type { DNSResolver } from 'mailauth'
import { reasonOf } from '../../../src/core/errors.ts'
import { domainOf } from './authentication-results.ts'
import { contentDoubts } from './content-doubts.ts'
import { ambiguity } from './header-section.ts'
import type { Mail } from './parse.ts'
import { trustedResult } from './trusted-results.ts'
import { type Verdict, verifySender } from './verify-sender.ts'

/** Whether the sender is who the From header says. */
export type Identity = {
  /** `none`: nobody can tell, as the domain publishes nothing. `temperror`: the DNS did not answer for too long. */
  result: 'pass' | 'fail' | 'none' | 'temperror'
  /** What decided: `dmarc`, `dkim`, `spf`, `trusted`, … */
  by: string
  detail: string
  /** Headers (lower case) that anybody may have added: nothing but a signature proves the sender, and it leaves them out. */
  unsigned?: string[]
}

/**
 * Tells who wrote a mail. `source` opens the mail as it came; `waited` is for how long it could not be told (ms).
 * Throws `SenderUndecided` while the DNS fails; once its patience is over, it decides without.
 */
export type VerifyIdentity = (
  mail: Mail,
  source: () => Buffer | Readable,
  waited: number,
) => Promise<Identity>

/** Nobody can tell yet who wrote a mail. */
export class SenderUndecided extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(`it cannot be told yet who wrote it: ${reason}`, options)
    this.name = 'SenderUndecided'
  }
}

/** How long one mail waits for the DNS (ms), if nothing else is said. */
export const PATIENCE = 300_000

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
  patience: number
}): VerifyIdentity {
  const { authentication, trust, resolver, patience } = options
  const sealers = new Set(options.sealers.map((each) => each.toLowerCase()))
  if (authentication === 'off') return async () => ({ result: 'none', by: 'off', detail: 'not verified' })
  return async (mail, source, waited) => {
    const [sender] = mail.from
    // One author, one From header: what DMARC can speak about (RFC 7489, section 6.6.1).
    if (!sender || mail.from.length > 1 || mail.headers.filter(({ key }) => key === 'from').length > 1) {
      return { result: 'fail', by: 'from', detail: 'there is not exactly one sender' }
    }
    const domain = domainOf(sender.address)
    const { identity, undecided } = await judged(async () => {
      const doubt = await ambiguity(mail, source)
      if (trust) {
        const content = await contentDoubts(mail, source)
        return { identity: trustedResult(mail, trust, domain, { doubt, content }), undecided: false }
      }
      return verifySender(mail, source, { resolver, sealers, doubt })
    })
    if (undecided && waited < patience) throw new SenderUndecided(identity.detail)
    return identity
  }
}

/** What fails may be the disk, which passes, or the mail, which will not: it is not let in by its own fault. */
async function judged(judge: () => Promise<Verdict>): Promise<Verdict> {
  try {
    return await judge()
  } catch (error) {
    return { identity: { result: 'fail', by: 'error', detail: reasonOf(error) }, undecided: true }
  }
}
