import { isAscii } from 'node:buffer'
import { type Address, addressParser, decodeWords, type Email } from 'postal-mime'
import { type BodyEncoding, decodeBody, encodingOf } from './plain-body.ts'

/** What is used of the library's result. */
export type ParsedMail = Pick<
  Email,
  'headers' | 'subject' | 'replyTo' | 'to' | 'cc' | 'text' | 'html' | 'attachments'
>

/** A larger mail has attachments, which the library takes apart. */
const MAX_SIZE = 256 * 1024

/**
 * Parses the mail that most people send, in a tenth of the time that postal-mime takes: a text, or a text and the
 * same as HTML beside it, without a single oddity. Undefined for every other mail: attachments, other charsets and
 * all that is broken or clever are left to postal-mime. What it gives is what postal-mime gives, to the letter; a
 * property test holds the two together.
 */
export function parsePlainMail(raw: Uint8Array): ParsedMail | undefined {
  if (raw.length > MAX_SIZE) return undefined
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  const head = readHead(bytes, 0, bytes.length)
  if (!head) return undefined
  const content = contentOf(head.headers)
  const texts =
    content && (content.boundary ? textsIn(bytes, head.end, content) : oneText(bytes, head.end, content))
  return texts && { ...readable(head.headers), ...texts, attachments: [] }
}

type Header = Email['headers'][number]
type Texts = Pick<Email, 'text' | 'html'>
type Content = { type: string; params: Map<string, string>; encoding: BodyEncoding; boundary?: string }

const BLANK_LINE = Buffer.from('\n\r\n')
const BARE_BLANK_LINE = Buffer.from('\n\n')

/** The headers from `start`, and where their body begins. Undefined without an empty line before `end`. */
function readHead(bytes: Buffer, start: number, end: number): { headers: Header[]; end: number } | undefined {
  const blank = bytes.indexOf(BLANK_LINE, start)
  const bare = bytes.indexOf(BARE_BLANK_LINE, start)
  const isBare = bare !== -1 && (blank === -1 || bare < blank)
  const at = isBare ? bare : blank
  const body = at + (isBare ? 2 : 3)
  if (at === -1 || body > end || !isAscii(bytes.subarray(start, at))) return undefined
  const text = bytes.toString('latin1', start, at + 1).replaceAll('\r\n', '\n')
  if (text.includes('\r') || text.startsWith('\n')) return undefined
  const headers: Header[] = []
  for (let from = 0; from < text.length; ) {
    let to = text.indexOf('\n', from)
    let line = text.slice(from, to)
    while (text[to + 1] === ' ' || text[to + 1] === '\t') {
      const next = text.indexOf('\n', to + 1)
      line += text.slice(to + 1, next)
      to = next
    }
    headers.push(headerOf(line))
    from = to + 1
  }
  return { headers, end: body }
}

function headerOf(line: string): Header {
  const colon = line.indexOf(':')
  const originalKey = trimBlanks(colon === -1 ? line : line.slice(0, colon))
  return {
    key: originalKey.toLowerCase(),
    originalKey,
    value: colon === -1 ? '' : trimBlanks(line.slice(colon + 1)),
  }
}

/** Without blanks around it; `trim` would take more than the blanks that RFC 5322 allows there. */
function trimBlanks(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}

/** A media type with its parameters, without comments, continuations and escapes. */
const TYPE = /^([\w.+-]+\/[\w.+-]+)((?:[ \t]*;[ \t]*[\w-]+=(?:"[^"\\()]*"|[^\s"\\();]+))*)[ \t]*;?$/
const PARAM = /;[ \t]*([\w-]+)=(?:"([^"]*)"|([^\s";]+))/g
const MAX_TYPE = 500

function contentOf(headers: readonly Header[]): Content | undefined {
  const first = (name: string) => headers.find(({ key }) => key === name)?.value
  const disposition = first('content-disposition')
  if (disposition !== undefined && disposition.toLowerCase() !== 'inline') return undefined
  const encoding = encodingOf(first('content-transfer-encoding'))
  const value = first('content-type') ?? 'text/plain'
  const [, type, rest = ''] = (value.length <= MAX_TYPE && TYPE.exec(value)) || []
  if (!type || !encoding) return undefined
  const params = new Map<string, string>()
  for (const [, key = '', quoted, token] of rest.matchAll(PARAM)) {
    const name = key.toLowerCase()
    if (!params.has(name)) params.set(name, quoted ?? token ?? '')
  }
  const content = { type: type.toLowerCase(), params, encoding }
  if (!content.type.startsWith('multipart/')) return content
  const boundary = params.get('boundary')
  return boundary ? { ...content, boundary } : undefined
}

function oneText(bytes: Buffer, start: number, content: Content, end = bytes.length): Texts | undefined {
  const { type, params, encoding } = content
  if (type !== 'text/plain' && type !== 'text/html') return undefined
  const text = decodeBody(bytes.subarray(start, end), encoding, params)
  if (text === undefined) return undefined
  return type === 'text/plain' ? { text } : { html: text }
}

/** A text, and perhaps the same as HTML. */
function textsIn(bytes: Buffer, start: number, { type, boundary = '' }: Content): Texts | undefined {
  if (type !== 'multipart/alternative') return undefined
  const parts = partsOf(bytes, start, boundary)
  if (!parts) return undefined
  let texts: Texts = {}
  for (const [from, to] of parts) {
    const head = readHead(bytes, from, to)
    const content = head && contentOf(head.headers)
    const found = content && !content.boundary ? oneText(bytes, head.end, content, to) : undefined
    if (!found || ('text' in found ? 'text' in texts : 'html' in texts)) return undefined
    texts = { ...texts, ...found }
  }
  return texts
}

const LF = 10
/** A text, the same as HTML, and something that makes it a mail for the library. */
const MAX_PARTS = 3

/** Where the parts begin and end (RFC 2046, section 5.1.1). Undefined without a closing line. */
function partsOf(bytes: Buffer, start: number, boundary: string): [from: number, to: number][] | undefined {
  const parts: [number, number][] = []
  const mark = Buffer.from(`--${boundary}`, 'latin1')
  let open: number | undefined
  for (let at = bytes.indexOf(mark, start); at !== -1; ) {
    const after = at + mark.length
    if (at === start || bytes[at - 1] === LF) {
      const line = bytes.indexOf(LF, after)
      const end = line === -1 ? bytes.length : line
      const tail = end - after > 80 ? 'x' : bytes.toString('latin1', after, end)
      if (!/^(--)?[ \t]*\r?$/.test(tail)) return undefined
      if (open !== undefined) parts.push([open, at])
      if (tail.startsWith('--')) return parts
      if (parts.length >= MAX_PARTS) return undefined
      open = end + 1
    }
    at = bytes.indexOf(mark, after)
  }
  return undefined
}

function readable(headers: Header[]): Omit<ParsedMail, 'text' | 'html' | 'attachments'> {
  const subject = headers.find(({ key }) => key === 'subject')?.value
  const to = addresses(headers, 'to')
  const cc = addresses(headers, 'cc')
  const replyTo = addresses(headers, 'reply-to')
  return {
    headers,
    ...(subject ? { subject: decodeWords(subject) } : {}),
    ...(to ? { to } : {}),
    ...(cc ? { cc } : {}),
    ...(replyTo ? { replyTo } : {}),
  }
}

function addresses(headers: readonly Header[], name: string): Address[] | undefined {
  const found: Address[] = []
  for (const { key, value } of headers) {
    if (key === name && value) for (const address of addressParser(value)) found.push(address)
  }
  return found.length > 0 ? found : undefined
}
