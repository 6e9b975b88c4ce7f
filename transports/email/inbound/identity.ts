import { hostname } from 'node:os'
import type { Readable } from 'node:stream'
import type { DNSResolver } from 'mailauth'
import { reasonOf } from '../../../src/core/errors.ts'
import { domainOf } from './authentication-results.ts'
import { provenBeforeForwarding } from './forwarded.ts'
import { ambiguity } from './header-section.ts'
import { header, type Mail } from './parse.ts'
import { trustedResult } from './trusted-results.ts'

/** Whether the sender is who the From header says. */
export type Identity = {
  /** `none`: nobody can tell: the domain publishes nothing, or the answer could not be had. */
  result: 'pass' | 'fail' | 'none' | 'temperror'
  /** What decided: `dmarc`, `dkim`, `spf`, `trusted`, … */
  by: string
  detail: string
}

/** Tells who wrote a mail. `source` opens the mail as it came; it is read at most once. Never throws. */
export type VerifyIdentity = (mail: Mail, source: () => Buffer | Readable) => Promise<Identity>

/**
 * `off`: no mail is verified. With `trust` the Authentication-Results (RFC 8601) of that host are believed.
 * Else DKIM, SPF, DMARC and ARC are verified here, with what the topmost Received header says of the sender.
 */
export function createIdentityCheck(options: {
  authentication: 'require' | 'prefer' | 'off'
  trust: string | undefined
  /** Domains whose ARC seals (RFC 8617) are believed. */
  sealers: readonly string[]
  resolver: DNSResolver
  now(): number
}): VerifyIdentity {
  const { authentication, trust, resolver } = options
  const sealers = new Set(options.sealers.map((each) => each.toLowerCase()))
  if (authentication === 'off') return async () => ({ result: 'none', by: 'off', detail: 'not verified' })
  return async (mail, source) => {
    const [sender] = mail.from
    // One author, one From header: what DMARC can speak about (RFC 7489, section 6.6.1).
    if (!sender || mail.from.length > 1 || mail.headers.filter(({ key }) => key === 'from').length > 1) {
      return { result: 'fail', by: 'from', detail: 'there is not exactly one sender' }
    }
    if (trust) {
      return trustedResult(mail, trust, domainOf(sender.address), await ambiguity(mail, source))
    }
    try {
      return await verify(mail, source(), { resolver, sealers })
    } catch (error) {
      return { result: 'none', by: 'error', detail: reasonOf(error) }
    }
  }
}

async function verify(
  mail: Mail,
  source: Buffer | Readable,
  { resolver, sealers }: { resolver: DNSResolver; sealers: ReadonlySet<string> },
): Promise<Identity> {
  // Loaded by the first mail that needs it: a quarter of a second and 30 MB that `trust` and `off` do without.
  const { authenticate } = await import('mailauth')
  const { dkim, spf, dmarc, arc } = await authenticate(source, {
    trustReceived: header(mail, 'received') !== undefined,
    mta: hostname(),
    resolver,
    disableBimi: true,
  })
  const aligned = dkim.results.find(({ status }) => status.result === 'pass' && status.aligned)
  const arcNote = arc && arc.status.result === 'pass' ? '; arc=pass' : ''
  const spfNote = spf ? `; spf=${spf.status.result}` : ''
  const detail = (dmarc ? dmarc.info : 'dmarc=none') + spfNote + arcNote
  if (dmarc && dmarc.status.result === 'pass') return { result: 'pass', by: 'dmarc', detail }
  const from = domainOf(mail.from[0]?.address ?? '')
  const chain = arc && arc.status.result === 'pass' && dkim.arc?.chain
  if (chain && provenBeforeForwarding(chain, sealers, from)) return { result: 'pass', by: 'arc', detail }
  // `p=none` asks receivers to act on nothing; lists and forwarders break such mail every day.
  if (dmarc && dmarc.status.result === 'fail' && dmarc.policy !== 'none') {
    return { result: 'fail', by: 'dmarc', detail }
  }
  if (aligned) return { result: 'pass', by: 'dkim', detail }
  if (spf && spf.status.result === 'pass' && spf.domain.toLowerCase() === from) {
    return { result: 'pass', by: 'spf', detail }
  }
  return { result: 'none', by: 'unsigned', detail }
}
