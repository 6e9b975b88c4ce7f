import { hostname } from 'node:os'
import type { DKIMResult, DKIMVerifyResult, DMARCResult, DNSResolver } from 'mailauth'
import { reasonOf } from '../../../src/core/errors.ts'
import { defined } from '../../../src/lib/defined.ts'
import { lowerCase } from '../mime/addresses.ts'
import type { EmailOptions } from '../options.ts'
import {
  type Claim,
  type Covered,
  coverageGap,
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
 * Creates the function that determines who wrote a mail (`raw`: as received). It never throws. It
 * uses the results of the host in `trust`, or else DKIM, SPF and DMARC. A mail that passes is
 * proven completely, in the form in which it is read here.
 *
 * The functions of mailauth are called one by one, because its `authenticate` accepts signatures
 * for DMARC that do not cover the end of the body, trusts a later Received header if the topmost
 * one has no address, and takes the envelope sender from the last Return-Path, which the sender may
 * have written.
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
      // The error may be temporary, or the mail provoked it. Such a mail must not be let in.
      return { identity: { result: 'fail', by: 'error', detail: reasonOf(error) }, undecided: true }
    }
  }
}

type Evidence = Awaited<ReturnType<typeof gather>>

/**
 * Collects the evidence about a mail. `doubt`: why nothing is proven. `signatures`: those that
 * cover everything that is used. `gap`: what a signature of the author's domain does not cover.
 * `spf`: undefined if it could not be evaluated. `policy`: the result of DMARC.
 */
async function gather(claim: Claim, resolver: DNSResolver) {
  // Loaded on first use: it takes a quarter of a second and 30 MB, which `trust` and `off` do not
  // need.
  const mailauth = await import('mailauth')
  const { address, mail, raw } = claim
  // Each mechanism has its own time limit: slow keys must not hide that the domain asks to refuse
  // such mail.
  const newResolver = () => oneTimeResolver(resolver)
  // A doubtful mail is not verified, because many signatures may take long.
  const verified = claim.doubt
    ? undefined
    : await mailauth.dkimVerify(raw, { resolver: newResolver(), rejectRsaSha1: true })
  const doubt = claim.doubt ?? (verified && misread(verified, address))
  const dkim = doubt ? undefined : verified
  const gapIn = (signature: DKIMResult) =>
    coverageGap(claim, { covered: namesCovered(signature), isPartial: Boolean(signature.status.underSized) })
  const signatures = dkim?.results.filter((each) => gapIn(each) === undefined) ?? []
  const gap = dkim?.results.filter(isOfAuthor).map(gapIn).find(Boolean)
  const hop: LastHop = dkim ? lastHop(mail) : {}
  const { client, sender } = hop
  const isKnown = client && sender !== undefined
  const spf = isKnown
    ? await mailauth.spf({ ...client, sender, mta: hostname(), resolver: newResolver() })
    : undefined
  const policy = await mailauth.dmarc({
    headerFrom: [address],
    spfDomains: spf?.status.result === 'pass' ? [spf.domain] : [],
    dkimDomains: signatures.filter(hasPassed).map(({ id = '', signingDomain = '', status }) => ({
      id,
      domain: signingDomain,
      aligned: status.aligned ?? false,
    })),
    resolver: newResolver(),
  })
  return { claim, doubt, signatures, gap, spf, hop, policy: policy || undefined }
}

async function decide(evidence: Evidence, resolver: DNSResolver): Promise<Verdict> {
  const { doubt, policy, spf, gap } = evidence
  const spfText = spf && `spf=${spf.status.result}`
  const detail = [policy?.info ?? 'dmarc=none', spfText, doubt, gap].filter(Boolean).join('; ')
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
  const cannotPassSpf = doubt || spf || evidence.hop.isAmbiguous
  if (cannotPassSpf || !(await mightPassSpf(evidence, policy, resolver)))
    return { identity: { result: 'fail', by: 'dmarc', detail } }
  return { identity: { result: 'none', by: 'dmarc', detail: `${detail}; spf could not be evaluated` } }
}

/**
 * Why the mail is doubtful: the library read another author than we did. Undefined if it read the
 * same.
 */
function misread({ headerFrom, fromFields }: DKIMVerifyResult, address: string): string | undefined {
  const [author = ''] = headerFrom
  const isSame = fromFields === 1 && headerFrom.length === 1 && lowerCase(author) === address
  return isSame ? undefined : 'its sender can be read in several ways'
}

function namesCovered({ signingHeaders }: DKIMResult): Covered {
  return signingHeaders?.keys.toLowerCase().split(': ') ?? []
}

function hasPassed({ status }: { status: { result: string } }): boolean {
  return status.result === 'pass'
}

/** Whether a valid signature is from the author's domain. */
function isOfAuthor(signature: DKIMResult): boolean {
  return hasPassed(signature) && Boolean(signature.status.aligned)
}

/** The mechanism that proves the author; undefined if none does. */
function proofIn({ claim, signatures, spf, policy }: Evidence): string | undefined {
  const dmarc = policy?.status.result
  if (dmarc === 'pass') return 'dmarc'
  if (!policy || dmarc === 'fail') return undefined
  // If the domain has no record, or its DNS does not answer: accepts only what the strictest record
  // would accept.
  const passed = signatures.filter(hasPassed)
  const isAligned = passed.some(({ signingDomain, status }) =>
    dmarc === 'none' ? Boolean(status.aligned) : domainOf(signingDomain ?? '') === claim.domain,
  )
  if (isAligned) return 'dkim'
  return spf?.status.result === 'pass' && domainOf(spf.domain) === claim.domain ? 'spf' : undefined
}

/**
 * Headers that no signature covers. Undefined if there are none, or if SPF also proves the sender:
 * then the whole mail is theirs.
 */
function unsignedIn({ claim, signatures, spf, policy }: Evidence): string[] | undefined {
  const hasSpf = spf && hasPassed(spf)
  if (hasSpf && (policy?.alignment?.spf.result || domainOf(spf.domain) === claim.domain)) return undefined
  const unsigned = unsignedHeaders(claim, signatures.filter(isOfAuthor).map(namesCovered))
  return unsigned.length > 0 ? unsigned : undefined
}

/**
 * Whether a lookup failed that could have proven the sender. Others do not count, because anyone
 * can provoke their failure.
 */
function isUndecided({ claim, signatures, spf, policy }: Evidence): boolean {
  if (policy?.status.result === 'temperror') return true
  const isTempError = (status: { result: string }) => status.result === 'temperror'
  const domain = policy?.domain ?? claim.domain
  return (
    signatures.some(({ status }) => isTempError(status) && status.aligned) ||
    (spf !== undefined && isTempError(spf.status) && isWithin(spf.domain, domain))
  )
}

/**
 * Whether SPF, which was not evaluated because the last hop is unknown, could have passed. Then a
 * failed DMARC proves nothing.
 */
async function mightPassSpf(
  { claim: { domain: from }, hop: { sender } }: Evidence,
  { domain, alignment }: DMARCResult,
  resolver: DNSResolver,
): Promise<boolean> {
  const envelope = sender === undefined ? undefined : domainOf(sender)
  const mayAlign =
    envelope === undefined || (alignment.spf.strict ? envelope === from : isWithin(envelope, domain))
  if (!mayAlign) return false
  const domains = envelope === undefined ? [from, domain] : [envelope]
  const lookUp = (name: string) =>
    resolver(name, 'TXT').catch((error) => {
      // The mail waits for an answer, because an outage must not let it in.
      if (isTemporary(error)) throw error
      return []
    })
  const records = (await Promise.all(domains.map(lookUp))).flat()
  return records.some((each) => /^v=spf1(?: |$)/i.test([each].flat().join('')))
}
