import type { Readable } from 'node:stream'
import type { Mail } from './parse.ts'

/**
 * Headers that a mail may have once (RFC 5322, section 3.6, and MIME). Of two, a signature covers the last, and
 * readers show the first (RFC 6376, section 8.15).
 */
const SINGLE = new Set([
  ...['from', 'sender', 'reply-to', 'to', 'cc', 'subject', 'date'],
  ...['message-id', 'in-reply-to', 'references'],
  ...['mime-version', 'content-type', 'content-transfer-encoding', 'content-disposition'],
])

/** Forwarders add theirs; a mail with thousands would keep the processor busy for minutes. */
const MAX_SIGNATURES = 30
/** As much as the parser takes. */
const MAX_HEAD = 256 * 1024
const FIELD = /^[!-9;-~]+:/
const CONTINUATION = /^[ \t]+[^ \t]/
/** One mailbox in letters that have one form only: no quotes, no blanks, no second `@`. */
const ADDRESS = /^[^\s\p{C}<>()[\]:;,\\"@]+@[^\s\p{C}<>()[\]:;,\\"@]+$/u

/**
 * Why the headers of this mail may be read in another way by whoever verified them than they are read here; undefined
 * where all readers agree. What is proven of such a mail is proven of something else than what skills would see.
 */
export async function ambiguity(mail: Mail, source: () => Buffer | Readable): Promise<string | undefined> {
  if (mail.guessed) return 'it could not be parsed'
  const address = mail.from[0]?.address ?? ''
  if (!ADDRESS.test(address) || address.normalize('NFKC').toLowerCase() !== address) {
    return 'its sender can be read in several ways'
  }
  const repeated = repeatedHeader(mail)
  if (repeated) return `it has more than one ${repeated} header`
  const signatures = mail.headers.filter(({ key }) => key === 'dkim-signature').length
  if (signatures > MAX_SIGNATURES) return `it has more than ${MAX_SIGNATURES} signatures`
  return malformed(await readHead(source()))
}

function repeatedHeader(mail: Mail): string | undefined {
  const seen = new Set<string>()
  for (const { key } of mail.headers) {
    if (!SINGLE.has(key)) continue
    if (seen.has(key)) return key
    seen.add(key)
  }
  return undefined
}

/** Every reader splits a head that passes this at the same places, and sees its end at the same place. */
function malformed(head: string | undefined): string | undefined {
  if (head === undefined) return `its headers are over ${MAX_HEAD} bytes`
  if (/\0|\r(?!\n)/.test(head)) return 'its headers have control characters'
  const [first = '', ...lines] = head.split(/\r?\n/)
  const regular = FIELD.test(first) && lines.every((line) => FIELD.test(line) || CONTINUATION.test(line))
  return regular ? undefined : 'its headers have lines that are none'
}

/** Up to the first empty line, without it. Undefined where it is too long. */
async function readHead(source: Buffer | Readable): Promise<string | undefined> {
  if (Buffer.isBuffer(source)) return headIn(source, true)
  const chunks: Buffer[] = []
  let size = 0
  // Leaving the loop closes the stream.
  for await (const chunk of source) {
    chunks.push(Buffer.from(chunk))
    size += chunk.length
    const head = headIn(Buffer.concat(chunks), false)
    if (head !== undefined) return head
    if (size > MAX_HEAD) return undefined
  }
  return headIn(Buffer.concat(chunks), true)
}

function headIn(bytes: Buffer, whole: boolean): string | undefined {
  const ends = [bytes.indexOf('\n\n'), bytes.indexOf('\n\r\n')].filter((at) => at !== -1)
  const end = ends.length > 0 ? Math.min(...ends) : bytes.length
  if (end > MAX_HEAD || (ends.length === 0 && !whole)) return undefined
  return bytes.toString('latin1', 0, end).replace(/\r?\n?$/, '')
}
