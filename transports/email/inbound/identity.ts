import type { Readable } from 'node:stream'
import type { DNSResolver } from 'mailauth'
import { reasonOf } from '../../../src/core/errors.ts'
import { domainOf } from './authentication-results.ts'
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
}

/**
 * Tells who wrote a mail. `source` opens the mail as it came. Throws `SenderUndecided` while the DNS fails: called
 * again with the same `source`, it tries again, and decides without the DNS once its patience is over.
 */
export type VerifyIdentity = (mail: Mail, source: () => Buffer | Readable) => Promise<Identity>

/** Nobody can tell yet who wrote a mail. `late`: others have waited long enough for it. */
export class SenderUndecided extends Error {
  readonly late: boolean

  constructor(reason: string, late: boolean, options?: ErrorOptions) {
    super(`it cannot be told yet who wrote it: ${reason}`, options)
    this.name = 'SenderUndecided'
    this.late = late
  }
}

/** How long one mail waits for the DNS (ms). The mails after it wait for their turn for a twentieth of that. */
const PATIENCE = 300_000
const MAX_BROKEN = 1000

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
  now(): number
  patience?: number
}): VerifyIdentity {
  const { authentication, trust, resolver } = options
  const sealers = new Set(options.sealers.map((each) => each.toLowerCase()))
  if (authentication === 'off') return async () => ({ result: 'none', by: 'off', detail: 'not verified' })
  const patience = createPatience(options.now, options.patience ?? PATIENCE)
  return async (mail, source) => {
    const [sender] = mail.from
    // One author, one From header: what DMARC can speak about (RFC 7489, section 6.6.1).
    if (!sender || mail.from.length > 1 || mail.headers.filter(({ key }) => key === 'from').length > 1) {
      return { result: 'fail', by: 'from', detail: 'there is not exactly one sender' }
    }
    const domain = domainOf(sender.address)
    const { identity, undecided } = await judged(async () => {
      const doubt = await ambiguity(mail, source)
      if (trust) return { identity: trustedResult(mail, trust, domain, doubt), undecided: false }
      return verifySender(mail, source, { resolver, sealers, doubt })
    })
    if (undecided) patience.wait(source, domain, identity.detail)
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

type Patience = { wait(mail: object, domain: string, reason: string): void }

/** `wait` throws until a mail has waited long enough. */
function createPatience(now: () => number, limit: number): Patience {
  const since = new WeakMap<object, number>()
  const broken = new Map<string, number>()
  return {
    wait(mail, domain, reason) {
      // Without its subdomains, of which a sender can have as many as he likes.
      const key = domain.split('.').slice(-2).join('.')
      const first = since.get(mail) ?? now()
      since.set(mail, first)
      const waited = now() - first
      // One mail of a domain that is broken holds up the mailbox, and not each of them.
      if (waited < limit && (broken.get(key) ?? 0) <= now()) {
        throw new SenderUndecided(reason, waited >= limit / 20)
      }
      broken.delete(key)
      if (broken.size >= MAX_BROKEN) broken.delete(broken.keys().next().value ?? '')
      broken.set(key, now() + limit)
    },
  }
}
