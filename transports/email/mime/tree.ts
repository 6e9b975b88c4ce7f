import { type Header, MAX_HEAD, readHead } from './head.ts'
import { parseStructured, type Structured } from './params.ts'
import { signedContent } from './signed-data.ts'
import { decodeTransfer } from './transfer.ts'

/** A message or part (RFC 2045). */
export type Entity = {
  headers: Header[]
  type: string
  params: Structured['params']
  disposition: Structured
  /** The raw bytes after the headers. */
  body: Buffer
  /** The parts of a `multipart/…`, else undefined. */
  parts?: Entity[]
}

/** S/MIME, whose signature may contain the mail. */
const OPAQUE = /^application\/(?:x-)?pkcs7-mime$/
const MAX_DEPTH = 64
const MAX_PARTS = 10_000
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const TAB = 0x09
const DASH = 0x2d

/**
 * Parses a mail into parts. Throws if it is nested too deep, or has too many parts or too long
 * headers.
 */
export function readEntity(raw: Buffer): Entity {
  return read(withHead(raw), 'text/plain', 0, { parts: 0, head: 0 })
}

/**
 * A mail that begins with its headers, without empty lines before them. Without a line feed
 * anywhere, carriage returns end its lines.
 */
function withHead(raw: Buffer): Buffer {
  const text = raw.includes(LF) ? raw : Buffer.from(raw.toString('latin1').replaceAll('\r', '\n'), 'latin1')
  let start = 0
  while (text[start] === LF || text[start] === CR) start++
  return start < text.length ? text.subarray(start) : text
}

/** The value of the first header with a (lower-case) name; `''` if there is none. */
export function headerOf({ headers }: Pick<Entity, 'headers'>, name: string): string {
  return headers.find(({ key }) => key === name)?.value ?? ''
}

/** The decoded content of a part. */
export function contentOf(entity: Entity): Buffer {
  const isText = entity.type.startsWith('text/')
  return decodeTransfer(entity.body, headerOf(entity, 'content-transfer-encoding'), isText)
}

function read(
  raw: Buffer,
  defaultType: string,
  depth: number,
  used: { parts: number; head: number },
): Entity {
  if (depth > MAX_DEPTH) throw new Error(`Its parts are nested more than ${MAX_DEPTH} deep`)
  if (++used.parts > MAX_PARTS) throw new Error(`It has over ${MAX_PARTS} parts`)
  const { headers, body: start, size } = readHead(raw)
  used.head += size
  if (used.head > MAX_HEAD) throw new Error(`Its headers have over ${MAX_HEAD} bytes`)
  const { value, params } = parseStructured(headerOf({ headers }, 'content-type'))
  const entity: Entity = {
    headers,
    type: typeOf(value, defaultType),
    params,
    disposition: parseStructured(headerOf({ headers }, 'content-disposition')),
    body: raw.subarray(start),
  }
  const signed = isOpaque(entity) ? signedContent(contentOf(entity)) : undefined
  if (signed) {
    const part = read(signed, 'text/plain', depth + 1, used)
    return { ...entity, type: 'multipart/mixed', params: new Map(), parts: [part] }
  }
  if (!entity.type.startsWith('multipart/')) return entity
  const parts = partsOf(entity)
  if (!parts) return { ...entity, type: 'text/plain', params: new Map() }
  const partType = entity.type === 'multipart/digest' ? 'message/rfc822' : 'text/plain'
  entity.parts = parts.map((part) => read(part, partType, depth + 1, used))
  return entity
}

/** Whether a part may be S/MIME. Some servers change its type to that of an unknown file. */
function isOpaque({ type, params, disposition }: Entity): boolean {
  const name = disposition.params.get('filename') ?? params.get('name') ?? ''
  return OPAQUE.test(type) || (type === 'application/octet-stream' && /\.p7m$/i.test(name))
}

/** Some programs write only one half of the type. */
function typeOf(value: string, defaultType: string): string {
  if (value === '' || value === 'text') return defaultType
  return value === 'plain' || value === 'html' ? `text/${value}` : value
}

/** The parts of a container; undefined if there are none, so that its body is treated as text. */
function partsOf(entity: Entity): Buffer[] | undefined {
  const boundary = entity.params.get('boundary')?.trimEnd()
  const found = boundary ? split(entity.body, boundary) : undefined
  if (found) return found
  const decoded = contentOf(entity)
  if (boundary && decoded !== entity.body) {
    // A container with a transfer encoding violates RFC 2045, section 6.4, but occurs.
    const parts = split(decoded, boundary)
    if (parts) return parts
  }
  const guess = guessBoundary(entity.body)
  return guess === undefined ? undefined : split(entity.body, guess)
}

/** Guesses a boundary: a line with two dashes, followed by headers of a part. */
function guessBoundary(body: Buffer): string | undefined {
  return /^--([^\r\n]{1,200}?)[ \t]*\r?\ncontent-[a-z-]{2,40}[ \t]*:/im.exec(
    body.toString('latin1', 0, MAX_HEAD),
  )?.[1]
}

/** Splits at boundary lines; undefined if there are none. */
function split(body: Buffer, boundary: string): Buffer[] | undefined {
  const mark = Buffer.from(`--${boundary}`)
  const parts: Buffer[] = []
  let start: number | undefined
  let isFound = false
  for (let at = body.indexOf(mark); at !== -1; at = body.indexOf(mark, at + mark.length)) {
    if (at > 0 && body[at - 1] !== LF) continue
    let end = at + mark.length
    const isLast = body[end] === DASH && body[end + 1] === DASH
    if (isLast) end += 2
    while (body[end] === SPACE || body[end] === TAB || body[end] === CR) end++
    if (end < body.length && body[end] !== LF) continue
    isFound = true
    if (start !== undefined) parts.push(body.subarray(start, lineEnd(body, start, at)))
    if (parts.length > MAX_PARTS) throw new Error(`It has over ${MAX_PARTS} parts`)
    start = isLast ? undefined : Math.min(end + 1, body.length)
    if (isLast) break
  }
  if (start !== undefined) parts.push(body.subarray(start))
  return isFound ? parts : undefined
}

/**
 * End of the content: the line break before a boundary belongs to the boundary (RFC 2046, section
 * 5.1.1).
 */
function lineEnd(body: Buffer, start: number, at: number): number {
  const end = at > start && body[at - 1] === LF ? at - 1 : at
  return end > start && body[end - 1] === CR ? end - 1 : end
}
