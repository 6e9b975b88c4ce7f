import { createHmac, createSecretKey, hash, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { standardKey, type Verify } from './config.ts'
import { type Claim, type Scheme, type Signing, schemeOf } from './signature-schemes.ts'

/** Checks the proof of one delivery. Each method returns why it is refused, or undefined where it is good. */
export type Verifier = {
  /** What can be told before the body is read: credentials, and that a signature is there at all. */
  head(headers: IncomingHttpHeaders): string | undefined
  /** What needs the body, exactly as it came. */
  body(headers: IncomingHttpHeaders, raw: Buffer): string | undefined
  /** For `WWW-Authenticate`, where the scheme has one. */
  challenge?: string
  /** The headers that carry the proof, in lower case; they are kept off the message. */
  carriers: string[]
}

/** Makes the verifier of a gateway. All comparisons take constant time, whichever secret matches. */
export function createVerifier(options: Verify, now: () => number): Verifier {
  switch (options.scheme) {
    case 'none':
      return { head: accept, body: accept, carriers: [] }
    case 'bearer':
      return bearer(options.secret)
    case 'basic':
      return basic(options.user, options.secret)
    default:
      return signed(schemeOf(options), keysOf(options), now)
  }
}

function signed(scheme: Scheme, keys: KeyObject[], now: () => number): Verifier {
  const { algorithm, carriers, tolerance } = scheme
  return {
    carriers,
    head(headers) {
      return carriers.every((name) => headers[name] === undefined)
        ? `the header ${carriers[0]} is missing`
        : undefined
    },
    body(headers, raw) {
      const claim = scheme.claim(headers)
      if (typeof claim === 'string') return claim
      if (claim.signatures.length === 0) return 'the signature is malformed'
      if (claim.at !== undefined && Math.abs(now() - claim.at) > tolerance) {
        return `its time is more than ${tolerance / 1000} s away from now`
      }
      return matches(algorithm, keys, claim, raw) ? undefined : 'the signature does not match'
    },
  }
}

function matches(algorithm: string, keys: KeyObject[], claim: Claim, raw: Buffer): boolean {
  let found = false
  for (const key of keys) {
    const hmac = createHmac(algorithm, key)
    if (claim.before !== '') hmac.update(claim.before)
    hmac.update(raw)
    if (claim.after !== '') hmac.update(claim.after)
    const expected = hmac.digest()
    for (const signature of claim.signatures) {
      if (signature.length === expected.length && timingSafeEqual(signature, expected)) found = true
    }
  }
  return found
}

function keysOf(options: Signing): KeyObject[] {
  return options.secret.map((secret) =>
    createSecretKey(options.scheme === 'standard-webhooks' ? standardKey(secret) : Buffer.from(secret)),
  )
}

function bearer(secrets: string[]): Verifier {
  const known = secrets.map(digest)
  return {
    carriers: ['authorization'],
    challenge: 'Bearer',
    head(headers) {
      const [, token] = /^bearer +(\S+) *$/i.exec(headers.authorization ?? '') ?? []
      if (token === undefined) return 'a bearer token is missing'
      return known.some(same(digest(token))) ? undefined : 'the bearer token is not known'
    },
    body: accept,
  }
}

/** RFC 7617, with UTF-8. */
function basic(user: string, secrets: string[]): Verifier {
  const known = secrets.map((secret) => digest(`${user}:${secret}`))
  return {
    carriers: ['authorization'],
    challenge: 'Basic realm="trivium", charset="UTF-8"',
    head(headers) {
      const [, encoded] = /^basic +([\w+/=-]+) *$/i.exec(headers.authorization ?? '') ?? []
      if (encoded === undefined) return 'user and password are missing'
      const given = digest(Buffer.from(encoded, 'base64').toString())
      return known.some(same(given)) ? undefined : 'user or password are wrong'
    },
    body: accept,
  }
}

function accept(): undefined {
  return undefined
}

function digest(value: string): Buffer {
  return hash('sha256', value, 'buffer')
}

function same(given: Buffer): (known: Buffer) => boolean {
  return (known) => timingSafeEqual(given, known)
}
