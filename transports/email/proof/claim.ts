import { isAscii, isUtf8 } from 'node:buffer'
import type { Mailbox } from '../mime/addresses.ts'
import { type Header, header, MAX_HEAD } from '../mime/head.ts'
import { domainOf } from './results.ts'

/** The parts of a mail used for authentication. `guessed`: it could not be parsed. */
export type Mail = { headers: Header[]; from: Mailbox[]; text: string; html?: string; guessed?: true }

/** Whether the author in the From header is authenticated. */
export type Identity = {
  /**
   * `none`: nothing proves or disproves the author. `temperror`: DNS did not answer for too long.
   */
  result: 'pass' | 'fail' | 'none' | 'temperror'
  /** The deciding mechanism: `dmarc`, `dkim`, `spf`, `trusted`, … */
  by: string
  detail: string
  /**
   * If only a signature proves the sender: the headers (lower case) that it does not cover, which
   * anyone may have added.
   */
  unsigned?: string[]
}

export type Verdict = {
  identity: Identity
  /** DNS failed temporarily. `identity` is the result if it stays that way. */
  undecided?: boolean
}

/** A mail's claimed author and the data to verify it. */
export type Claim = NonNullable<ReturnType<typeof readClaim>>

/** A DKIM-Signature. `isPartial`: does not cover the end of the body (RFC 6376, section 8.2). */
type Signature = { signer: string; covered: Covered; isPartial: boolean }

/**
 * The names (lower case) of the headers that a signature covers. A name that is listed twice covers
 * the last two headers of this name.
 */
export type Covered = readonly string[]

/**
 * Reads a mail's claim: its author's `address` and `domain`, and the `headers` by name (lower
 * case), top down. Undefined unless it has exactly one author (RFC 7489, section 6.6.1). `doubt`:
 * why a verifier may parse the headers differently, so that its result may apply to something other
 * than what skills see.
 */
export function readClaim(mail: Mail, raw: Buffer) {
  const headers = Map.groupBy(mail.headers, ({ key }) => key)
  const [author] = mail.from
  if (!author || mail.from.length > 1 || (headers.get('from')?.length ?? 0) > 1) return undefined
  const { address } = author
  const signatures = (headers.get('dkim-signature') ?? []).slice(0, MAX_SIGNATURES + 1).map(readSignature)
  return {
    mail,
    raw,
    address,
    domain: domainOf(address),
    headers,
    signatures,
    doubt: doubtOf(mail, address, signatures) ?? syntaxProblem(raw, address),
  }
}

function readSignature({ value }: { value: string }): Signature {
  const tag = (name: string) => new RegExp(`(?:^|;)\\s*${name}\\s*=([^;]*)`, 'i').exec(value)?.[1]
  return {
    signer: domainOf(tag('d')?.trim().split(/\s/, 1)[0] ?? ''),
    covered: (tag('h') ?? '').split(':').map((each) => each.trim().toLowerCase()),
    isPartial: tag('l') !== undefined,
  }
}

/** Maximum number of signatures checked; a mail with thousands would take minutes. */
const MAX_SIGNATURES = 30
/** An unambiguous address: no spaces, escapes or second `@`. */
const ADDRESS = /^("?)[^\s\p{C}<>()[\]:;,\\"@]+\1@[^\s\p{C}<>()[\]:;,\\"@]+$/u

function doubtOf(mail: Mail, address: string, signatures: readonly Signature[]): string | undefined {
  if (mail.guessed) return 'it could not be parsed'
  const isPlain = ADDRESS.test(address) && address.normalize('NFKC').toLowerCase() === address
  if (!isPlain) return 'its sender can be read in several ways'
  return signatures.length > MAX_SIGNATURES ? `it has more than ${MAX_SIGNATURES} signatures` : undefined
}

/** Headers used here or by verifiers, which must be unambiguous. */
const RELEVANT =
  /^(?:from|sender|reply-to|to|cc|bcc|subject|date|message-id|in-reply-to|references|return-path|received|auto-submitted|precedence|mime-version|(?:resent|content|list|arc)-.*|(?:x-)?authentication-results|dkim-signature|.*-to|x-forwarded-for)$/
/** Maximum number of header lines: verifiers take quadratic time for folded ones. */
const MAX_LINES = 5_000
/** Spaces are allowed before the colon (RFC 5322, section 4.5). */
const FIELD = /^([!-9;-~]+)([ \t]*):/

/**
 * Checks that all parsers see the same end of the head and the same relevant header lines. Returns
 * the problem, if any.
 */
function syntaxProblem(raw: Buffer, address: string): string | undefined {
  const ends = [raw.indexOf('\n\n'), raw.indexOf('\n\r\n'), raw.length].filter((at) => at !== -1)
  // A longer head is cut so that it is still over the limit without its last line end, which is
  // removed.
  const head = raw.toString('latin1', 0, Math.min(...ends, MAX_HEAD + 3)).replace(/\r?\n?$/, '')
  if (head.length > MAX_HEAD) return `its headers are over ${MAX_HEAD} bytes`
  const lines = head.split(/\r?\n/)
  if (lines.length > MAX_LINES) return `its headers have over ${MAX_LINES} lines`
  let name: string | undefined
  for (const line of lines) {
    const field = FIELD.exec(line)
    if (field) name = field[1]?.toLowerCase() ?? ''
    else if (name === undefined || !mayFollow(line, name)) return 'its headers have invalid lines'
    const isRelevant = RELEVANT.test(name)
    // A verifier may decode another address.
    if (name === 'from' && !isAscii(Buffer.from(address)) && !isUtf8(Buffer.from(line, 'latin1')))
      return 'its sender is written in an unknown character set'
    // A parser that accepts a bare carriage return as a line end would see another header.
    const hasControls = isRelevant ? /[\0\r]/.test(line) : /\r[!-9;-~]+\s*:/.test(line)
    if (hasControls) return 'its headers have control characters'
    const isUnusual = field ? field[2] !== '' : /^[ \t]*$/.test(line)
    if (isRelevant && isUnusual) return 'its headers have invalid lines'
  }
  return undefined
}

/**
 * Whether a line that is not a header is harmless below the header `name`. A folded line is. Below
 * a header that is not relevant, a name with spaces is too, although some parsers read it as a
 * header and others as a continuation.
 */
function mayFollow(line: string, name: string): boolean {
  return /^[ \t]/.test(line) || (!RELEVANT.test(name) && /^[!-9;-~]+(?: [!-9;-~]+)+:/.test(line))
}

/**
 * Headers used here that may occur only once (RFC 5322, section 3.6, and MIME). Of two, a signature
 * covers the last, but readers show the first (RFC 6376, section 8.15).
 */
const SINGLE = [
  ...['sender', 'reply-to', 'subject', 'date', 'message-id', 'in-reply-to', 'references'],
  ...['content-type', 'content-transfer-encoding', 'content-disposition'],
]

/**
 * Describes something that is used here and not covered by a signature, so that anyone may have
 * added it. Undefined if the signature covers everything.
 */
export function coverageGap(claim: Claim, { covered, isPartial }: Omit<Signature, 'signer'>) {
  const { headers, mail, raw } = claim
  if (isPartial) return 'only part of its text is signed'
  const repeated = repeatedHeader(claim, covered)
  if (repeated) return repeated
  if (headers.has('subject') && !covered.includes('subject')) return 'its subject is not signed'
  const [, body = ''] = /\r?\n\r?\n(.*)/s.exec(raw.toString('latin1', 0, MAX_START)) ?? []
  const differs = { 'content-type': isOtherType, 'content-transfer-encoding': isOtherEncoding }
  const [unsigned] =
    Object.entries(differs).find(([name, isOther]) => !covered.includes(name) && isOther(mail, body)) ?? []
  return unsigned && `its ${unsigned} is not signed, and its body looks like another`
}

/**
 * Describes a header that is repeated and not fully covered: parsers may use different values of
 * it. Undefined if there is none.
 */
export function repeatedHeader({ headers }: Claim, covered: Covered = []): string | undefined {
  const repeated = SINGLE.find((name) => {
    const values = headers.get(name) ?? []
    const isCovered = covered.filter((each) => each === name).length >= values.length
    return !isCovered && new Set(values.map(({ value }) => value.trim())).size > 1
  })
  return repeated && `it has more than one ${repeated} header`
}

/** Headers for replies and threading that none of the signatures covers. */
export function unsignedHeaders({ headers }: Claim, signatures: readonly Covered[]): string[] {
  return ['reply-to', 'in-reply-to', 'references', 'to', 'cc'].filter(
    (name) => headers.has(name) && !signatures.some((covered) => covered.includes(name)),
  )
}

/** Maximum characters of a mail that are compared with its Content-Type. */
const MAX_START = 320 * 1024
/**
 * The start of a multipart body: a boundary and part headers, after at most a note for old clients.
 */
const OPENING =
  /^\s*(?:(?!--)[^\r\n]{0,200}\bmime\b[^\r\n]{0,200}\r?\n(?:(?!--)[^\r\n]{1,200}\r?\n){0,3}\s*)?--([^\r\n]{1,200}?)[ \t]*\r?\ncontent-[a-z-]+[ \t]*:/i
const BASE64 = /^[a-z\d+/=\s]*$/i
/** Encoded characters that would create a line or tag in decoded text. */
const HIDDEN_BREAK = /=(?:0[a-d]|3c|85|e2=80=a[89])/i
/** A soft line break of quoted-printable. */
const SOFT_BREAK = /^(?=[^\r\n]* )[^\r\n]{68,75}=\r?$/m

/**
 * Whether an unsigned Content-Type may have been changed, because the signed body looks like
 * another type. Many senders, such as Gmail, sign neither Content-Type nor
 * Content-Transfer-Encoding, and another boundary, type or encoding could turn quoted text into the
 * author's own (RFC 6376, section 8.15).
 */
function isOtherType(mail: Mail, body: string): boolean {
  const type = header(mail, 'content-type') ?? 'text/plain'
  const boundary = OPENING.exec(body)?.[1]
  if (/^multipart\//i.test(type)) return boundary === undefined || boundary !== boundaryOf(type)
  if (boundary !== undefined || /charset\s*=\s*"?[\w-]*utf-?7\b/i.test(type)) return true
  const isMarkup = (text: string) => /^\s*<[a-z!?]/i.test(text)
  if (/^text\/html\b/i.test(type)) return mail.html !== undefined && !isMarkup(mail.html)
  return mail.html === undefined && isMarkup(mail.text)
}

/** Like `isOtherType`, for Content-Transfer-Encoding. */
function isOtherEncoding(mail: Mail, body: string): boolean {
  if (/^multipart\//i.test(header(mail, 'content-type') ?? '')) return false
  const encoding = header(mail, 'content-transfer-encoding') ?? ''
  if (/base64/i.test(encoding)) return !BASE64.test(body)
  if (/quoted-printable/i.test(encoding)) return HIDDEN_BREAK.test(body) || body.length >= MAX_START / 2
  return SOFT_BREAK.test(body)
}

/** The boundary in a Content-Type; undefined if parsers may disagree about it. */
function boundaryOf(type: string): string | undefined {
  if (/[()\\]/.test(type) || type.match(/boundary/gi)?.length !== 1) return undefined
  const [, quoted, bare] = /;\s*boundary=(?:"([^"]*)"|([^\s";]+))\s*(?:;|$)/i.exec(type) ?? []
  return quoted ?? bare
}
