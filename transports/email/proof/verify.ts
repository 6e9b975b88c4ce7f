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
 * Makes the function that tells who wrote a mail (`raw`: as it came), and that never throws: by the results of the host
 * that `trust` names, else by DKIM, SPF and DMARC. What passes is wholly proven, and read here as it was verified.
 *
 * The parts of mailauth are called one by one. Its `authenticate` lets signatures count for DMARC that leave the end of
 * the body open, believes a Received header further down where the topmost has no address, and takes the envelope's
 * sender from the last Return-Path, which may be the sender's own.
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
      // It may pass, or be the mail's own fault, by which it is not let in.
      return { identity: { result: 'fail', by: 'error', detail: reasonOf(error) }, undecided: true }
    }
  }
}

type Evidence = Awaited<ReturnType<typeof gather>>

/**
 * What can be found out about a mail. `doubt`: why nothing is proven. `signatures`: those that cover all that is used;
 * `open`: why one of the author's domain does not. `sent`: what SPF says; undefined where it could not be evaluated.
 */
async function gather(claim: Claim, resolver: DNSResolver) {
  // Loaded by the first mail that needs it: a quarter of a second and 30 MB that `trust` and `off` do without.
  const { dkimVerify, dmarc, spf } = await import('mailauth')
  const { address, mail, raw } = claim
  // Each question has time of its own: slow keys must not keep from view that the domain has such mail refused.
  const asked = () => oneTimeResolver(resolver)
  // What proves nothing is not verified: its signatures may be many, and long to compute.
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
  // Mail whose domain cannot be named is nobody's (RFC 9989, section 11.5).
  if (!policy) {
    return { identity: { result: 'fail', by: 'from', detail: doubt ?? 'its sender has no domain' } }
  }
  // `p=none` asks receivers to act on nothing; lists and forwarders break such mail every day.
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

/** Why the library saw another author than the one who is shown. */
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
  // Without a record of the domain, or without its answer: then only what the strictest record would let pass.
  const passed = signatures.filter(hasPassed)
  const aligned = passed.some(({ signingDomain, status }) =>
    found === 'none' ? Boolean(status.aligned) : domainOf(signingDomain ?? '') === claim.domain,
  )
  if (aligned) return 'dkim'
  return sent?.status.result === 'pass' && domainOf(sent.domain) === claim.domain ? 'spf' : undefined
}

/** What a signature leaves out, where nothing else vouches for the whole mail, as the server does that SPF allows to send it. */
function unsignedIn({ claim, signatures, sent, policy }: Evidence): string[] | undefined {
  const isSent = sent && hasPassed(sent)
  if (isSent && (policy?.alignment?.spf.result || domainOf(sent.domain) === claim.domain)) return undefined
  const unsigned = unsignedHeaders(claim, signatures.filter(isAuthors).map(namesCovered))
  return unsigned.length > 0 ? unsigned : undefined
}

/** True where a look-up failed that might have proven the sender. Others are of no account: anybody can make one fail. */
function isUndecided({ claim, signatures, sent, policy }: Evidence): boolean {
  if (policy?.status.result === 'temperror') return true
  const failed = (status: { result: string }) => status.result === 'temperror'
  const domain = policy?.domain ?? claim.domain
  return (
    signatures.some(({ status }) => failed(status) && status.aligned) ||
    (sent !== undefined && failed(sent.status) && isWithin(sent.domain, domain))
  )
}

/** Whether SPF, not evaluated as nobody knows the last hop, might have passed: then a failed DMARC says nothing. */
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
      // The mail waits for the answer: an outage must let nobody in.
      if (isTemporary(error)) throw error
      return []
    })
  const records = (await Promise.all(asked.map(look))).flat()
  return records.some((each) => /^v=spf1(?: |$)/i.test([each].flat().join('')))
}
