import PostalMime, { type Address, addressParser, type Email, type Attachment as MimePart } from 'postal-mime'
import { reasonOf } from '../../../src/core/errors.ts'
import { defined } from '../../../src/lib/defined.ts'
import { htmlToText, plain } from './readable-text.ts'

/** A mail taken apart. Nothing in it is trusted; everything may be missing. */
export type Mail = {
  /** In document order, names in lower case, values unfolded. */
  headers: { key: string; value: string }[]
  /** With angle brackets. */
  messageId?: string
  inReplyTo?: string
  /** Oldest first. */
  references: string[]
  /** When the sender says it was written (Unix ms). */
  date?: number
  from: Mailbox[]
  replyTo: Mailbox[]
  to: Mailbox[]
  cc: Mailbox[]
  subject?: string
  /** Plain text: the text part, or else made from the HTML. */
  text: string
  html?: string
  parts: Part[]
  /** Why it could only be read in part. */
  unreadable?: string
  /** It could not be parsed, and its headers were read roughly: nothing in them counts as proven. */
  guessed?: true
}

export type Mailbox = { name: string; address: string }

/** An attachment or an inline image. */
export type Part = { name: string; type: string; contentId?: string; content: Uint8Array }

/** As much as the parser takes. */
export const MAX_HEAD = 256 * 1024

/** Each takes a microsecond. Real files of so many have longer ones (bytes, on average). Where parts begin it takes 20, and 2 KB. */
const MAX_LINES = 100_000
const LONG_LINE = 50
const MAX_PARTS = 20_000
/** What Outlook wraps rich text and its attachments in. */
const TNEF = /^application\/(?:vnd\.)?ms-tnef$/i
/** Nobody's is longer, with what is said of its time zone in parentheses. */
const MAX_DATE = 200
/** RFC 5322 sets no limit; mail servers do. The root and the newest are what clients thread by. */
const MAX_IDS = 30

/** Takes a mail (RFC 5322) apart. Never throws: of what cannot be parsed the headers stay, and `unreadable` says why. */
export async function parseMail(raw: Buffer): Promise<Mail> {
  try {
    const lines = raw.length > MAX_PARTS ? raw.toString('latin1').split('\n') : []
    if (lines.length > MAX_LINES && raw.length / lines.length < LONG_LINE)
      throw new Error(`It has over ${MAX_LINES} short lines`)
    if (lines.filter((line) => line.startsWith('--')).length > MAX_PARTS)
      throw new Error(`It has over ${MAX_PARTS} lines where parts may begin`)
    return toMail(await parseMime(raw), raw)
  } catch (error) {
    return headersOnly(raw, reasonOf(error))
  }
}

/** The first header of that name (lower case). */
export function header(mail: Pick<Mail, 'headers'>, name: string): string | undefined {
  return mail.headers.find((each) => each.key === name)?.value.trim()
}

/** The beginning of a part, byte by byte. */
export function startOf({ content }: Part, length: number): string {
  return new TextDecoder('latin1').decode(content.subarray(0, length))
}

/** The message ids in a header value, with angle brackets, in order; hostile lengths are cut off. */
function messageIds(value: string | undefined): string[] {
  if (!value) return []
  const ids = value.slice(0, 100_000).match(/<[^<>\s]{1,900}>/g) ?? []
  return ids.length > MAX_IDS ? [...ids.slice(0, 1), ...ids.slice(1 - MAX_IDS)] : ids
}

function toMail(email: Email, raw: Buffer): Mail {
  const value = (name: string) => header(email, name)
  const html = email.html?.trim() ? email.html : undefined
  const written = email.text?.trim() ? email.text : html ? htmlToText(html) : ''
  const isLost = written === '' && email.attachments.length === 0
  const parts = email.attachments.map(toPart)
  const winmail = written === '' ? parts.find(({ type }) => TNEF.test(type)) : undefined
  return {
    headers: email.headers.map(({ key, value }) => ({ key, value })),
    references: messageIds(value('references')),
    // postal-mime keeps one sender only; that there are more is what matters here.
    from: mailboxes(addressParser((value('from') ?? '').slice(0, 10_000), { flatten: true })),
    replyTo: mailboxes(email.replyTo),
    to: mailboxes(email.to),
    cc: mailboxes(email.cc),
    ...defined({
      messageId: messageIds(value('message-id'))[0] ?? bareId(value('message-id')),
      inReplyTo: messageIds(value('in-reply-to'))[0],
      date: dateOf(value('date')),
      subject: email.subject ? oneLine(email.subject) : undefined,
      html,
      unreadable: winmail && `Its text may be in ${winmail.name}, which is not read.`,
    }),
    text: plain(isLost ? bareBody(raw, value('content-type') ?? '') : written),
    parts,
  }
}

function toPart({ content, filename, mimeType, contentId }: MimePart, index: number): Part {
  return {
    // A name is a label; a path in it is somebody's attempt.
    name: oneLine(filename ?? '').replace(/^.*[\\/]/, '') || `part-${index + 1}`,
    type: mimeType,
    ...defined({ contentId: contentId?.replace(/^<|>$/g, '') }),
    content: typeof content === 'string' ? Buffer.from(content) : new Uint8Array(content),
  }
}

/** Control characters in names and subjects must not reach a log line or a header of ours. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim()
}

function mailboxes(addresses: readonly Address[] = []): Mailbox[] {
  return addresses
    .flatMap((each) => (each.group === undefined ? [each] : each.group))
    .filter((each) => each.address.includes('@'))
    .map(({ name, address }) => ({ name: oneLine(name), address: lowerCase(oneLine(address)) }))
}

/** ASCII only: lower case makes an ASCII letter of the Kelvin sign, and another address of the whole. */
export function lowerCase(address: string): string {
  return address.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

/** Some senders leave the angle brackets away. */
function bareId(value: string | undefined): string | undefined {
  return value && /^[^\s<>]{1,900}@[^\s<>]{1,250}$/.test(value) ? `<${value}>` : undefined
}

function dateOf(value: string | undefined): number | undefined {
  const time = value ? Date.parse(value.slice(0, MAX_DATE).replace(/\s*\([^)]*\)\s*$/, '')) : Number.NaN
  return Number.isNaN(time) ? undefined : time
}

/** The text of a container in which no part begins; `''` for any other mail. */
function bareBody(raw: Buffer, type: string): string {
  if (!/^multipart\//i.test(type)) return ''
  const [, body = ''] = /\r?\n\r?\n(.*)/s.exec(raw.toString()) ?? []
  return /boundary=/i.test(type) && /^--\S/m.test(body) ? '' : body.trim()
}

/** What the headers of a mail say that cannot be taken apart; the mail itself is its only part. */
async function headersOnly(raw: Buffer, reason: string): Promise<Mail> {
  const start = raw.toString('latin1', 0, MAX_HEAD)
  const head = Buffer.from(`${start.split(/\r?\n\r?\n/, 1)[0]}\r\n\r\n`, 'latin1')
  return {
    ...toMail(await parseMime(head), head),
    // Nothing is lost: who can read it finds it whole.
    parts: [{ name: 'mail.eml', type: 'message/rfc822', content: raw }],
    unreadable: reason,
    guessed: true,
  }
}

/** Parses a mail (RFC 5322, MIME), some senders' mistakes included. Rejects where it cannot. */
function parseMime(raw: Buffer): Promise<Email> {
  // Forwarded messages stay whole, as attachments: their text is not what this sender wrote.
  const options = { maxNestingDepth: 64, maxHeadersSize: MAX_HEAD, forceRfc822Attachments: true }
  return new Parser(options).parse(separated(raw))
}

/** What is used of a part; the library does not export its type. */
type Node = {
  setupContentDecoder(encoding: string): void
  contentDecoder: { update(line: Uint8Array): void; finalize(): Buffer }
  parentNode?: { contentType: { multipart?: unknown } }
  contentType: { parsed: { value: string; params: Record<string, string> } }
  contentDisposition: { parsed: { value: unknown; params: Record<string, string> } }
  getTextContent(): string
}

/** Decides for itself what is text, and decodes parts; the library uses these members, though it does not document them. */
class Parser extends PostalMime {
  private hasText = false
  declare private node: Node

  get currentNode(): Node {
    return this.node
  }

  set currentNode(node: Node) {
    const setUp = node.setupContentDecoder.bind(node)
    node.setupContentDecoder = (encoding) => {
      // By this name alone: of one with both in it the library makes base64.
      if (/quoted-printable/i.test(encoding)) setUp('quoted-printable')
      else node.contentDecoder = decoder(/base64/i.test(encoding))
    }
    this.node = node
  }

  isInlineTextNode(node: Node): boolean {
    const { parsed } = node.contentType
    const disposition = node.contentDisposition.parsed
    if (parsed.value === 'text') parsed.value = 'text/plain'
    if (!/^text\/(?:plain|html)$/.test(parsed.value) || disposition.value === 'attachment') return false
    // What has a name is a file, unless it is all that there is, or another form of the text.
    const isFile = disposition.params.filename !== undefined || parsed.params.name !== undefined
    if (isFile && this.hasText && node.parentNode?.contentType.multipart !== 'alternative') return false
    this.hasText = true
    if (/utf-?7$/i.test(parsed.params.charset ?? '')) {
      const text = fromUtf7(node.getTextContent())
      node.getTextContent = () => text
    }
    return true
  }
}

/**
 * What makes the content of a part of its lines, as they are or in base64. The library would pass them through a Blob, which
 * costs more than all else that is done with a mail, and takes minutes for base64 that is padded all along one line.
 */
function decoder(isBase64: boolean): Node['contentDecoder'] {
  let text = ''
  return {
    update({ buffer, byteOffset, length }) {
      text += `${Buffer.from(buffer, byteOffset, length).toString('latin1')}\n`
    },
    finalize() {
      if (!isBase64) return Buffer.from(text, 'latin1')
      // Some programs pad each line.
      const bytes = Buffer.alloc(text.length)
      let length = 0
      for (const [unit] of text.replaceAll(/[^a-z\d+/=]+/gi, '').matchAll(/[^=]+/g))
        length += bytes.write(unit, length, 'base64')
      return bytes.subarray(0, length)
    },
  }
}

/** Some programs leave out the empty line behind the headers: then the body begins behind the last line that is one. */
function separated(raw: Buffer): Buffer {
  const [head = ''] = raw.toString('latin1', 0, MAX_HEAD).split(/\n\r?\n/, 1)
  const lines = head.split('\n')
  let body = lines.findLastIndex((line) => /^[!-9;-~]+[ \t]*:/.test(line)) + 1
  if (body === 0) return raw
  while (/^[ \t]/.test(lines[body] ?? '')) body++
  if (lines.slice(body).join('').trim() === '') return raw
  const start = lines.slice(0, body).join('\n').length + 1
  return Buffer.concat([raw.subarray(0, start), Buffer.from('\r\n'), raw.subarray(start)])
}

/** UTF-7 (RFC 2152), which no platform decodes any more. */
function fromUtf7(text: string): string {
  const decoded = (code: string) => new TextDecoder('utf-16be').decode(Buffer.from(code, 'base64'))
  return text.replaceAll(/\+([a-z\d+/]*)-?/gi, (_, code: string) => decoded(code) || '+')
}
