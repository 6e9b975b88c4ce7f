import { isUtf8 } from 'node:buffer'
import { hash } from 'node:crypto'
import { TriviumError } from '../../src/core/errors.ts'
import { parseForeignJson, requireFewValues } from '../../src/core/foreign-json.ts'
import { type Json, type JsonObject, parseJson } from '../../src/core/json.ts'
import { requireShallow } from './body-depth.ts'
import { type ContentType, decodeField, decodeJsonText, decodeText, readContentType } from './content-type.ts'
import { type BodyFile, boundaryIn, readMultipart } from './multipart.ts'

/**
 * How to read a body: by its content type, or as configured for the gateway. `form.NAME`: as the
 * JSON in this field of a form.
 */
export type BodyOption =
  | 'auto'
  | 'json'
  | 'form'
  | 'multipart'
  | 'ndjson'
  | 'text'
  | 'binary'
  | `form.${string}`

export type DecodedBody = {
  /** `binary`: the whole body is a file. */
  format: 'json' | 'form' | 'multipart' | 'text' | 'binary'
  /** Without byte order mark. */
  text: string
  /** The parsed content. For `json`, that is `parseJson(text)`. */
  body?: Json
  /** The files of a form. */
  files?: BodyFile[]
  /** What the hash of the body (`#`) is made of; by default of `text`. */
  fingerprint?: () => string | Uint8Array
}

/**
 * Decodes a body. Throws `bad_request` for a body that does not match its type, and for text that
 * is not valid in its charset.
 */
export function decodeBody(
  contentType: string | undefined,
  raw: Buffer,
  as: BodyOption = 'auto',
): DecodedBody {
  if (raw.length === 0) return { format: 'text', text: '' }
  const type = readContentType(contentType)
  if (as === 'auto') return byType(type, raw)
  if (as === 'form') return readForm(raw, type.charset)
  if (as === 'text') return { format: 'text', text: decodeText(raw, type.charset) }
  if (as === 'ndjson') return readLines(decodeJsonText(raw, type.charset))
  if (as === 'multipart') return fromMultipart(raw, type.boundary ?? boundaryIn(raw))
  if (as === 'json' || as === 'binary') return byType({ ...type, kind: as }, raw)
  const name = as.slice('form.'.length)
  if (type.kind === 'multipart') return fromMultipart(raw, type.boundary, name)
  return type.kind === 'form' ? readForm(raw, type.charset, name) : byType(type, raw)
}

function byType({ kind, charset, boundary }: ContentType, raw: Buffer): DecodedBody {
  switch (kind) {
    case 'json':
      return requireJson(decodeJsonText(raw, charset))
    case 'multipart':
      return fromMultipart(raw, boundary)
    case 'text':
      return { format: 'text', text: decodeText(raw, charset) }
    case 'binary':
      return asFile(raw)
    case 'octets':
      return (isUtf8(raw) && guessJson(decodeText(raw, 'utf-8'))) || asFile(raw)
    case 'unknown':
      if (!isUtf8(raw)) return asFile(raw)
      break
    case 'form':
      // `curl --data-binary @photo.png` labels a file as a form. A real form has no zero bytes.
      if (raw.includes(0) && !isUtf8(raw)) return asFile(raw)
  }
  // `guess`, `form`, and `unknown` in UTF-8.
  const text = decodeText(raw, charset)
  // `curl -d '{…}'` labels JSON as a form, and no real form has a field named `{"a":1}`.
  return guessJson(text) ?? (kind === 'form' ? readForm(raw, charset) : { format: 'text', text })
}

function asFile(raw: Buffer): DecodedBody {
  return { format: 'binary', text: '', fingerprint: () => raw }
}

function requireJson(text: string): DecodedBody {
  const read = readJson(text)
  if (read) return read
  if (text.trim() === '') return { format: 'text', text }
  const hint = listOfLines(text) ? ', but each of its lines is: set `body: ndjson`' : ''
  throw new TriviumError('bad_request', { reason: `its body is not valid JSON${hint}` })
}

/** The lines as a list. Throws `bad_request` if a line is not JSON. */
function readLines(text: string): DecodedBody {
  const list = listOfLines(text)
  const read = list === undefined ? undefined : readJson(list)
  if (read) return read
  throw new TriviumError('bad_request', { reason: 'one of the lines of its body is not valid JSON' })
}

/** The lines as the text of a JSON list. Undefined if a line is not JSON. */
function listOfLines(text: string): string | undefined {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const list = `[${lines.join(',')}]`
  requireFewValues(list)
  return lines.every((line) => parseJson(line) !== undefined) ? list : undefined
}

/** A single number or word counts as text, even if it is valid JSON. */
function guessJson(text: string): DecodedBody | undefined {
  return /^\s*[{[]/.test(text) ? readJson(text) : undefined
}

/**
 * Undefined if the text is not JSON. Throws `bad_request` if the JSON is nested too deeply or has
 * too many values.
 */
function readJson(text: string): DecodedBody | undefined {
  const body = parseForeignJson(text)
  if (body === undefined) return undefined
  requireShallow(text, body)
  return { format: 'json', text, body }
}

/** `name`: a field whose JSON is the body. If the form does not have it, the form is the body. */
function readForm(raw: Buffer, charset: string, name?: string): DecodedBody {
  const text = decodeText(raw, charset)
  const fields = new Map<string, Json>()
  for (const [field, value] of pairsIn(raw, text, charset)) {
    const known = fields.get(field)
    if (Array.isArray(known)) known.push(value)
    else fields.set(field, known === undefined ? value : [known, value])
  }
  // fromEntries defines own properties, so that a field `__proto__` stays a field.
  const form: JsonObject = Object.fromEntries(fields)
  return { format: 'form', text, body: payloadOf(form, name)?.body ?? form }
}

/**
 * The text of a field of a form. Undefined if the body is not a form, or does not have the field
 * exactly once. With `body: form.NAME`, the JSON in this text is the body.
 */
export function fieldOfForm(contentType: string | undefined, raw: Buffer, name: string): string | undefined {
  const { kind, charset } = readContentType(contentType)
  if (kind !== 'form') return undefined
  const values = pairsIn(raw, decodeText(raw, charset), charset).filter(([one]) => one === name)
  return values.length === 1 ? values[0]?.[1] : undefined
}

/**
 * The fields of a form. Escaped bytes that are not UTF-8 are decoded with the charset that a field
 * of the form names (as in forms of PayPal and HTML), or with `charset`.
 */
function pairsIn(raw: Buffer, text: string, charset: string): [string, string][] {
  const pairs = [...new URLSearchParams(text)]
  if (!pairs.some(([name, value]) => name.includes('\ufffd') || value.includes('\ufffd'))) return pairs
  const declared = pairs.find(([name]) => name === 'charset' || name === '_charset_')?.[1]
  const decode = (escaped: string) => decodeField(unescapedBytes(escaped), declared, charset)
  const pieces = raw.toString('latin1').split('&')
  return pieces.flatMap((piece): [string, string][] => {
    if (piece === '') return []
    const at = piece.indexOf('=')
    return [at < 0 ? [decode(piece), ''] : [decode(piece.slice(0, at)), decode(piece.slice(at + 1))]]
  })
}

/** The bytes of a URL-encoded name or value. */
function unescapedBytes(escaped: string): Buffer {
  const plain = escaped.replaceAll('+', ' ')
  const binary = plain.replaceAll(/%([\da-f]{2})/gi, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  )
  return Buffer.from(binary, 'latin1')
}

/** The text of a multipart form: its fields as JSON, or its field `payload`. */
function fromMultipart(raw: Buffer, boundary: string | undefined, name?: string): DecodedBody {
  const { fields, files } = readMultipart(raw, boundary)
  const decoded: DecodedBody = payloadOf(fields, name) ?? {
    format: 'multipart',
    text: JSON.stringify(fields),
    body: fields,
  }
  return files.length === 0 ? { ...decoded, files } : { ...decoded, files, ...withHashesOf(files, decoded) }
}

/** Two forms that only differ in their files are not the same. */
function withHashesOf(files: readonly BodyFile[], { text }: DecodedBody): Pick<DecodedBody, 'fingerprint'> {
  const hashed = () => files.map(({ field, name, type, bytes }) => [field, name, type, hash('sha256', bytes)])
  return { fingerprint: () => JSON.stringify([text, hashed()]) }
}

/**
 * The JSON in a field of a form: in the configured field `name`, by default in `payload` (GitHub,
 * Slack, Plex). Throws `bad_request` if the configured field is not JSON.
 */
function payloadOf(fields: JsonObject, name?: string): DecodedBody | undefined {
  const value = Object.hasOwn(fields, name ?? 'payload') ? fields[name ?? 'payload'] : undefined
  // A part of type JSON is parsed already.
  if (name !== undefined && typeof value === 'object' && value !== null)
    return { format: 'json', text: JSON.stringify(value), body: value }
  if (typeof value !== 'string') return undefined
  const payload = guessJson(value)
  if (!payload && name !== undefined)
    throw new TriviumError('bad_request', {
      reason: `the field ${name} of its form is not a JSON object or list`,
    })
  return payload
}
