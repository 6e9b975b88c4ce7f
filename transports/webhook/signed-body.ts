import { isUtf8 } from 'node:buffer'
import { attempt } from '../../src/lib/attempt.ts'
import { defined } from '../../src/lib/defined.ts'
import { readContentType } from '../deliveries/content-type.ts'
import { type BodyOption, type DecodedBody, decodeBody } from '../deliveries/decode-body.ts'

type SignedBody = {
  decoded: DecodedBody
  /** The same body as another type, in which a key is looked for if `decoded` has none. */
  keySource?: DecodedBody
}

const FORM = 'application/x-www-form-urlencoded'
const LINES = /ndjson|jsonl|json-seq/i
const MAYBE_FORM = /^[^\s=&]+=/

/**
 * Decodes a body that is signed, although its content type is not. A captured delivery that is
 * repeated with another type or charset must have the same key, so that it is recognised: JSON in
 * UTF-8 and multipart forms are read as such whatever their type, a form in UTF-8 whatever its
 * charset, and the hash of the body is that of its bytes. `splits`: whether lists in it are split.
 */
export function decodeSignedBody(
  type: string | undefined,
  raw: Buffer,
  as: BodyOption,
  splits = false,
): SignedBody {
  const ownType = beginsWithBoundary(raw) ? multipartTypeOf(raw) : undefined
  // Its text is made of the fields, whatever the boundary.
  if (ownType !== undefined) return { decoded: decodeBody(ownType, raw, as) }
  const { decoded, keySource } = decodeOther(type, raw, as, splits)
  return { decoded: { ...decoded, fingerprint: () => withoutMark(raw) }, ...defined({ keySource }) }
}

/** Decodes a body that is not a multipart form, or one with a text before its first part. */
function decodeOther(type: string | undefined, raw: Buffer, as: BodyOption, splits: boolean): SignedBody {
  const { kind, charset } = readContentType(type)
  if (kind === 'multipart') return { decoded: decodeBody(multipartTypeOf(raw) ?? type, raw, as) }
  // JSON is decoded as UTF-8 anyway.
  if (kind === 'json') return { decoded: decodeBody(type, raw, as) }
  if (!isUtf8(raw)) return decodeOtherCharset(type, raw, as)
  const guessed = decodeBody('text/plain', raw, as)
  // A single line of NDJSON is valid JSON. It is read as text, like several lines, unless it is split:
  // then each element has its own key.
  if (guessed.format === 'json' && !splits && LINES.test(type ?? ''))
    return { decoded: decodeBody(type, raw, as), keySource: guessed }
  if (guessed.format === 'json') return { decoded: guessed }
  const isForm = kind === 'form'
  const decoded = decodeBody(isForm && charset !== 'utf-8' ? FORM : type, raw, as)
  const mayBeForm = !isForm && MAYBE_FORM.test(guessed.text)
  const keySource = inMultipart(raw, as) ?? (mayBeForm ? decodeBody(FORM, raw, as) : undefined)
  return { decoded, ...defined({ keySource }) }
}

/** A byte order mark is not part of a text. */
function withoutMark(raw: Buffer): Buffer {
  return raw.subarray(0, 3).equals(BYTE_ORDER_MARK) ? raw.subarray(3) : raw
}

const BYTE_ORDER_MARK = Buffer.from('\ufeff')

/** Some senders begin a multipart form with an empty line. */
function beginsWithBoundary(raw: Buffer): boolean {
  return /^[\r\n]*--/.test(raw.toString('latin1', 0, 10))
}

/** The type of a multipart form, with the boundary that it has itself; undefined for other bodies. */
function multipartTypeOf(raw: Buffer): string | undefined {
  const [, boundary] = FIRST_PART.exec(raw.toString('latin1', 0, MAX_PREAMBLE)) ?? []
  if (boundary === undefined || boundary.includes('"')) return undefined
  return raw.includes(`--${boundary}--`, 0, 'latin1')
    ? `multipart/form-data; boundary="${boundary}"`
    : undefined
}

/** The first part of a multipart form: its boundary, and a header with its name. */
const FIRST_PART =
  /(?:^|\n)--([^\r\n]{1,70})\r?\n(?:[^\r\n]{1,1000}\r?\n){0,10}?content-disposition:\s*form-data/i
/** Bytes in which the first part of a form is looked for. */
const MAX_PREAMBLE = 10_000

/** A multipart form that is repeated as another type has its key in its fields. */
function inMultipart(raw: Buffer, as: BodyOption): DecodedBody | undefined {
  const ownType = multipartTypeOf(raw)
  return ownType === undefined ? undefined : attempt(() => decodeBody(ownType, raw, as))
}

/** A body that is not UTF-8: its own type decides, and a form may be repeated as another type. */
function decodeOtherCharset(type: string | undefined, raw: Buffer, as: BodyOption): SignedBody {
  const decoded = decodeBody(type, raw, as)
  const mayBeForm = readContentType(type).kind !== 'form' && MAYBE_FORM.test(raw.toString('latin1', 0, 200))
  const form = mayBeForm ? attempt(() => decodeBody(`${FORM}; charset=windows-1252`, raw, as)) : undefined
  return { decoded, ...defined({ keySource: inMultipart(raw, as) ?? form }) }
}
