import type { Readable } from 'node:stream'
import { header, type Mail } from './parse.ts'
import { namesSigned } from './signed-headers.ts'

/** Why a header that says how the body is read may be another than that of the author; by header. */
export type ContentDoubts = { 'content-type'?: string; 'content-transfer-encoding'?: string }

const MAX_START = 320 * 1024
const OTHER_TYPE = 'its Content-Type is not signed, and its body looks like another'
const OTHER_ENCODING = 'its Content-Transfer-Encoding is not signed, and its body looks like another'

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
 * signed, though, and shows what it is. Nothing is looked at where every signature covers both.
 */
export async function contentDoubts(mail: Mail, source: () => Buffer | Readable): Promise<ContentDoubts> {
  const signatures = mail.headers.filter(({ key }) => SIGNATURES.has(key))
  const open = signatures.some(({ value }) => {
    const names = namesSigned(value)
    return !names.includes('content-type') || !names.includes('content-transfer-encoding')
  })
  if (!open) return {}
  const body = await startOfBody(source())
  const type = doubtsType(mail, body) ? OTHER_TYPE : undefined
  const encoding = doubtsEncoding(mail, body) ? OTHER_ENCODING : undefined
  return {
    ...(type ? { 'content-type': type } : {}),
    ...(encoding ? { 'content-transfer-encoding': encoding } : {}),
  }
}

const SIGNATURES = new Set(['dkim-signature', 'arc-message-signature'])

function doubtsType(mail: Mail, body: string): boolean {
  const type = header(mail, 'content-type') ?? 'text/plain'
  const boundary = OPENING.exec(body)?.[1]
  if (isMultipart(mail)) return boundary === undefined || boundary !== boundaryOf(type)
  if (boundary !== undefined) return true
  const isMarkup = (text: string) => /^\s*<[a-z!?]/i.test(text)
  if (/^text\/html\b/i.test(type)) return mail.html !== undefined && !isMarkup(mail.html)
  return mail.html === undefined && isMarkup(mail.text)
}

function doubtsEncoding(mail: Mail, body: string): boolean {
  if (isMultipart(mail)) return false
  const encoding = header(mail, 'content-transfer-encoding') ?? ''
  if (/base64/i.test(encoding)) return !BASE64.test(body)
  if (/quoted-printable/i.test(encoding)) return HIDDEN_BREAK.test(body) || body.length >= MAX_START / 2
  return SOFT_BREAK.test(body)
}

function isMultipart(mail: Mail): boolean {
  return /^multipart\//i.test(header(mail, 'content-type') ?? '')
}

/** Undefined where readers may find another one. */
function boundaryOf(type: string): string | undefined {
  if (/[()\\]/.test(type) || type.match(/boundary/gi)?.length !== 1) return undefined
  const [, quoted, bare] = /;\s*boundary=(?:"([^"]*)"|([^\s";]+))\s*(?:;|$)/i.exec(type) ?? []
  return quoted ?? bare
}

async function startOfBody(source: Buffer | Readable): Promise<string> {
  const start = Buffer.isBuffer(source) ? source.subarray(0, MAX_START) : await firstBytes(source)
  const text = start.toString('latin1')
  const end = /\r?\n\r?\n/.exec(text)
  return end ? text.slice(end.index + end[0].length) : ''
}

async function firstBytes(source: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  // Leaving the loop closes the stream.
  for await (const chunk of source) {
    chunks.push(Buffer.from(chunk))
    size += chunk.length
    if (size >= MAX_START) break
  }
  return Buffer.concat(chunks).subarray(0, MAX_START)
}
