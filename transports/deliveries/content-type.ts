import { isAscii, isUtf8 } from 'node:buffer'
import { TriviumError } from '../../src/core/errors.ts'
import { decodeAsBrowsers } from '../charsets.ts'

/** The kind of body that a content type announces. */
export type BodyKind =
  | 'json'
  | 'form'
  | 'multipart'
  /** Text that may be JSON. */
  | 'guess'
  /** Plain text only. */
  | 'text'
  /** Bytes that may be JSON, also under types that are misspelt or unknown here. */
  | 'octets'
  /** No type was given. */
  | 'unknown'
  | 'binary'

export type ContentType = { kind: BodyKind; charset: string; boundary?: string }

const JSON_TYPE = /^application\/(x-)?json$|^text\/(x-)?json$|^application\/csp-report$|\+json$/
/** Types that frameworks give to JSON by default. */
const GUESS = /^text\/(plain|html|(x-)?javascript)$|^application\/(x-)?javascript$/
const BINARY = /^(image|audio|video|font|model|message|multipart)\//
const TEXT = /^text\/|[/+](xml|yaml|x-yaml|javascript|ecmascript|graphql|toml|x-ndjson|ndjson|jsonl|sql)$/

/** Parses the header `Content-Type`. Never throws. */
export function readContentType(header: string | undefined): ContentType {
  if (header === undefined) return { kind: 'unknown', charset: 'utf-8' }
  if (header === 'application/json') return { kind: 'json', charset: 'utf-8' }
  const [, written = ''] = /^([^;,]*)/.exec(header) ?? []
  const type = written.trim().toLowerCase()
  const charset = parameter(header, 'charset') ?? 'utf-8'
  if (type === '') return { kind: 'unknown', charset }
  if (JSON_TYPE.test(type)) return { kind: 'json', charset }
  if (type === 'application/x-www-form-urlencoded') return { kind: 'form', charset }
  if (type === 'multipart/form-data') {
    const boundary = parameter(header, 'boundary')
    return { kind: 'multipart', charset, ...(boundary ? { boundary } : {}) }
  }
  if (GUESS.test(type)) return { kind: 'guess', charset }
  if (TEXT.test(type)) return { kind: 'text', charset }
  return { kind: BINARY.test(type) ? 'binary' : 'octets', charset }
}

function parameter(header: string, name: string): string | undefined {
  const [, quoted, plain] =
    new RegExp(`[;\\s]${name}\\s*=\\s*(?:"([^"]*)"|([^\\s;"]+))`, 'i').exec(header) ?? []
  return quoted ?? plain
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Decodes a body, and removes a byte order mark. Throws `bad_request` if it is not valid in its
 * charset.
 */
export function decodeText(raw: Buffer, charset: string): string {
  // Most bodies are ASCII, which is the same in Latin-1.
  if (charset === 'utf-8' && isAscii(raw)) return raw.toString('latin1')
  try {
    return decodeStrictly(raw, charset)
  } catch (cause) {
    throw new TriviumError('bad_request', { reason: `its body is not valid ${charset}` }, { cause })
  }
}

/** Throws a TypeError for invalid bytes. */
function decodeStrictly(raw: Buffer, charset: string): string {
  const text = decodeAsBrowsers(raw, charset)
  if (text?.includes('\ufffd')) throw new TypeError('invalid bytes')
  return text ?? decoderFor(raw, charset).decode(raw)
}

/** Bytes labelled as ASCII, or with an unknown label, are decoded as UTF-8 if valid. */
function decoderFor(raw: Buffer, charset: string): TextDecoder {
  if (/^utf-?8$/i.test(charset)) return raw[0] === 0xff || raw[0] === 0xfe ? decoderByMark(raw) : UTF_8
  if (/^(us-)?ascii$/i.test(charset) && isUtf8(raw)) return UTF_8
  return knownDecoder(charset) ?? (isUtf8(raw) ? UTF_8 : new TextDecoder('windows-1252'))
}

/** Undefined for labels such as `none` and `utf8mb4`. */
function knownDecoder(charset: string): TextDecoder | undefined {
  try {
    return new TextDecoder(charset, { fatal: true })
  } catch {
    return undefined
  }
}

/** The decoder for the byte order mark, for a body labelled as UTF-8 that may be UTF-16. */
function decoderByMark(raw: Buffer): TextDecoder {
  const label = raw[0] === 0xff && raw[1] === 0xfe ? 'utf-16le' : raw[1] === 0xff ? 'utf-16be' : 'utf-8'
  return new TextDecoder(label, { fatal: true })
}

/**
 * Decodes JSON as UTF-8 (RFC 8259) even if the content type says otherwise, as frameworks do. Uses
 * the given charset only if that fails.
 */
export function decodeJsonText(raw: Buffer, charset: string): string {
  const isUtf8Text = (isAscii(raw) || isUtf8(raw)) && !hasZeroAtStart(raw)
  return decodeText(raw, isUtf8Text ? 'utf-8' : charset)
}

/** Whether one of the first four bytes is zero, as in UTF-16 and UTF-32. */
function hasZeroAtStart(raw: Buffer): boolean {
  return raw[0] === 0 || raw[1] === 0 || raw[2] === 0 || raw[3] === 0
}

/** Decodes a form field: as UTF-8, else in one of the given charsets, else as Windows-1252. */
export function decodeField(bytes: Uint8Array, ...charsets: (string | undefined)[]): string {
  const raw = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (isUtf8(raw)) return UTF_8.decode(raw)
  for (const charset of charsets) {
    if (charset === undefined || !(decodeAsBrowsers(raw, charset) ?? knownDecoder(charset))) continue
    try {
      return decodeStrictly(raw, charset)
    } catch {
      // The text is in another charset.
    }
  }
  return new TextDecoder('windows-1252').decode(raw)
}
