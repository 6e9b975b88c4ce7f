import { hash, timingSafeEqual } from 'node:crypto'
import { createSignatureCheck, type SignatureCheck } from '../../src/lib/signatures.ts'
import type { Verify } from './config.ts'

/** Checks the proof of one delivery. Each method returns why it is refused, or undefined where it is good. */
export type Verifier = SignatureCheck & {
  /** For `WWW-Authenticate`, where the scheme has one. */
  challenge?: string
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
      return createSignatureCheck(options, now)
  }
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
