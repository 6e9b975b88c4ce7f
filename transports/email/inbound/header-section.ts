import type { Readable } from 'node:stream'
import type { Mail } from './parse.ts'

/**
 * Headers that say who wrote a mail, what and when, who brought it and how it is read. Their lines must be beyond doubt;
 * the oddities of others are their own.
 */
const READ =
  /^(?:from|sender|reply-to|to|cc|bcc|subject|date|message-id|in-reply-to|references|return-path|received|auto-submitted|precedence|mime-version|(?:resent|content|list|arc)-.*|(?:x-)?authentication-results|dkim-signature|.*-to|x-forwarded-for)$/

/** Forwarders add theirs; a mail with thousands would keep the processor busy for minutes. */
const MAX_SIGNATURES = 30
/** As much as the parser takes. */
const MAX_HEAD = 256 * 1024
/** Blanks may stand before the colon (RFC 5322, section 4.5). */
const FIELD = /^([!-9;-~]+)([ \t]*):/
const CONTINUATION = /^[ \t]/
/** Written by what kept the mail in a file of many. */
const ENVELOPE = /^>?From \S+ +[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d (?:[-+\w]+ )?\d{4}$/
/** One mailbox in letters that have one form only: no blanks, no escapes, no second `@`. */
const ADDRESS = /^("?)[^\s\p{C}<>()[\]:;,\\"@]+\1@[^\s\p{C}<>()[\]:;,\\"@]+$/u

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
  const signatures = mail.headers.filter(({ key }) => key === 'dkim-signature').length
  if (signatures > MAX_SIGNATURES) return `it has more than ${MAX_SIGNATURES} signatures`
  return malformed(await readHead(source()))
}

/** Every reader sees the end of a head that passes this at the same place, and the same lines in the headers that count. */
function malformed(head: string | undefined): string | undefined {
  if (head === undefined) return `its headers are over ${MAX_HEAD} bytes`
  const lines = head.split(/\r?\n/)
  if (ENVELOPE.test(lines[0] ?? '')) lines.shift()
  let name: string | undefined
  for (const line of lines) {
    const field = FIELD.exec(line)
    if (field) name = field[1]?.toLowerCase() ?? ''
    else if (name === undefined || !mayContinue(line, name)) return 'its headers have lines that are none'
    const isRead = READ.test(name)
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
  return CONTINUATION.test(line) || (!READ.test(name) && /^[!-9;-~]+(?: [!-9;-~]+)+:/.test(line))
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
