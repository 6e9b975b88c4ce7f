import { isUtf8 } from 'node:buffer'
import { createHash, KeyObject } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { createHmac } from './hmac.ts'
import { type Algorithm, byHash, byHmac, byPublicKey, SECRET_PLACE } from './signature-keys.ts'

/**
 * How a provider signs requests: by HMAC, by a plain hash, or with a private key whose public key
 * is known. Header names are in lower case. `field` has paths in the body, separated by spaces; the
 * first path that leads to a string or number counts.
 */
export type Scheme = {
  /** The header with the signatures. */
  header?: string | undefined
  /** Without `header`: the fields, with one signature each. */
  field?: string | undefined
  /**
   * Prefix of each signature in the header. Signatures end at a space, comma, semicolon or quote.
   */
  prefix?: string | undefined
  /**
   * Whether the signature is a plain hash of a text that contains the secret (`{secret}` in the
   * template).
   */
  isHash?: boolean
  /** With several algorithms, any of them is accepted. */
  algorithm?: Algorithm | readonly Algorithm[]
  encoding?: 'hex' | 'base64' | 'base64url'
  time?: TimePlace | undefined
  /** The signed text, with PLACEHOLDERS. Default: `{body}`. */
  template?: string | undefined
}

/**
 * Location of the signed time: a field, or a header (default: that of the signatures), after
 * `prefix`. `digits`: exact length of the Unix time, for templates without a separator after it.
 */
export type TimePlace = { header?: string; field?: string; prefix?: string; digits?: number }

/** A received request. */
export type Signed = {
  method?: string
  headers: IncomingHttpHeaders
  raw: Buffer
  /** The public URL of the request, with the query. */
  url?: string
  /** The request path. */
  path?: string
  /** Reads a field of the body. Only called for schemes with fields. */
  field?(paths: string): string | undefined
}

/**
 * `{header.NAME}` and `{body.PATH}` stand for a header and a field, which are required unless they
 * end with `?`.
 */
export const PLACEHOLDERS = [
  'body',
  'body-sha256',
  'body-sha256-raw',
  'timestamp',
  'secret',
  'url',
  'path',
  'method',
  'header.NAME',
  'body.PATH',
]

/** https://docs.slack.dev/authentication/verifying-requests-from-slack */
export const SLACK: Scheme = {
  header: 'x-slack-signature',
  prefix: 'v0=',
  time: { header: 'x-slack-request-timestamp' },
  template: 'v0:{timestamp}:{body}',
}

/**
 * Makes a signature check for several schemes; the first whose header or field is present applies.
 * Any of the `keys` is accepted, in constant time. A signed time may differ by `tolerance` ms.
 * Returns undefined for a valid signature, else a reason that contains no secret.
 */
export function createSignatureCheck(
  schemes: readonly Scheme[],
  keys: readonly (Buffer | KeyObject)[],
  tolerance: number,
  now: () => number,
): (request: Signed) => string | undefined {
  const compiled = schemes.map((scheme) => compile(scheme, keys))
  return (request) => {
    let value = ''
    let scheme: (typeof compiled)[number] | undefined
    for (const one of compiled) {
      value = one.valueIn(request)
      if (value === '') continue
      scheme = one
      break
    }
    if (!scheme) return `${[...new Set(compiled.map(({ place }) => place))].join(' or ')} is missing`
    const signatures = scheme.signaturesIn(value)
    if (signatures.length === 0) return faultOfForm(scheme, value)
    const time = scheme.timeIn?.(request) ?? ''
    const timeFault = scheme.time && faultOfTime(time, scheme.time, tolerance, now())
    if (timeFault !== undefined) return timeFault
    const signed: Buffer[] = []
    for (const part of scheme.parts) {
      const text = part.fill(request, time)
      if (text === undefined) return `${part.name} is missing, which is part of the signed text`
      signed.push(text)
    }
    let isValid = false
    // Checks all keys, so that the time does not show which one matched.
    for (const hasSignature of scheme.checks) if (hasSignature(signatures, signed)) isValid = true
    return isValid ? scheme.faultOf(request) : scheme.mismatch(signatures)
  }
}

/** The headers that a template signs, in lower case. */
export function signedHeaders(template: string): string[] {
  return Array.from(template.matchAll(/\{header\.([\w-]+)\??\}/g), ([, name = '']) => name.toLowerCase())
}

/** The body fields that a template signs. */
export function signedFields(template: string): string[] {
  return Array.from(template.matchAll(/\{body\.([^}?]+)\??\}/g), ([, path = '']) => path)
}

/** Whether a template signs the whole body, itself or by its hash. */
export function signsBody(template: string): boolean {
  return /\{body(?:-sha256(?:-raw)?)?\}/.test(template)
}

/** Whether a scheme reads more than headers, the method and the whole body. */
export function readsMore({ field, time, template = '' }: Scheme): boolean {
  return field !== undefined || time?.field !== undefined || /\{(url|path|body\.)/.test(template)
}

/** The unknown placeholders of a template. */
export function unknownPlaceholders(template: string): string[] {
  return Array.from(template.matchAll(/\{[^}]*\}?/g), ([all]) => all).filter(
    (one) => !one.match(ONE_PLACEHOLDER),
  )
}

/** Prepares a scheme before the first request. */
function compile(scheme: Scheme, keys: readonly (Buffer | KeyObject)[]) {
  const { header, field = '', prefix = '', time, template = '{body}' } = scheme
  const { algorithm = 'sha256', encoding = 'hex', isHash = false } = scheme
  const each = listPattern(prefix)
  const algorithms = [algorithm].flat()
  const sizes = algorithms.map((one) => createHmac(Buffer.alloc(1), one)([]).length)
  const hasKey = keys.some((key) => key instanceof KeyObject)
  return {
    prefix,
    time,
    timeIn: time && timeReader(time, header),
    place: header === undefined ? `the field ${field.split(' ')[0]} of the body` : `the header ${header}`,
    /** The value of the header, or of the fields, that contains the signatures. */
    valueIn(request: Signed) {
      if (header !== undefined) return textOf(request.headers, header)
      return field
        .split(' ')
        .flatMap((path) => request.field?.(path) ?? [])
        .join(',')
    },
    signaturesIn: (value: string) => listIn(value, prefix, each),
    parts: template
      .split(/(\{[^}]+\})/)
      .filter((part) => part !== '')
      .map(partOf),
    /** One check per key and algorithm. */
    checks: keys.flatMap((key) =>
      algorithms.map((one) => {
        if (key instanceof KeyObject) return byPublicKey(key, one, encoding)
        return isHash ? byHash(key, one, encoding) : byHmac(key, one, encoding)
      }),
    ),
    /** Why a body cannot be accepted even if its signature is valid. */
    faultOf: isHash ? faultOfHashed : () => undefined,
    /** Why none of the signatures is valid. */
    mismatch(signatures: readonly string[]) {
      const missingPrefix = prefix === '' && prefixIn(signatures, encoding, sizes)
      if (missingPrefix)
        return `its signature begins with the prefix "${missingPrefix}": set \`prefix: ${missingPrefix}\``
      const hasSize = (one: string) => sizes.includes(Buffer.from(one, encoding).length)
      if (!hasKey && !signatures.some(hasSize))
        return `its signature is not ${algorithms.join(' or ')} in ${encoding}`
      const count = signatures.length > 1 ? ` (none of ${signatures.length})` : ''
      return `its signature does not match${count}: the secret differs, or the request was changed on the way`
    },
  }
}

/**
 * Whoever knows the hash of a text that begins with a secret can compute the hash of a longer text
 * (length extension). The bytes that must be inserted in between are not valid UTF-8.
 */
function faultOfHashed({ raw }: Signed): string | undefined {
  return isUtf8(raw) ? undefined : 'its body is not UTF-8, which a plain hash cannot protect'
}

/** Why a request contains no usable signature. */
function faultOfForm({ place, prefix }: { place: string; prefix: string }, value: string): string {
  if (/^\s*["']/.test(value))
    return `${place} has its signature in quotes, which are not part of it: send it without them`
  if (prefix === '') return `${place} has no signature`
  return `${place} has no signature that begins with "${prefix}"`
}

/**
 * A prefix of signatures of the right size, such as `sha256=`. Reveals nothing else of the request.
 */
function prefixIn(
  signatures: readonly string[],
  encoding: BufferEncoding,
  sizes: readonly number[],
): string | undefined {
  for (const one of signatures) {
    const [prefix = ''] = /^[a-z][\w-]{0,15}[=:]/i.exec(one) ?? []
    const rest = one.slice(prefix.length)
    if (prefix !== '' && isEncoded(rest, encoding) && sizes.includes(Buffer.from(rest, encoding).length))
      return prefix
  }
  return undefined
}

function isEncoded(text: string, encoding: BufferEncoding): boolean {
  return encoding === 'hex' ? /^[\da-f]+$/i.test(text) : /^[\w+/-]+=*$/.test(text)
}

/** Matches each signature in a header: at its start, or after spaces, commas or semicolons. */
function listPattern(prefix: string): RegExp {
  return new RegExp(`(?<![^\\s,;])${RegExp.escape(prefix)}([^\\s,;"]+)`, 'g')
}

function listIn(value: string, prefix: string, each: RegExp): string[] {
  // Most headers have a single signature, which needs no pattern.
  if (value.startsWith(prefix) && !/[\s,;"]/.test(value.slice(prefix.length))) {
    return value.length > prefix.length ? [value.slice(prefix.length)] : []
  }
  return Array.from(value.matchAll(each), ([, signature = '']) => signature)
}

/**
 * A placeholder or a literal text of a template. `fill` returns undefined if the request does not
 * have a required part.
 */
type Part = { name: string; fill(request: Signed, time: string): Buffer | undefined }

const ONE_PLACEHOLDER =
  /^\{(body|body-sha256|body-sha256-raw|timestamp|secret|url|path|method|(header)\.([\w-]+)|(body)\.([^}?]+))(\?)?\}$/

function partOf(part: string): Part {
  const [, name = '', isHeader, header = '', isField, field = '', isOptional] =
    ONE_PLACEHOLDER.exec(part) ?? []
  const bytesOf = (text: string | undefined) => (text || isOptional ? Buffer.from(text ?? '') : undefined)
  if (isHeader) {
    const lower = header.toLowerCase()
    return { name: `the header ${lower}`, fill: ({ headers }) => bytesOf(textOf(headers, lower)) }
  }
  if (isField)
    return { name: `the field ${field} of the body`, fill: (request) => bytesOf(request.field?.(field)) }
  if (name === 'body') return { name, fill: ({ raw }) => raw }
  if (name === 'body-sha256-raw')
    return { name, fill: ({ raw }) => createHash('sha256').update(raw).digest() }
  if (name === 'body-sha256')
    return { name, fill: ({ raw }) => Buffer.from(createHash('sha256').update(raw).digest('hex')) }
  if (name === 'timestamp') return { name, fill: (_, time) => Buffer.from(time) }
  if (name === 'secret') return { name, fill: () => SECRET_PLACE }
  if (name === 'url') return { name: 'our address', fill: ({ url }) => bytesOf(url) }
  if (name === 'path') return { name: 'the path', fill: ({ path }) => bytesOf(path) }
  if (name === 'method') return { name: 'the method', fill: ({ method }) => bytesOf(method) }
  const literal = Buffer.from(part)
  return { name: 'a text', fill: () => literal }
}

function timeReader({ header, field, prefix = '' }: TimePlace, own = ''): (request: Signed) => string {
  if (field !== undefined) return (request) => request.field?.(field) ?? ''
  // An HTTP date contains a comma and spaces.
  if (header !== undefined && prefix === '') return ({ headers }) => textOf(headers, header).trim()
  const each = listPattern(prefix)
  return ({ headers }) => listIn(textOf(headers, header ?? own), prefix, each)[0] ?? ''
}

function faultOfTime(
  time: string,
  { digits }: TimePlace,
  tolerance: number,
  now: number,
): string | undefined {
  if (time === '') return 'its timestamp is missing'
  const at = digits === undefined || time.length === digits ? timeOf(time) : undefined
  if (at === undefined) return 'its timestamp is neither a Unix time nor a date'
  const age = now - at
  if (Math.abs(age) <= tolerance) return undefined
  const direction = age > 0 ? 'old' : 'ahead'
  return `its timestamp is ${Math.round(Math.abs(age) / 1000)} s ${direction}, more than the allowed ${tolerance / 1000} s: compare the clocks`
}

function textOf(headers: IncomingHttpHeaders, name: string): string {
  const value = headers[name]
  return typeof value === 'string' ? value : ''
}

/** A date of RFC 3339, with up to nine fractional digits. */
const DATE = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d(:\d\d(\.\d{1,9})?)?([Zz]|[+-]\d\d:\d\d)$/
const HTTP_DATE = /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/

/**
 * Larger Unix times are in milliseconds. In seconds, this is in the year 5138; in milliseconds, in
 * 1973.
 */
const MAX_SECONDS = 99_999_999_999

/** Parses a Unix time in seconds or milliseconds, or a date, to ms. Undefined for anything else. */
function timeOf(time: string): number | undefined {
  if (DATE.test(time) || HTTP_DATE.test(time)) return Date.parse(time) || undefined
  if (!/^\d{9,14}$/.test(time)) return undefined
  const value = Number(time)
  return value > MAX_SECONDS ? value : value * 1000
}
