import {
  type AuthenticationResults,
  domainOf,
  type MethodResult,
  parseAuthenticationResults,
} from './authentication-results.ts'
import type { ContentDoubts } from './content-doubts.ts'
import type { Identity } from './identity.ts'
import { MICROSOFT, microsoftResults } from './microsoft-results.ts'
import type { Mail } from './parse.ts'
import { leftOpen, namesSigned, repetition, unsignedHeaders } from './signed-headers.ts'

/**
 * What the Authentication-Results headers (RFC 8601) of `host` say about mail from `domain`. Only the topmost run
 * of them counts, up to the next Received header: what stands below was there before your server took the mail,
 * and anyone can write it. Your server must remove forged ones with its own name, as RFC 8601, section 5, asks.
 * `microsoft` for a host means the results that name none.
 * `doubt` says why the server may have judged another mail than the one that is read here: it proves nothing then.
 * `content` says the same of headers that a signature leaves out.
 */
export function trustedResult(
  mail: Mail,
  host: string,
  domain: string,
  { doubt, content }: Doubts = { doubt: undefined, content: {} },
): Identity {
  const run = topmost(mail, host)
  if (!run) return illegible(mail, host)
  const results = firstOfEach(run)
  const { result, strict, note, unsigned = [] } = judge(run, results, { mail, domain, content })
  const said = results.map((each) => `${each.method}=${each.result}`)
  const notes = [note, doubt].filter((each) => each !== undefined)
  const detail = [...said, ...notes].join('; ') || `nothing from ${host}`
  if (!doubt || result !== 'pass') {
    return { result, by: 'trusted', detail, ...(unsigned.length > 0 ? { unsigned } : {}) }
  }
  return { result: strict ? 'fail' : 'none', by: 'trusted', detail }
}

type Doubts = { doubt: string | undefined; content: ContentDoubts }
/** `strict`: the domain asks to refuse what is not proven. */
type Verdict = { result: Identity['result']; strict: boolean; note?: string; unsigned?: string[] }

function judge(
  run: readonly AuthenticationResults[],
  results: readonly MethodResult[],
  { mail, domain, content }: { mail: Mail; domain: string; content: ContentDoubts },
): Verdict {
  const every = run.flatMap((each) => each.results).filter(({ method }) => method === 'dmarc')
  const dmarc = results.filter(({ method }) => method === 'dmarc')
  const strict = every.some(asksToRefuse)
  if (every.some(({ result }) => result === 'fail')) return { result: 'fail', strict }
  const authors = dmarc.map(({ properties }) => domainOf(properties.get('header.from') ?? ''))
  const other = authors.find((author) => author !== '' && !isAligned(author, domain))
  if (other) return { result: 'fail', strict, note: `judged as a mail from ${other}` }
  const passed = (name: string) =>
    results.filter(({ method, result }) => method === name && result === 'pass')
  const spf = passed('spf').some(({ properties }) => domainIn(properties, 'smtp.mailfrom') === domain)
  if (spf) return { result: 'pass', strict }
  // Some servers name the organizational domain, whose policy it is.
  const byDmarc = dmarc.some(({ result }, at) => result === 'pass' && isAligned(authors[at] ?? '', domain))
  const byDkim = passed('dkim').some(({ properties }) =>
    isAligned(domainIn(properties, 'header.d') || domainIn(properties, 'header.i'), domain),
  )
  const signatures = signaturesOf(mail, domain)
  const open = byDmarc || byDkim ? whatIsOpen(mail, signatures, content) : undefined
  if ((byDmarc || byDkim) && !open) return { result: 'pass', strict, unsigned: unsignedIn(mail, signatures) }
  if (open) return { result: strict ? 'fail' : 'none', strict, note: open }
  return { result: dmarc.some(({ result }) => result === 'temperror') ? 'temperror' : 'none', strict }
}

/** The headers of `host`. Undefined where one of them does not follow the grammar. */
function topmost(mail: Mail, host: string): AuthenticationResults[] | undefined {
  if (host.toLowerCase() === MICROSOFT) return microsoftResults(mail)
  const found: AuthenticationResults[] = []
  for (const { key, value } of mail.headers) {
    if (key === 'received' && found.length > 0) break
    if (key !== 'authentication-results') continue
    const parsed = parseAuthenticationResults(value)
    if (!parsed && startsWith(value, host)) return undefined
    if (parsed?.host !== host.toLowerCase()) break
    found.push(parsed)
  }
  return found
}

function startsWith(value: string, host: string): boolean {
  return value
    .replaceAll(/^(?:\s|"|\([^()]*\))+/g, '')
    .toLowerCase()
    .startsWith(host.toLowerCase())
}

function illegible(mail: Mail, host: string): Identity {
  const failed = mail.headers.some(
    ({ key, value }) => key === 'authentication-results' && /\bdmarc\s*=\s*fail\b/i.test(value),
  )
  return { result: failed ? 'fail' : 'none', by: 'trusted', detail: `what ${host} says cannot be read` }
}

/** Each method as the topmost header that names it has it: one further down may be the sender's own. */
function firstOfEach(run: readonly AuthenticationResults[]): MethodResult[] {
  const stated = new Set<string>()
  return run.flatMap(({ results }) => {
    const fresh = results.filter(({ method }) => !stated.has(method))
    for (const { method } of fresh) stated.add(method)
    return fresh
  })
}

function domainIn(properties: ReadonlyMap<string, string>, name: string): string {
  return domainOf(properties.get(name) ?? '')
}

/** A parent domain may sign for its children (relaxed alignment), never a child for its parent. */
function isAligned(signing: string, from: string): boolean {
  return signing.includes('.') && (from === signing || from.endsWith(`.${signing}`))
}

/** Those of the author's domain. The server may not say which of them it means. */
function signaturesOf(mail: Mail, domain: string): string[] {
  return mail.headers
    .filter(({ key, value }) => key === 'dkim-signature' && isOf(value, domain))
    .map(({ value }) => value)
}

/** Why one of them leaves some of the mail to whoever adds to it: the end of the body, or a header that is used. */
function whatIsOpen(mail: Mail, signatures: readonly string[], content: ContentDoubts): string | undefined {
  if (signatures.length === 0) return repetition(mail)
  // RFC 6376, section 8.2.
  if (signatures.some((each) => /(?:^|;)\s*l\s*=/i.test(each))) return 'its text is signed in part'
  return signatures
    .map((each) => leftOpen(mail, namesSigned(each), content))
    .find((each) => each !== undefined)
}

/** None where there is no signature: then it was SPF that proved the sender. */
function unsignedIn(mail: Mail, signatures: readonly string[]): string[] {
  const each = signatures.map((signature) => unsignedHeaders(mail, [namesSigned(signature)]))
  return [...new Set(each.flat())]
}

function isOf(signature: string, domain: string): boolean {
  const signer = domainOf(/(?:^|;)\s*d\s*=\s*([^;\s]+)/i.exec(signature)?.[1] ?? '')
  return isAligned(signer, domain) || signer.endsWith(`.${domain}`)
}

/** Servers tell the policy in a comment, `(p=REJECT)`, or as `policy.dmarc`. */
function asksToRefuse({ properties, comments }: MethodResult): boolean {
  const policy = properties.get('policy.dmarc') ?? /\bp(?:olicy)?\s*=\s*(\w+)/i.exec(comments)?.[1] ?? ''
  return /^(?:quarantine|reject)$/i.test(policy)
}
