import {
  constants,
  createHmac,
  hash,
  KeyObject,
  timingSafeEqual,
  verify as verifySignature,
} from 'node:crypto'
import { z } from 'zod'
import { duration, MINUTE } from '../../src/core/units.ts'
import { attempt } from '../../src/lib/attempt.ts'
import { anyPublicKey, keyOfSecret, SECRET_ENCODINGS } from '../keys.ts'
import { secretsOf } from '../options.ts'
import { type MessageSignature, signaturesIn, signedText } from './message-signature.ts'
import { url } from './signature-options.ts'
import type { Delivery, Verifier, VerifierDeps } from './verifier-types.ts'

/** `verify: { scheme: http-signature }`: HTTP Message Signatures (RFC 9421). */
export const httpSignature = z
  .strictObject({
    scheme: z.literal('http-signature'),
    secret: secretsOf('the secret that signs the requests (hmac-sha256)')
      .exactOptional()
      .describe(
        'The shared secret (`hmac-sha256`). During a rotation a list; each of its values is accepted.',
      ),
    'secret-encoding': z.enum(SECRET_ENCODINGS).default('text').describe('Encoding of `secret`.'),
    'public-key': z
      .union([z.string(), z.array(z.string()).min(1)])
      .transform((value) => [value].flat())
      .exactOptional()
      .describe('The public key of the sender, or a list: PEM, DER in base64, or the 32 bytes of Ed25519.'),
    signs: z
      .array(z.string().regex(/^(@[a-z-]+|[\w-]+)$/, 'expected the name of a header, or such as @method'))
      .default([])
      .describe('What a signature must cover besides the body, such as `@method` or `@target-uri`.'),
    tag: z.string().min(1).exactOptional().describe('The `tag` that a signature must have.'),
    url,
    tolerance: duration
      .default(5 * MINUTE)
      .describe('Accepted difference between the signed time and now (replay window).'),
  })
  .superRefine((options, context) => {
    const report = (message: string) => context.addIssue({ code: 'custom', message, input: options })
    const { secret, 'public-key': keys } = options
    if ((secret === undefined) === (keys === undefined)) report('expected either secret or public-key')
    const isNoSecret = (one: string) =>
      attempt(() => keyOfSecret(one, options['secret-encoding'])) === undefined
    if (secret?.some(isNoSecret)) report(`expected a secret in ${options['secret-encoding']}`)
    if (keys?.some((one) => attempt(() => anyPublicKey(one)) === undefined)) report('expected a public key')
  })

export type HttpSignatureOptions = z.output<typeof httpSignature>

/**
 * Makes the verifier. One of the signatures must be recent, and cover the body by its
 * `Content-Digest`.
 */
export function createHttpSignatureVerifier(options: HttpSignatureOptions, deps: VerifierDeps): Verifier {
  const { secret = [], 'public-key': texts = [], signs, tag, tolerance } = options
  const keys = [
    ...secret.map((text) => keyOfSecret(text, options['secret-encoding'])),
    ...texts.map((text) => anyPublicKey(text)),
  ]
  const required = signs.map((name) => name.toLowerCase())

  /** Why a signature is refused. */
  function faultOf(signature: MessageSignature, { method, headers, url: path, raw }: Delivery) {
    const names = signature.components.map(({ name }) => name)
    const uncovered = [...(raw.length > 0 ? ['content-digest'] : []), ...required].find(
      (name) => !names.includes(name),
    )
    if (uncovered) return `its signature does not cover ${uncovered}`
    const timeFault = faultOfTime(signature, tolerance, deps.now())
    if (timeFault !== undefined) return timeFault
    const base = options.url ?? deps.address?.()
    const query = path.indexOf('?')
    const url = base === undefined ? undefined : base + (query < 0 ? '' : path.slice(query))
    const signed = signedText(signature, { method, headers, path, url })
    if ('missing' in signed) {
      const isAddress = /^@(authority|scheme|target-uri)$/.test(signed.missing) && url === undefined
      const help = isAddress ? ': set `url`, or `public-url`' : ''
      return `its signature covers ${signed.missing}, which this request does not have${help}`
    }
    const text = Buffer.from(signed.text)
    if (!keys.some((key) => isSigned(text, key, signature)))
      return 'its signature does not match: the key differs, or the request was changed on the way'
    if (names.includes('content-digest') && !isDigestOf(raw, String(headers['content-digest'] ?? '')))
      return 'its Content-Digest belongs to another body, or has neither sha-256 nor sha-512'
    return undefined
  }

  return {
    check(delivery) {
      const all = signaturesIn(delivery.headers)
      if (all.length === 0) return 'it has no signature: the headers Signature-Input and Signature'
      const ours = all.filter((one) => tag === undefined || one.tag === tag)
      if (ours.length === 0) return `none of its signatures has the tag ${tag}`
      const reasons = ours.map((one) => faultOf(one, delivery))
      return reasons.includes(undefined) ? undefined : reasons[0]
    },
  }
}

function faultOfTime({ created, expires }: MessageSignature, tolerance: number, now: number) {
  if (created === undefined) return 'its signature has no time (created)'
  const age = Math.round((now - created * 1000) / 1000)
  // Negated, so that a time that is not a number is refused too.
  if (!(Math.abs(age * 1000) <= tolerance)) return `its signature is ${age} s old: compare the clocks`
  if (expires !== undefined && !(now <= expires * 1000 + tolerance)) return 'its signature has expired'
  return undefined
}

/**
 * Whether a signature matches by an algorithm that the key can have (RFC 9421, 3.3). If the
 * signature names an algorithm, only this one counts.
 */
function isSigned(text: Buffer, key: Buffer | KeyObject, { value, algorithm }: MessageSignature): boolean {
  const isNamed = (name: string) => algorithm === undefined || algorithm === name
  if (!(key instanceof KeyObject)) {
    const expected = createHmac('sha256', key).update(text).digest()
    return isNamed('hmac-sha256') && value.length === expected.length && timingSafeEqual(value, expected)
  }
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key
  const isValid = (name: string, digest: string | null, more: object) =>
    isNamed(name) && attempt(() => verifySignature(digest, text, { key, ...more }, value)) === true
  if (type === 'ed25519') return isValid('ed25519', null, {})
  if (type === 'ec') {
    const dsaEncoding = 'ieee-p1363'
    return details?.namedCurve === 'secp384r1'
      ? isValid('ecdsa-p384-sha384', 'sha384', { dsaEncoding })
      : isValid('ecdsa-p256-sha256', 'sha256', { dsaEncoding })
  }
  const pss = { padding: constants.RSA_PKCS1_PSS_PADDING }
  return (
    isValid('rsa-pss-sha512', 'sha512', pss) || (type === 'rsa' && isValid('rsa-v1_5-sha256', 'sha256', {}))
  )
}

/** Whether a header (RFC 9530) has SHA-256 or SHA-512 digests, and all of these match the body. */
function isDigestOf(raw: Buffer, header: string): boolean {
  const found = Array.from(header.matchAll(/(?<=^|,) *sha-(256|512)=:([\w+/=]*):/g))
  return (
    found.length > 0 &&
    found.every(([, bits, encoded = '']) => {
      const expected = hash(`sha${bits}`, raw, 'buffer')
      const given = Buffer.from(encoded, 'base64')
      return given.length === expected.length && timingSafeEqual(given, expected)
    })
  )
}
