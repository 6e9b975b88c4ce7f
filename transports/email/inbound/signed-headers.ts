import type { ContentDoubts } from './content-doubts.ts'
import type { Mail } from './parse.ts'

/**
 * Headers that a mail may have once (RFC 5322, section 3.6, and MIME), and that are used here. Of two, a signature
 * covers the last, and readers show the first (RFC 6376, section 8.15).
 */
const SINGLE = new Set([
  ...['sender', 'reply-to', 'subject', 'date', 'message-id', 'in-reply-to', 'references'],
  ...['content-type', 'content-transfer-encoding', 'content-disposition'],
])

/** The names (lower case) that a signature covers, as often as it covers them; the last headers of a name first. */
export type Covered = readonly string[]

/** The names in the `h=` of a DKIM-Signature. */
export function namesSigned(signature: string): Covered {
  const [, names = ''] = /(?:^|;)\s*h\s*=([^;]*)/i.exec(signature) ?? []
  return names.split(':').map((each) => each.trim().toLowerCase())
}

/**
 * Why the author of a signature is not the author of all that is read here of this mail: anybody may have put a header
 * of their own over what is covered. Undefined where nobody can.
 */
export function leftOpen(mail: Mail, covered: Covered, content: ContentDoubts): string | undefined {
  const open = repeatedHeaders(mail).find((name) => count(covered, name) < valuesOf(mail, name).length)
  if (open) return moreThanOne(open)
  const isBare = valuesOf(mail, 'subject').length > 0 && !covered.includes('subject')
  if (isBare) return 'its subject is not signed'
  if (content['content-type'] && !covered.includes('content-type')) return content['content-type']
  const isEncoded = covered.includes('content-transfer-encoding')
  return isEncoded ? undefined : content['content-transfer-encoding']
}

/** The headers by which a mail is answered and put into a conversation, and that none of these signatures covers. */
export function unsignedHeaders(mail: Mail, signatures: readonly Covered[]): string[] {
  return FOLLOWED.filter(
    (name) => valuesOf(mail, name).length > 0 && !signatures.some((covered) => covered.includes(name)),
  )
}

const FOLLOWED = ['reply-to', 'in-reply-to', 'references']

/** The header of which there are several, each with another value: which of them counts depends on who reads it. */
export function repetition(mail: Mail): string | undefined {
  const [name] = repeatedHeaders(mail)
  return name && moreThanOne(name)
}

function moreThanOne(name: string): string {
  return `it has more than one ${name} header`
}

function repeatedHeaders(mail: Mail): string[] {
  const first = new Map<string, string>()
  const repeated = new Set<string>()
  for (const { key, value } of mail.headers) {
    if (!SINGLE.has(key)) continue
    const text = value.trim()
    const before = first.get(key)
    if (before === undefined) first.set(key, text)
    else if (before !== text) repeated.add(key)
  }
  return [...repeated]
}

function valuesOf(mail: Mail, name: string): string[] {
  return mail.headers.filter(({ key }) => key === name).map(({ value }) => value)
}

function count(names: Covered, name: string): number {
  return names.filter((each) => each === name).length
}
