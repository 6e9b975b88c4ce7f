import { MultipartParseError, type MultipartPart, parseMultipart } from '@remix-run/multipart-parser'
import { reasonOf, TriviumError } from '../../src/core/errors.ts'
import { parseForeignJson } from '../../src/core/foreign-json.ts'
import { isJsonObject, type Json, type JsonObject } from '../../src/core/json.ts'
import { requireShallow } from './body-depth.ts'
import { decodeField, readContentType } from './content-type.ts'

/** A file in a form, and the field that it came in. */
export type BodyFile = { field: string; name: string; type: string; bytes: Uint8Array }

/**
 * The fields and files of a form. Repeated fields become lists; parts declared as JSON are parsed.
 */
export type Multipart = { fields: JsonObject; files: BodyFile[] }

const LIMITS = { maxParts: 1_000, maxHeaderSize: 8 * 1024 }
/** Limited because each is written to disk before the delivery is acknowledged. */
const MAX_FILES = 100
/** RFC 2046, section 5.1.1. */
const MAX_BOUNDARY = 70

/** Reads `multipart/form-data`, synchronously and without copying files. Throws `bad_request`. */
export function readMultipart(raw: Buffer, boundary: string | undefined): Multipart {
  if (!boundary) throw unreadable('its Content-Type names no boundary')
  if (boundary.length > MAX_BOUNDARY)
    throw unreadable(`its boundary is longer than ${MAX_BOUNDARY} characters`)
  const start = raw.indexOf(`--${boundary}`)
  if (start < 0) throw unreadable('it does not begin with its boundary')
  try {
    // The size of the body is already limited.
    const noLimit = { maxFileSize: raw.length, maxTotalSize: raw.length }
    const parts = [...parseMultipart(raw.subarray(start), { boundary, ...LIMITS, ...noLimit })]
    return fieldsAndFiles(parts)
  } catch (error) {
    if (error instanceof TriviumError) throw error
    const isParseError = error instanceof MultipartParseError
    throw unreadable(isParseError ? reasonOf(error) : 'the head of a part is not valid UTF-8', error)
  }
}

/** Detects the boundary at the start of a body whose content type has none. */
export function boundaryIn(raw: Buffer): string | undefined {
  const [, boundary] = /^--([^\r\n]{1,70})\r\n/.exec(raw.toString('latin1', 0, 100)) ?? []
  return boundary
}

function fieldsAndFiles(parts: readonly MultipartPart[]): Multipart {
  const charsets = charsetsOf(parts)
  const fields = new Map<string, Json>()
  const files: BodyFile[] = []
  for (const part of parts) {
    const name = unescaped(part.name ?? '')
    const filename = fileNameOf(part)
    const type = part.headers['content-type'] ?? ''
    const { kind, charset } = readContentType(type)
    // A file input without a chosen file.
    if (filename === '' && part.size === 0) continue
    const isFile = filename !== undefined && !(name === 'payload' && kind === 'json')
    if (isFile || kind === 'binary' || kind === 'octets') {
      files.push({ field: name, name: baseName(filename, name), type: plainType(type), bytes: bytesOf(part) })
      if (files.length > MAX_FILES) throw unreadable(`it has more than ${MAX_FILES} files`)
      continue
    }
    const hint = charsets.get(name)
    const text = decodeField(bytesOf(part), type === '' ? undefined : charset, hint)
    const value = kind === 'json' && name !== 'payload' ? jsonIn(text) : text
    const known = fields.get(name)
    if (known === undefined) fields.set(name, value)
    else fields.set(name, Array.isArray(known) ? [...known, value] : [known, value])
  }
  // fromEntries defines own properties, so that a field `__proto__` stays a field.
  return { fields: Object.fromEntries(fields), files }
}

/** The value of a part that is declared as JSON. If it is not JSON, its text. */
function jsonIn(text: string): Json {
  const value = parseForeignJson(text)
  if (value === undefined) return text
  requireShallow(text, value)
  return value
}

/** SendGrid's Inbound Parse has a field with the charsets of the other fields. */
function charsetsOf(parts: readonly MultipartPart[]): ReadonlyMap<string, string> {
  const part = parts.find(({ name }) => name === 'charsets')
  const charsets = part && parseForeignJson(decodeField(bytesOf(part)))
  const entries = isJsonObject(charsets) ? Object.entries(charsets) : []
  return new Map(entries.map(([name, charset]) => [name, String(charset)]))
}

/** The content of a part. Usually it is one chunk, which needs no copy. */
function bytesOf({ content, bytes }: MultipartPart): Uint8Array {
  const [only, ...others] = content
  return others.length === 0 ? (only ?? new Uint8Array()) : bytes
}

/**
 * Browsers, curl and fetch escape only quotes, CR and LF in names:
 * https://html.spec.whatwg.org/#multipart-form-data
 */
function unescaped(name: string): string {
  return name.replace(/%(22|0D|0A)/gi, (code) => decodeURIComponent(code))
}

/** The name of a file. The parser has already decoded a `filename*`. */
function fileNameOf({ filename, headers }: MultipartPart): string | undefined {
  const isDecoded = /;\s*filename\*=/i.test(headers['content-disposition'] ?? '')
  return isDecoded || filename === undefined ? filename : unescaped(filename)
}

/** Old browsers send the full path. */
function baseName(filename: string | undefined, field: string): string {
  return filename?.split(/[/\\]/).pop() || field || 'file'
}

function plainType(type: string): string {
  return type.split(';', 1)[0]?.trim() || 'application/octet-stream'
}

function unreadable(why: string, cause?: unknown): TriviumError {
  return new TriviumError('bad_request', { reason: `its multipart body cannot be read: ${why}` }, { cause })
}
