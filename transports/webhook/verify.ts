import { createSecretCheck } from '../../src/lib/secrets.ts'
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
      return authorization('Bearer', /^bearer +(\S+) *$/i, options.secret)
    case 'basic': {
      // RFC 7617, with UTF-8.
      const known = options.secret.map((secret) => `${options.user}:${secret}`)
      const read = (given: string) => Buffer.from(given, 'base64').toString()
      return authorization('Basic realm="trivium", charset="UTF-8"', /^basic +([\w+/=-]+) *$/i, known, read)
    }
    default:
      return createSignatureCheck(options, now)
  }
}

/** The header `Authorization` carries one of the known credentials. */
function authorization(
  challenge: string,
  pattern: RegExp,
  known: string[],
  read = (given: string) => given,
): Verifier {
  const indexOf = createSecretCheck(known)
  return {
    carriers: ['authorization'],
    challenge,
    head({ authorization = '' }) {
      const [, given] = pattern.exec(authorization) ?? []
      if (given === undefined) return 'its credentials are missing'
      return indexOf(read(given)) < 0 ? 'its credentials are not known' : undefined
    },
    body: accept,
  }
}

function accept(): undefined {
  return undefined
}
