import { type Claim, coverageGap, type Identity, repeatedHeader, unsignedHeaders } from './claim.ts'
import {
  type AuthenticationResults,
  domainOf,
  isWithin,
  type MethodResult,
  parseAuthenticationResults,
  withoutComments,
} from './results.ts'

/** The value of `trust` for Microsoft, whose headers name no server. */
export const MICROSOFT = 'microsoft'

/**
 * The verdict of the Authentication-Results headers (RFC 8601) of `host`. Only the topmost group of
 * them counts, up to the next Received header: anything below was in the mail before your server
 * received it. If the claim is doubtful, the server may have judged the mail by other contents than
 * those read here, so it proves nothing.
 */
export function trustedResult(claim: Claim, host: string): Identity {
  const name = host.toLowerCase()
  const group = name === MICROSOFT ? microsoftResults(claim) : topmost(claim, name)
  if (!group) {
    const values = claim.headers.get('authentication-results') ?? []
    const failed = values.some(({ value }) => /\bdmarc\s*=\s*fail\b/i.test(value))
    return {
      result: failed ? 'fail' : 'none',
      by: 'trusted',
      detail: `the results of ${host} cannot be parsed`,
    }
  }
  const results = firstOfEach(group)
  const { result, note, bySignature } = verdictOf(claim, group, results)
  const { signatures, domain } = claim
  const isOwn = ({ signer }: { signer: string }) => isAligned(signer, domain) || isWithin(signer, domain)
  // The server may not say which signature of the author's domain it verified, so each of them must
  // cover everything that is used.
  const own = bySignature ? signatures.filter(isOwn) : []
  const gap =
    own.length > 0 ? own.map((each) => coverageGap(claim, each)).find(Boolean) : repeatedHeader(claim)
  const objection = claim.doubt ?? (bySignature && gap)
  const statements = results.map((each) => `${each.method}=${each.result}`)
  const detail = [...statements, note, objection].filter(Boolean).join('; ') || `nothing from ${host}`
  if (objection && result === 'pass') {
    // Nothing is proven, so the policy of the domain decides.
    return { result: dmarcIn(group).some(asksToRefuse) ? 'fail' : 'none', by: 'trusted', detail }
  }
  // Empty if not a signature but SPF proved the sender.
  const unsigned = [...new Set(own.flatMap(({ covered }) => unsignedHeaders(claim, [covered])))]
  return { result, by: 'trusted', detail, ...(unsigned.length > 0 ? { unsigned } : {}) }
}

/** `bySignature`: only a signature proves the sender. */
type TrustedVerdict = { result: Identity['result']; note?: string; bySignature?: true }

function verdictOf({ domain }: Claim, group: Group, results: readonly MethodResult[]): TrustedVerdict {
  if (dmarcIn(group).some(({ result }) => result === 'fail')) return { result: 'fail' }
  const dmarc = results.filter(({ method }) => method === 'dmarc')
  const authors = dmarc.map((each) => domainIn(each, 'header.from'))
  const other = authors.find((author) => author !== '' && !isAligned(author, domain))
  if (other) return { result: 'fail', note: `judged as a mail from ${other}` }
  const passed = (name: string) =>
    results.filter(({ method, result }) => method === name && result === 'pass')
  if (passed('spf').some((each) => domainIn(each, 'smtp.mailfrom') === domain)) return { result: 'pass' }
  // Some servers name the organisational domain, because the policy is from there.
  const byDmarc = passed('dmarc').some((each) => isAligned(domainIn(each, 'header.from'), domain))
  const byDkim = passed('dkim').some((each) =>
    isAligned(domainIn(each, 'header.d') || domainIn(each, 'header.i'), domain),
  )
  if (byDmarc || byDkim) return { result: 'pass', bySignature: true }
  return { result: dmarc.some(({ result }) => result === 'temperror') ? 'temperror' : 'none' }
}

/** Headers of one server that follow each other. */
type Group = readonly AuthenticationResults[]

function dmarcIn(group: Group): MethodResult[] {
  return group.flatMap((each) => each.results).filter(({ method }) => method === 'dmarc')
}

/** The topmost headers of `host`. Undefined if one of them, or the next one, cannot be parsed. */
function topmost({ mail }: Claim, host: string): AuthenticationResults[] | undefined {
  const found: AuthenticationResults[] = []
  for (const { key, value } of mail.headers) {
    if (key === 'received' && found.length > 0) break
    if (key !== 'authentication-results') continue
    const parsed = parseAuthenticationResults(value)
    if (!parsed) return undefined
    if (parsed.host !== host) break
    found.push(parsed)
  }
  return found
}

/** The first result of each method. The sender may have written later ones. */
function firstOfEach(group: Group): MethodResult[] {
  const known = new Set<string>()
  return group.flatMap(({ results }) => {
    const first = results.filter(({ method }) => !known.has(method))
    for (const { method } of first) known.add(method)
    return first
  })
}

function domainIn({ properties }: MethodResult, name: string): string {
  return domainOf(properties.get(name) ?? '')
}

/** A parent domain may sign for its children (relaxed alignment), never a child for its parent. */
function isAligned(signing: string, from: string): boolean {
  return signing.includes('.') && isWithin(from, signing)
}

/** Servers state the policy in a comment, `(p=REJECT)`, or as `policy.dmarc`. */
function asksToRefuse({ properties, comments }: MethodResult): boolean {
  const policy = properties.get('policy.dmarc') ?? /\bp(?:olicy)?\s*=\s*(\w+)/i.exec(comments)?.[1] ?? ''
  return /^(?:quarantine|reject)$/i.test(policy)
}

/** Servers of Microsoft. */
const OWN_SERVER = /\.(?:outlook\.com|office365\.com|exchangelabs\.com|office365\.us|outlook\.cn)$/
/** The ones that receive mail from outside and write the results. */
const EDGE_SERVER = /\.protection\.(?:[\w-]+\.)?(?:outlook\.com|office365\.us|outlook\.cn)$/
/** Addresses that only Exchange Online uses; tenants of Azure have others (`2603:1030:…`). */
const INTERNAL_ADDRESS = /^(?:2603:10[\da-f]6|2a01:111):/i

/**
 * The Authentication-Results of Microsoft 365 and Outlook.com, which name no server (against RFC
 * 8601, section 2.2). They are between two headers that only Microsoft writes: above the Received
 * header of the edge server that accepted the mail, and below that of the hop from this edge into
 * the internal network. Undefined if they cannot be parsed.
 */
function microsoftResults({ mail }: Claim): AuthenticationResults[] | undefined {
  const at = mail.headers.findIndex(({ key }) => key === 'authentication-results')
  const found = mail.headers[at]
  const isReceived = ({ key }: { key: string }) => key === 'received'
  const above = mail.headers.slice(0, Math.max(at, 0)).filter(isReceived)
  const edge = mail.headers.slice(at + 1).find(isReceived)
  const entry = above.at(-1)
  if (!found || !edge || !entry) return []
  const edgeHost = writerOf(edge)
  // If Microsoft wrote no results, the topmost ones are the sender's, and the edge server is above
  // them.
  const isAboveInternal = above
    .map(writerOf)
    .every((host) => OWN_SERVER.test(host) && !EDGE_SERVER.test(host))
  if (!isAboveInternal || !EDGE_SERVER.test(edgeHost) || !comesFrom(entry, edgeHost)) return []
  const parsed = parseAuthenticationResults(`${MICROSOFT}; ${found.value}`)
  return parsed && [parsed]
}

/** The server that wrote a Received header. */
function writerOf({ value }: { value: string }): string {
  return /(?:^|\s)by\s+([\w.-]+)/i.exec(withoutComments(value) ?? '')?.[1]?.toLowerCase() ?? ''
}

/**
 * Whether an internal Received header names the edge server as its client. Only the first label of
 * the name is compared: a machine has another domain inside (`AM3PEPF.eurprd05.prod.outlook.com`)
 * than outside.
 */
function comesFrom({ value }: { value: string }, edge: string): boolean {
  const [, machine = '', address = ''] = /^\s*from\s+([\w-]+)\.[\w.-]+\s+\(([\da-f:]+)\)/i.exec(value) ?? []
  return INTERNAL_ADDRESS.test(address) && edge.startsWith(`${machine.toLowerCase()}.`)
}
