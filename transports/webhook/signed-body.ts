import { isUtf8 } from 'node:buffer'
import { attempt } from '../../src/lib/attempt.ts'
import { readContentType } from '../deliveries/content-type.ts'
import { type BodyOption, type DecodedBody, decodeBody } from '../deliveries/decode-body.ts'
import { boundaryIn } from '../deliveries/multipart.ts'

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
 * UTF-8 and multipart forms are read as such whatever their type, and a form in UTF-8 whatever its
 * charset. `splits`: whether lists in it are split.
 */
export function decodeSignedBody(
  type: string | undefined,
  raw: Buffer,
  as: BodyOption,
  splits = false,
): SignedBody {
  const ownType = multipartTypeOf(raw)
  if (ownType !== undefined) return { decoded: decodeBody(ownType, raw, as) }
  const { kind, charset } = readContentType(type)
  // JSON is decoded as UTF-8 anyway, and other multipart bodies need their type.
  if (kind === 'json' || kind === 'multipart') return { decoded: decodeBody(type, raw, as) }
  if (!isUtf8(raw)) return decodeOtherCharset(type, raw, as)
  const guessed = decodeBody('text/plain', raw, as)
  // A single line of NDJSON is valid JSON. It is read as text, like several lines, unless it is split:
  // then each element has its own key.
  if (guessed.format === 'json' && !splits && LINES.test(type ?? ''))
    return { decoded: decodeBody(type, raw, as), keySource: guessed }
  if (guessed.format === 'json') return { decoded: guessed }
  if (kind === 'form') return { decoded: decodeBody(charset === 'utf-8' ? type : FORM, raw, as) }
  const decoded = decodeBody(type, raw, as)
  return MAYBE_FORM.test(guessed.text) ? { decoded, keySource: decodeBody(FORM, raw, as) } : { decoded }
}

/** The type of a multipart form, with the boundary that it has itself; undefined for other bodies. */
function multipartTypeOf(raw: Buffer): string | undefined {
  if (raw[0] !== HYPHEN) return undefined
  const boundary = boundaryIn(raw)
  if (boundary === undefined || boundary.includes('"')) return undefined
  const isForm = FORM_PART.test(raw.toString('latin1', 0, 1_000))
  const end = raw.toString('latin1', raw.length - boundary.length - 10)
  return isForm && end.includes(`--${boundary}--`) ? `multipart/form-data; boundary="${boundary}"` : undefined
}

const HYPHEN = 0x2d
const FORM_PART = /^content-disposition:\s*form-data/im

/** A body that is not UTF-8: its own type decides, and a form may be repeated as another type. */
function decodeOtherCharset(type: string | undefined, raw: Buffer, as: BodyOption): SignedBody {
  const decoded = decodeBody(type, raw, as)
  const mayBeForm = readContentType(type).kind !== 'form' && MAYBE_FORM.test(raw.toString('latin1', 0, 200))
  const form = mayBeForm ? attempt(() => decodeBody(`${FORM}; charset=windows-1252`, raw, as)) : undefined
  return form ? { decoded, keySource: form } : { decoded }
}
