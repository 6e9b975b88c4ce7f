import { isAscii, isUtf8 } from 'node:buffer'
import type { Mailbox } from '../mime/addresses.ts'
import { type Header, header, MAX_HEAD } from '../mime/head.ts'
import { domainOf } from './results.ts'

/** The parts of a mail that matter for proof. `guessed`: it could not be parsed. */
export type Mail = { headers: Header[]; from: Mailbox[]; text: string; html?: string; guessed?: true }

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

/** `undecided`: the DNS failed, and may tell later. `identity` is what to say if it never does. */
export type Verdict = { identity: Identity; undecided?: boolean }

/** A mail with one author, as everybody needs it who judges whether he wrote it. */
export type Claim = NonNullable<ReturnType<typeof readClaim>>

/** A DKIM-Signature header. `isPartial`: it leaves the end of the body open (RFC 6376, section 8.2). */
type Signature = { signer: string; covered: Covered; isPartial: boolean }

/** The names (lower case) that a signature covers, as often as it covers them; the last headers of a name first. */
export type Covered = readonly string[]

/**
 * Reads what a mail says of itself: its author's `address`, his `domain`, and the `headers` by name (lower case), from the
 * top down. Undefined where it has not exactly one author (RFC 7489, section 6.6.1).
 * `doubt`: why the headers may be read in another way by whoever verified them than they are read here. What is proven of
 * such a mail is proven of something else than what skills would see.
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
    doubt: doubtOf(mail, address, signatures) ?? malformed(raw, address),
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

/** Forwarders add theirs; a mail with thousands would keep the processor busy for minutes. */
const MAX_SIGNATURES = 30
/** One mailbox in letters that have one form only: no blanks, no escapes, no second `@`. */
const ADDRESS = /^("?)[^\s\p{C}<>()[\]:;,\\"@]+\1@[^\s\p{C}<>()[\]:;,\\"@]+$/u

function doubtOf(mail: Mail, address: string, signatures: readonly Signature[]): string | undefined {
  if (mail.guessed) return 'it could not be parsed'
  const isPlain = ADDRESS.test(address) && address.normalize('NFKC').toLowerCase() === address
  if (!isPlain) return 'its sender can be read in several ways'
  return signatures.length > MAX_SIGNATURES ? `it has more than ${MAX_SIGNATURES} signatures` : undefined
}

/** Headers that are used here, or by those who verify. Their lines must be beyond doubt; the oddities of others are their own. */
const READ =
  /^(?:from|sender|reply-to|to|cc|bcc|subject|date|message-id|in-reply-to|references|return-path|received|auto-submitted|precedence|mime-version|(?:resent|content|list|arc)-.*|(?:x-)?authentication-results|dkim-signature|.*-to|x-forwarded-for)$/
/** Nobody's have more. Who verifies takes quadratic time for those that are folded. */
const MAX_LINES = 5_000
/** Blanks may stand before the colon (RFC 5322, section 4.5). */
const FIELD = /^([!-9;-~]+)([ \t]*):/

/** Every reader sees the end of a head that passes this at the same place, and the same lines in the headers that count. */
function malformed(raw: Buffer, address: string): string | undefined {
  const ends = [raw.indexOf('\n\n'), raw.indexOf('\n\r\n'), raw.length].filter((at) => at !== -1)
  // Of a head that is too long so much that it still is, without its last line end.
  const head = raw.toString('latin1', 0, Math.min(...ends, MAX_HEAD + 3)).replace(/\r?\n?$/, '')
  if (head.length > MAX_HEAD) return `its headers are over ${MAX_HEAD} bytes`
  const lines = head.split(/\r?\n/)
  if (lines.length > MAX_LINES) return `its headers have over ${MAX_LINES} lines`
  let name: string | undefined
  for (const line of lines) {
    const field = FIELD.exec(line)
    if (field) name = field[1]?.toLowerCase() ?? ''
    else if (name === undefined || !mayContinue(line, name)) return 'its headers have lines that are none'
    const isRead = READ.test(name)
    // Who verifies may read another address there.
    if (name === 'from' && !isAscii(Buffer.from(address)) && !isUtf8(Buffer.from(line, 'latin1')))
      return 'its sender is written in an unknown character set'
    // To who takes a carriage return for the end of a line, another header may follow.
    if (isRead ? /[\0\r]/.test(line) : /\r[!-9;-~]+\s*:/.test(line))
      return 'its headers have control characters'
    const isOdd = field ? field[2] !== '' : /^[ \t]*$/.test(line)
    if (isRead && isOdd) return 'its headers have lines that are none'
  }
  return undefined
}

/** A name with a blank in it is a header to some, and to others the end of the one before. */
function mayContinue(line: string, name: string): boolean {
  return /^[ \t]/.test(line) || (!READ.test(name) && /^[!-9;-~]+(?: [!-9;-~]+)+:/.test(line))
}

/**
 * Headers that a mail may have once (RFC 5322, section 3.6, and MIME), and that are used here. Of two, a signature
 * covers the last, and readers show the first (RFC 6376, section 8.15).
 */
const SINGLE = [
  ...['sender', 'reply-to', 'subject', 'date', 'message-id', 'in-reply-to', 'references'],
  ...['content-type', 'content-transfer-encoding', 'content-disposition'],
]

/** Why a signature does not prove all that is read here: anybody may have put a header over it. Undefined where nobody can. */
export function leftOpen(claim: Claim, { covered, isPartial }: Omit<Signature, 'signer'>) {
  const { headers, mail, raw } = claim
  if (isPartial) return 'its text is signed in part'
  const open = repetition(claim, covered)
  if (open) return open
  if (headers.has('subject') && !covered.includes('subject')) return 'its subject is not signed'
  const [, body = ''] = /\r?\n\r?\n(.*)/s.exec(raw.toString('latin1', 0, MAX_START)) ?? []
  const looksOther = { 'content-type': isOtherType, 'content-transfer-encoding': isOtherEncoding }
  const [free] =
    Object.entries(looksOther).find(([name, is]) => !covered.includes(name) && is(mail, body)) ?? []
  return free && `its ${free} is not signed, and its body looks like another`
}

/** The header of which there are several values, not all covered: which of them counts depends on who reads it. */
export function repetition({ headers }: Claim, covered: Covered = []): string | undefined {
  const open = SINGLE.find((name) => {
    const values = headers.get(name) ?? []
    const isCovered = covered.filter((each) => each === name).length >= values.length
    return !isCovered && new Set(values.map(({ value }) => value.trim())).size > 1
  })
  return open && `it has more than one ${open} header`
}

/** The headers by which a mail is answered and put into a conversation, and that none of these signatures covers. */
export function unsignedHeaders({ headers }: Claim, signatures: readonly Covered[]): string[] {
  return ['reply-to', 'in-reply-to', 'references', 'to', 'cc'].filter(
    (name) => headers.has(name) && !signatures.some((covered) => covered.includes(name)),
  )
}

const MAX_START = 320 * 1024
/** Multiparts open with a boundary and the headers of a part; before them stands at most a note for old clients, in any language. */
const OPENING =
  /^\s*(?:(?!--)[^\r\n]{0,200}\bmime\b[^\r\n]{0,200}\r?\n(?:(?!--)[^\r\n]{1,200}\r?\n){0,3}\s*)?--([^\r\n]{1,200}?)[ \t]*\r?\ncontent-[a-z-]+[ \t]*:/i
const BASE64 = /^[a-z\d+/=\s]*$/i
/** What makes a line or a tag of something that is neither, such as a text that is quoted. */
const HIDDEN_BREAK = /=(?:0[a-d]|3c|85|e2=80=a[89])/i
/** A line of words that goes on in the next one, as quoted-printable has it. */
const SOFT_BREAK = /^(?=[^\r\n]* )[^\r\n]{68,75}=\r?$/m

/**
 * Many senders, Gmail among them, leave Content-Type or Content-Transfer-Encoding out of their signatures. With another
 * boundary, type or encoding, what the author only quotes becomes what she wrote (RFC 6376, section 8.15). The body is
 * signed, though, and shows what it is.
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

function isOtherEncoding(mail: Mail, body: string): boolean {
  if (/^multipart\//i.test(header(mail, 'content-type') ?? '')) return false
  const encoding = header(mail, 'content-transfer-encoding') ?? ''
  if (/base64/i.test(encoding)) return !BASE64.test(body)
  if (/quoted-printable/i.test(encoding)) return HIDDEN_BREAK.test(body) || body.length >= MAX_START / 2
  return SOFT_BREAK.test(body)
}

/** Undefined where readers may find another one. */
function boundaryOf(type: string): string | undefined {
  if (/[()\\]/.test(type) || type.match(/boundary/gi)?.length !== 1) return undefined
  const [, quoted, bare] = /;\s*boundary=(?:"([^"]*)"|([^\s";]+))\s*(?:;|$)/i.exec(type) ?? []
  return quoted ?? bare
}
