import { hostname } from 'node:os'
import type { DKIMResult, DKIMVerifyResult, DMARCResult, DNSResolver } from 'mailauth'
import { reasonOf } from '../../../src/core/errors.ts'
import { defined } from '../../../src/lib/defined.ts'
import { lowerCase } from '../mime/addresses.ts'
import type { EmailOptions } from '../options.ts'
import {
  type Claim,
  type Covered,
  leftOpen,
  type Mail,
  readClaim,
  unsignedHeaders,
  type Verdict,
} from './claim.ts'
import { isTemporary, oneTimeResolver } from './dns.ts'
import { type LastHop, lastHop } from './last-hop.ts'
import { domainOf, isWithin } from './results.ts'
import { trustedResult } from './trusted.ts'

/**
 * Makes the function that determines who wrote a mail (`raw`: as received). It never throws. It uses the results of the host in
 * `trust`, or else DKIM, SPF and DMARC. A mail that passes is proven completely, in the form in which it is read here.
 *
 * The functions of mailauth are called one by one, because its `authenticate` accepts signatures for DMARC that do not cover the end of
 * the body, trusts a later Received header if the topmost one has no address, and takes the envelope sender from the last Return-Path,
 * which the sender may have written.
 */
export function createIdentityCheck(
  { authentication, trust }: Pick<EmailOptions, 'authentication' | 'trust'>,
  resolver: DNSResolver,
) {
  return async (mail: Mail, raw: Buffer): Promise<Verdict> => {
    if (authentication === 'off') return { identity: { result: 'none', by: 'off', detail: 'not verified' } }
    try {
      const claim = readClaim(mail, raw)
      if (!claim)
        return { identity: { result: 'fail', by: 'from', detail: 'there is not exactly one sender' } }
      if (trust) return { identity: trustedResult(claim, trust) }
      return await decide(await gather(claim, resolver), oneTimeResolver(resolver))
    } catch (error) {
      // The error may be temporary, or provoked by the mail, which must not be let in.
      return { identity: { result: 'fail', by: 'error', detail: reasonOf(error) }, undecided: true }
    }
  }
}

type Evidence = Awaited<ReturnType<typeof gather>>

/**
 * Collects the evidence about a mail. `doubt`: why nothing is proven. `signatures`: those that cover everything that is used. `open`:
 * why a signature of the author's domain does not. `sent`: the result of SPF; undefined if it could not be evaluated.
 */
async function gather(claim: Claim, resolver: DNSResolver) {
  // Loaded on first use: it takes a quarter of a second and 30 MB, which `trust` and `off` do not need.
  const { dkimVerify, dmarc, spf } = await import('mailauth')
  const { address, mail, raw } = claim
  // Each lookup has its own time limit: slow keys must not hide that the domain asks to refuse such mail.
  const asked = () => oneTimeResolver(resolver)
  // A doubtful mail is not verified, as many signatures may take long.
  const read = claim.doubt ? undefined : await dkimVerify(raw, { resolver: asked(), rejectRsaSha1: true })
  const doubt = claim.doubt ?? (read && misread(read, address))
  const believed = doubt ? undefined : read
  const openIn = (signature: DKIMResult) =>
    leftOpen(claim, { covered: namesCovered(signature), isPartial: Boolean(signature.status.underSized) })
  const signatures = believed?.results.filter((each) => openIn(each) === undefined) ?? []
  const open = believed?.results.filter(isAuthors).map(openIn).find(Boolean)
  const hop: LastHop = believed ? lastHop(mail) : {}
  const { client, sender } = hop
  const isKnown = client && sender !== undefined
  const sent = isKnown ? await spf({ ...client, sender, mta: hostname(), resolver: asked() }) : undefined
  const policy = await dmarc({
    headerFrom: [address],
    spfDomains: sent?.status.result === 'pass' ? [sent.domain] : [],
    dkimDomains: signatures.filter(hasPassed).map(({ id = '', signingDomain = '', status }) => ({
      ...{ id, domain: signingDomain, aligned: status.aligned ?? false },
    })),
    resolver: asked(),
  })
  return { claim, doubt, signatures, open, sent, hop, policy: policy || undefined }
}

async function decide(evidence: Evidence, resolver: DNSResolver): Promise<Verdict> {
  const { doubt, policy, sent } = evidence
  const spf = sent && `spf=${sent.status.result}`
  const detail = [policy?.info ?? 'dmarc=none', spf, doubt, evidence.open].filter(Boolean).join('; ')
  const proof = proofIn(evidence)
  const unsigned = proof ? unsignedIn(evidence) : undefined
  if (proof) return { identity: { result: 'pass', by: proof, detail, ...defined({ unsigned }) } }
  // Without a valid domain, nobody is responsible for the mail (RFC 9989, section 11.5).
  if (!policy) {
    return { identity: { result: 'fail', by: 'from', detail: doubt ?? 'its sender has no domain' } }
  }
  // `p=none` asks receivers not to act on failures, which lists and forwarders cause every day.
  const isForbidden = policy.status.result === 'fail' && policy.policy !== 'none'
  if (isUndecided(evidence)) {
    return { undecided: true, identity: { result: isForbidden ? 'fail' : 'temperror', by: 'dns', detail } }
  }
  if (!isForbidden) return { identity: { result: 'none', by: doubt ? 'headers' : 'unsigned', detail } }
  const isKnown = doubt || sent || evidence.hop.illegible
  if (isKnown || !(await mightPassSpf(evidence, policy, resolver)))
    return { identity: { result: 'fail', by: 'dmarc', detail } }
  return { identity: { result: 'none', by: 'dmarc', detail: `${detail}; spf could not be evaluated` } }
}

/** Why the mail is doubtful: the library read another author than the one shown here. */
function misread({ headerFrom, fromFields }: DKIMVerifyResult, address: string): string | undefined {
  const [seen = ''] = headerFrom
  const same = fromFields === 1 && headerFrom.length === 1 && lowerCase(seen) === address
  return same ? undefined : 'its sender can be read in several ways'
}

function namesCovered({ signingHeaders }: DKIMResult): Covered {
  return signingHeaders?.keys.toLowerCase().split(': ') ?? []
}

function hasPassed({ status }: { status: { result: string } }): boolean {
  return status.result === 'pass'
}

function isAuthors(signature: DKIMResult): boolean {
  return hasPassed(signature) && Boolean(signature.status.aligned)
}

function proofIn({ claim, signatures, sent, policy }: Evidence): string | undefined {
  const found = policy?.status.result
  if (found === 'pass') return 'dmarc'
  if (!policy || found === 'fail') return undefined
  // If the domain has no record, or its DNS does not answer: accepts only what the strictest record would accept.
  const passed = signatures.filter(hasPassed)
  const aligned = passed.some(({ signingDomain, status }) =>
    found === 'none' ? Boolean(status.aligned) : domainOf(signingDomain ?? '') === claim.domain,
  )
  if (aligned) return 'dkim'
  return sent?.status.result === 'pass' && domainOf(sent.domain) === claim.domain ? 'spf' : undefined
}

/** Headers that no signature covers. Undefined if SPF also proves the sender, which vouches for the whole mail. */
function unsignedIn({ claim, signatures, sent, policy }: Evidence): string[] | undefined {
  const isSent = sent && hasPassed(sent)
  if (isSent && (policy?.alignment?.spf.result || domainOf(sent.domain) === claim.domain)) return undefined
  const unsigned = unsignedHeaders(claim, signatures.filter(isAuthors).map(namesCovered))
  return unsigned.length > 0 ? unsigned : undefined
}

/** Whether a lookup failed that could have proven the sender. Other failures do not count, as anyone can provoke them. */
function isUndecided({ claim, signatures, sent, policy }: Evidence): boolean {
  if (policy?.status.result === 'temperror') return true
  const failed = (status: { result: string }) => status.result === 'temperror'
  const domain = policy?.domain ?? claim.domain
  return (
    signatures.some(({ status }) => failed(status) && status.aligned) ||
    (sent !== undefined && failed(sent.status) && isWithin(sent.domain, domain))
  )
}

/** Whether SPF could have passed, although the last hop is unknown and SPF was not evaluated. Then a failed DMARC proves nothing. */
async function mightPassSpf(
  { claim: { domain: from }, hop: { sender } }: Evidence,
  { domain, alignment }: DMARCResult,
  resolver: DNSResolver,
): Promise<boolean> {
  const envelope = sender === undefined ? undefined : domainOf(sender)
  const aligned =
    envelope === undefined || (alignment.spf.strict ? envelope === from : isWithin(envelope, domain))
  if (!aligned) return false
  const asked = envelope === undefined ? [from, domain] : [envelope]
  const look = (name: string) =>
    resolver(name, 'TXT').catch((error) => {
      // The mail waits for an answer, because an outage must not let it in.
      if (isTemporary(error)) throw error
      return []
    })
  const records = (await Promise.all(asked.map(look))).flat()
  return records.some((each) => /^v=spf1(?: |$)/i.test([each].flat().join('')))
}
