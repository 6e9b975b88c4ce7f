import { isAscii, isUtf8 } from 'node:buffer'
import { TriviumError } from '../../src/core/errors.ts'
import { isJsonObject, type Json, type JsonObject, parseJson } from '../../src/core/json.ts'
import { isShallow } from '../../src/lib/shallow.ts'

/** A body as text (without byte order mark), and what it says in a form that we know: of `json` just `JSON.parse(text)`. */
export type DecodedBody = { format: 'json' | 'form' | 'text' | 'binary'; text: string; body?: Json }

/** Reads a body by its content type. Throws `bad_request` for JSON that is none, and for text not valid in its charset. */
export function decodeBody(contentType: string | undefined, raw: Buffer): DecodedBody {
  const { kind, charset } = kindOf(contentType)
  if (kind === 'binary' || (kind === 'unknown' && !isUtf8(raw))) return { format: 'binary', text: '' }
  const text = decodeText(raw, kind === 'json' ? 'utf-8' : charset)
  // `curl -d '{…}'` calls its JSON a form; nobody means a field named `{"a":1}`.
  const read = kind === 'json' || (kind !== 'text' && /^\s*[{[]/.test(text)) ? readJson(text) : undefined
  if (read) return read
  if (kind === 'json') throw new TriviumError('bad_request', { reason: 'its body is not valid JSON' })
  return kind === 'form' ? { format: 'form', text, body: parseForm(text) } : { format: 'text', text }
}

type Kind = 'json' | 'form' | 'text' | 'unknown' | 'binary'

const TEXT = /^text\/|[/+](xml|yaml|x-yaml|javascript|ecmascript|graphql|toml|x-ndjson|ndjson|jsonl|sql)$/

function kindOf(contentType: string | undefined): { kind: Kind; charset: string } {
  if (contentType === undefined) return { kind: 'unknown', charset: 'utf-8' }
  if (contentType === 'application/json') return { kind: 'json', charset: 'utf-8' }
  const end = contentType.indexOf(';')
  const type = (end < 0 ? contentType : contentType.slice(0, end)).trim().toLowerCase()
  const [, charset = 'utf-8'] = /;\s*charset="?([\w:-]{1,40})"?/i.exec(contentType) ?? []
  if (type === 'application/json' || type.endsWith('+json')) return { kind: 'json', charset }
  if (type === 'application/x-www-form-urlencoded') return { kind: 'form', charset }
  if (TEXT.test(type)) return { kind: 'text', charset }
  return { kind: 'binary', charset }
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true })

function decodeText(raw: Buffer, charset: string): string {
  // Most bodies are ASCII, which is the same in Latin-1.
  if (charset === 'utf-8' && isAscii(raw)) return raw.toString('latin1')
  try {
    return (/^utf-?8$/i.test(charset) ? UTF_8 : new TextDecoder(charset, { fatal: true })).decode(raw)
  } catch (cause) {
    throw new TriviumError('bad_request', { reason: `its body is not valid ${charset}` }, { cause })
  }
}

const MAX_DEPTH = 1_000

/** Undefined where it is none. Throws `bad_request` where it is nested too deep. */
function readJson(text: string): DecodedBody | undefined {
  const body = parseJson(text)
  if (body === undefined) return undefined
  // Each level needs two characters, so most bodies need no look.
  if (text.length < MAX_DEPTH * 2 || isShallow(body, MAX_DEPTH)) return { format: 'json', text, body }
  throw new TriviumError('bad_request', { reason: `its JSON is nested more than ${MAX_DEPTH} deep` })
}

function parseForm(text: string): JsonObject {
  const fields = new Map<string, Json>()
  for (const [name, value] of new URLSearchParams(text)) {
    const known = fields.get(name)
    if (Array.isArray(known)) known.push(value)
    else fields.set(name, known === undefined ? value : [known, value])
  }
  // fromEntries defines own properties, so that a field `__proto__` stays a field.
  const form: JsonObject = Object.fromEntries(fields)
  // GitHub's and Slack's forms have one field `payload` with all of it as JSON.
  const payload = typeof form.payload === 'string' ? readJson(form.payload)?.body : undefined
  return isJsonObject(payload) ? payload : form
}
