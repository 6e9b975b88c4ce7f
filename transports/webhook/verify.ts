import { createHmac, createSecretKey, hash, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Verify } from './config.ts'

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

/** What a delivery claims: the signatures, the time it was signed, and the bytes around the body that were signed. */
type Claim = { signatures: Buffer[]; at?: number; before: string; after: string }

/** How one scheme reads its claim from the headers; a string says what is missing. */
type Scheme = {
  algorithm: string
  carriers: string[]
  tolerance: number
  claim(headers: IncomingHttpHeaders): Claim | string
}

function signed(scheme: Scheme, keys: KeyObject[], now: () => number): Verifier {
  // One delivery's claim is read twice, before and after its body; parsing it is cheaper than keeping it.
  const check = (headers: IncomingHttpHeaders): Claim | string => {
    const claim = scheme.claim(headers)
    if (typeof claim === 'string') return claim
    if (claim.signatures.length === 0) return 'the signature is malformed'
    if (claim.at === undefined || Math.abs(now() - claim.at) <= scheme.tolerance) return claim
    return `its time is more than ${scheme.tolerance / 1000} s away from now`
  }
  return {
    carriers: scheme.carriers,
    head(headers) {
      return scheme.carriers.every((name) => headers[name] === undefined)
        ? `the header ${scheme.carriers[0]} is missing`
        : undefined
    },
    body(headers, raw) {
      const claim = check(headers)
      if (typeof claim === 'string') return claim
      return matches(scheme.algorithm, keys, claim, raw) ? undefined : 'the signature does not match'
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

type Signing = Exclude<Verify, { scheme: 'none' | 'bearer' | 'basic' }>

function keysOf(options: Signing): KeyObject[] {
  return options.secret.map((secret) =>
    createSecretKey(
      options.scheme === 'standard-webhooks'
        ? Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
        : Buffer.from(secret),
    ),
  )
}

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

function custom(options: Extract<Verify, { scheme: 'hmac' }>): Scheme {
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

function bearer(secrets: string[]): Verifier {
  const known = secrets.map(digest)
  return {
    carriers: ['authorization'],
    challenge: 'Bearer',
    head(headers) {
      const [, token] = /^bearer +(\S+) *$/i.exec(text(headers, 'authorization')) ?? []
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
      const [, encoded] = /^basic +([\w+/=-]+) *$/i.exec(text(headers, 'authorization')) ?? []
      if (encoded === undefined) return 'user and password are missing'
      const given = digest(Buffer.from(encoded, 'base64').toString())
      return known.some(same(given)) ? undefined : 'user or password are wrong'
    },
    body: accept,
  }
}

/** A sender may sign with several keys while it rotates them; more than this is no rotation. */
const MAX_SIGNATURES = 16

function accept(): undefined {
  return undefined
}

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

function digest(value: string): Buffer {
  return hash('sha256', value, 'buffer')
}

function same(given: Buffer): (known: Buffer) => boolean {
  return (known) => timingSafeEqual(given, known)
}
