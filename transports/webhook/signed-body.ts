import { isUtf8 } from 'node:buffer'
import { readContentType } from '../deliveries/content-type.ts'
import { type BodyOption, type DecodedBody, decodeBody } from '../deliveries/decode-body.ts'

type SignedBody = {
  decoded: DecodedBody
  /** The same body as another type, in which a key is looked for if `decoded` has none. */
  keySource?: DecodedBody
}

const FORM = 'application/x-www-form-urlencoded'
const LINES = /ndjson|jsonl|json-seq/i

/**
 * Decodes a body that is signed, although its content type is not. A captured delivery that is
 * repeated with another type or charset must have the same key, so that it is recognised: JSON in
 * UTF-8 is read as such whatever its type, and a form in UTF-8 whatever its charset.
 */
export function decodeSignedBody(type: string | undefined, raw: Buffer, as: BodyOption): SignedBody {
  const { kind, charset } = readContentType(type)
  // JSON is decoded as UTF-8 anyway, and multipart forms need their type.
  if (kind === 'json' || kind === 'multipart' || !isUtf8(raw)) return { decoded: decodeBody(type, raw, as) }
  const guessed = decodeBody('text/plain', raw, as)
  // A single line of NDJSON is valid JSON. It is read as text, like several lines.
  if (guessed.format === 'json' && LINES.test(type ?? ''))
    return { decoded: decodeBody(type, raw, as), keySource: guessed }
  if (guessed.format === 'json') return { decoded: guessed }
  if (kind === 'form') return { decoded: decodeBody(charset === 'utf-8' ? type : FORM, raw, as) }
  const decoded = decodeBody(type, raw, as)
  const mayBeForm = /^[^\s=&]+=/.test(guessed.text)
  return mayBeForm ? { decoded, keySource: decodeBody(FORM, raw, as) } : { decoded }
}
