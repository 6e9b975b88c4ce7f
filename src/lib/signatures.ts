import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** A scheme that signs the body, its secrets (any of them is good) and how far the signed time may be from now (ms). */
export type Signing =
  | { scheme: 'github'; secret: string[] }
  | { scheme: 'stripe' | 'slack' | 'standard-webhooks'; secret: string[]; tolerance: number }
  | CustomSigning

type CustomSigning = {
  scheme: 'hmac'
  secret: string[]
  tolerance: number
  header: string
  algorithm: 'sha256' | 'sha1' | 'sha512'
  encoding: 'hex' | 'base64' | 'base64url'
  prefix: string
  'timestamp-header'?: string | undefined
  template?: string | undefined
}

/** Checks signatures. Each method returns why a delivery is refused, or undefined where it is good. */
export type SignatureCheck = {
  /** What can be told before the body is read: that a signature is there at all. */
  head(headers: IncomingHttpHeaders): string | undefined
  /** The signature over the body, exactly as it came. */
  body(headers: IncomingHttpHeaders, raw: Buffer): string | undefined
  /** The headers that carry the signature, in lower case. */
  carriers: string[]
}

/** Makes the check of a scheme. Comparisons take constant time, whichever secret matches. */
export function createSignatureCheck(options: Signing, now: () => number): SignatureCheck {
  const { carriers, tolerance, ...scheme } = schemeOf(options)
  const keys = keysOf(options)
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
      return matches(scheme.algorithm, keys, claim, raw) ? undefined : 'the signature does not match'
    },
  }
}

/** What a delivery claims: the signatures, the time it was signed, and the bytes around the body that were signed. */
type Claim = { signatures: Buffer[]; at?: number; before: string; after: string }

/** How one scheme reads its claim from the headers; a string says what is missing. */
type Scheme = {
  algorithm: string
  carriers: string[]
  tolerance: number
  claim(headers: IncomingHttpHeaders): Claim | string
}

/** The scheme that these options ask for. */
function schemeOf(options: Signing): Scheme {
  switch (options.scheme) {
    case 'github':
      return github
    case 'stripe':
      return { ...stripe, tolerance: options.tolerance }
    case 'slack':
      return { ...slack, tolerance: options.tolerance }
    case 'standard-webhooks':
      return { ...standard, tolerance: options.tolerance }
    case 'hmac':
      return custom(options)
  }
}

/** https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries */
const github: Scheme = {
  algorithm: 'sha256',
  carriers: ['x-hub-signature-256'],
  tolerance: Number.POSITIVE_INFINITY,
  claim(headers) {
    const signature = text(headers, 'x-hub-signature-256')
    return { signatures: decode(after(signature, 'sha256='), 'hex', 32), before: '', after: '' }
  },
}

/** https://docs.stripe.com/webhooks#verify-manually */
const stripe: Omit<Scheme, 'tolerance'> = {
  algorithm: 'sha256',
  carriers: ['stripe-signature'],
  claim(headers) {
    const fields = text(headers, 'stripe-signature').split(',', MAX_SIGNATURES)
    const time = fields.find((field) => field.startsWith('t='))?.slice(2) ?? ''
    const signatures = fields.flatMap((field) => decode(after(field, 'v1='), 'hex', 32))
    return withTime(time, { signatures, before: `${time}.`, after: '' })
  },
}

/** https://docs.slack.dev/authentication/verifying-requests-from-slack */
const slack: Omit<Scheme, 'tolerance'> = {
  algorithm: 'sha256',
  carriers: ['x-slack-signature', 'x-slack-request-timestamp'],
  claim(headers) {
    const time = text(headers, 'x-slack-request-timestamp')
    const signatures = decode(after(text(headers, 'x-slack-signature'), 'v0='), 'hex', 32)
    return withTime(time, { signatures, before: `v0:${time}:`, after: '' })
  },
}

/** https://github.com/standard-webhooks/standard-webhooks, with the older `svix-` names of the same headers. */
const standard: Omit<Scheme, 'tolerance'> = {
  algorithm: 'sha256',
  carriers: ['webhook-signature', 'svix-signature'],
  claim(headers) {
    const family = headers['webhook-signature'] === undefined ? 'svix' : 'webhook'
    const id = text(headers, `${family}-id`)
    const time = text(headers, `${family}-timestamp`)
    if (id === '') return `the header ${family}-id is missing`
    const signatures = text(headers, `${family}-signature`)
      .split(' ', MAX_SIGNATURES)
      .flatMap((field) => decode(after(field, 'v1,'), 'base64', 32))
    return withTime(time, { signatures, before: `${id}.${time}.`, after: '' })
  },
}

const DIGEST_BYTES = { sha1: 20, sha256: 32, sha512: 64 }

function custom(options: CustomSigning): Scheme {
  const timeHeader = options['timestamp-header']
  const template = options.template ?? '{body}'
  const [before = '', after_ = ''] = template.split('{body}')
  return {
    algorithm: options.algorithm,
    carriers: [options.header],
    tolerance: timeHeader === undefined ? Number.POSITIVE_INFINITY : options.tolerance,
    claim(headers) {
      const time = timeHeader === undefined ? '' : text(headers, timeHeader)
      const signature = after(text(headers, options.header), options.prefix)
      const claim = {
        signatures: decode(signature, options.encoding, DIGEST_BYTES[options.algorithm]),
        before: fill(before, headers, time),
        after: fill(after_, headers, time),
      }
      return timeHeader === undefined ? claim : withTime(time, claim)
    },
  }
}

function fill(template: string, headers: IncomingHttpHeaders, time: string): string {
  if (!template.includes('{')) return template
  return template.replaceAll(/\{(timestamp|header\.[\w-]+)\}/g, (_, name: string) =>
    name === 'timestamp' ? time : text(headers, name.slice('header.'.length).toLowerCase()),
  )
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

/** The key in a Standard Webhooks secret: base64 after `whsec_`. Empty where the secret is not well-formed. */
export function standardKey(text: string): Buffer {
  const encoded = text.replace(/^whsec_/, '')
  return /^[\w+/-]+={0,2}$/.test(encoded) ? Buffer.from(encoded, 'base64') : Buffer.alloc(0)
}

/** A sender may sign with several keys while it rotates them; more than this is no rotation. */
const MAX_SIGNATURES = 16

function text(headers: IncomingHttpHeaders, name: string): string {
  const value = headers[name]
  return typeof value === 'string' ? value : ''
}

function after(value: string, prefix: string): string {
  return value.startsWith(prefix) ? value.slice(prefix.length) : ''
}

/** The signature as bytes, or nothing where it has not exactly the right form. */
function decode(value: string, encoding: 'hex' | 'base64' | 'base64url', bytes: number): Buffer[] {
  if (encoding === 'hex' ? value.length !== bytes * 2 : value.length > bytes * 2) return []
  const decoded = Buffer.from(value, encoding)
  return decoded.length === bytes ? [decoded] : []
}

function withTime(time: string, claim: Claim): Claim | string {
  if (!/^\d{9,14}$/.test(time)) return 'its time is missing or malformed'
  const value = Number(time)
  return { ...claim, at: value > 99_999_999_999 ? value : value * 1000 }
}
