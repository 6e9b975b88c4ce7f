import { KeyObject, timingSafeEqual, verify } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { createHmac } from './hmac.ts'

/** How a provider signs the body and what is around it: by HMAC, or by a key of which we have the public one. Headers in lower case. */
export type Scheme = {
  /** The header that carries the signature, after `prefix`; with `list`, several in it, split by that. */
  header: string
  prefix?: string
  list?: string
  algorithm?: Algorithm
  encoding?: 'hex' | 'base64' | 'base64url'
  /** The header with the signed time, or its name and `=` in the list of `header`. */
  time?: string | undefined
  /** What is signed: `{body}`, with `{timestamp}` and `{header.NAME}` filled in. */
  template?: string | undefined
}

type Algorithm = Parameters<typeof createHmac>[1]

/** https://docs.slack.dev/authentication/verifying-requests-from-slack */
export const SLACK: Scheme = {
  header: 'x-slack-signature',
  prefix: 'v0=',
  time: 'x-slack-request-timestamp',
  template: 'v0:{timestamp}:{body}',
}

/**
 * Makes the check of schemes of which a delivery has one: the first whose header it carries. Any of the `keys` is good;
 * comparisons take constant time, whichever matches. A signed time may be `tolerance` ms from now. The check tells why a
 * delivery is refused, by its body exactly as it came; undefined where its proof is good.
 */
export function createSignatureCheck(
  schemes: readonly Scheme[],
  keys: readonly (Buffer | KeyObject)[],
  tolerance: number,
  now: () => number,
): (headers: IncomingHttpHeaders, raw: Buffer) => string | undefined {
  const all = schemes.map((scheme) => compile(scheme, keys))
  return (headers, raw) => {
    const scheme = all.find(({ header }) => headers[header] !== undefined)
    if (!scheme) return `the header ${all.map(({ header }) => header).join(' or ')} is missing`
    const { parts, signed, proofs } = scheme
    const { signatures, time } = claimIn(scheme, headers)
    if (signatures.length === 0) return 'the signature is malformed'
    if (scheme.time !== undefined) {
      const at = timeOf(time)
      if (at === undefined) return 'its time is missing or malformed'
      if (Math.abs(now() - at) > tolerance) return `its time is more than ${tolerance / 1000} s away from now`
    }
    const empty = signed.find((name) => text(headers, name) === '')
    if (empty !== undefined) return `the header ${empty} is missing`
    const whole = parts.map((part) => (part === BODY ? raw : Buffer.from(fill(part, headers, time))))
    let found = false
    for (const isAmong of proofs) if (isAmong(signatures, whole)) found = true
    return found ? undefined : 'the signature does not match'
  }
}

/** The headers that a template signs besides the body, in lower case. */
export function signedHeaders(template: string): string[] {
  return Array.from(template.matchAll(HEADER), ([, name = '']) => name.toLowerCase())
}

/** Whether a key's signature of something is among those given, of which strangers may send thousands. */
type IsAmong = (signatures: readonly string[], signed: readonly Buffer[]) => boolean

function byPublicKey(key: KeyObject, algorithm: string, encoding: BufferEncoding): IsAmong {
  // Ed25519 has its hash built in.
  const hash = key.asymmetricKeyType === 'ed25519' ? null : algorithm
  return (signatures, signed) => {
    const whole = Buffer.concat(signed)
    // No sender has that many keys, and each costs up to 0.2 ms.
    return signatures.slice(0, 10).some((given) => verify(hash, whole, key, Buffer.from(given, encoding)))
  }
}

function byHmac(key: Buffer, algorithm: Algorithm, encoding: BufferEncoding): IsAmong {
  const hmac = createHmac(key, algorithm)
  const given = Buffer.alloc(hmac([]).length)
  return (signatures, signed) => {
    const expected = hmac(signed)
    return signatures.some(
      (signature) =>
        Buffer.byteLength(signature, encoding) === given.length &&
        given.write(signature, encoding) === given.length &&
        timingSafeEqual(given, expected),
    )
  }
}

/** A scheme with the parts of its template, the headers that those name, and what checks a signature by each key. */
function compile(scheme: Scheme, keys: readonly (Buffer | KeyObject)[]) {
  const { template = BODY, algorithm = 'sha256', encoding = 'hex' } = scheme
  const parts = template.split(/(\{body\})/).filter((part) => part !== '')
  const proofs = keys.map((key) =>
    key instanceof KeyObject ? byPublicKey(key, algorithm, encoding) : byHmac(key, algorithm, encoding),
  )
  return { ...scheme, parts, signed: signedHeaders(template), proofs }
}

const BODY = '{body}'
const HEADER = /\{header\.([\w-]+)\}/g

/** What a delivery claims: its signatures, and when it was signed. */
function claimIn(scheme: Scheme, headers: IncomingHttpHeaders) {
  const { header, prefix = '', list, time = '' } = scheme
  const given = text(headers, header)
  const fields = list === undefined ? [given] : given.split(list)
  const field = (start: string) => fields.find((each) => each.startsWith(start))?.slice(start.length) ?? ''
  const signatures = fields.flatMap((each) => (each.startsWith(prefix) ? each.slice(prefix.length) : []))
  return { signatures, time: time.endsWith('=') ? field(time) : text(headers, time) }
}

function text(headers: IncomingHttpHeaders, name: string): string {
  const value = headers[name]
  return typeof value === 'string' ? value : ''
}

/** Unix time in seconds or milliseconds, or an ISO time, in ms. */
function timeOf(time: string): number | undefined {
  if (/^\d{4}-\d\d-\d\dT[\d:.]{5,15}Z$/.test(time)) return Date.parse(time) || undefined
  if (!/^\d{9,14}$/.test(time)) return undefined
  const value = Number(time)
  return value > 99_999_999_999 ? value : value * 1000
}

function fill(template: string, headers: IncomingHttpHeaders, time: string): string {
  return template
    .replaceAll('{timestamp}', () => time)
    .replaceAll(HEADER, (_, name: string) => text(headers, name.toLowerCase()))
}
