import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** How a provider signs what it delivers, by HMAC over the body and what stands around it. Headers in lower case. */
export type Scheme = {
  /** The header that carries the signature, after `prefix`; with `list`, several in it, split by that. */
  header: string
  prefix?: string
  list?: string
  algorithm?: 'sha256' | 'sha1' | 'sha512'
  encoding?: 'hex' | 'base64' | 'base64url'
  /** The header with the signed time, or its name and `=` in the list of `header`. */
  time?: string | undefined
  /** What is signed: `{body}`, with `{timestamp}` and `{header.NAME}` filled in. */
  template?: string | undefined
}

/** The schemes of providers. Of several, a delivery has the first whose header it carries. */
export const SCHEMES = {
  /** https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks */
  bitbucket: [{ header: 'x-hub-signature', prefix: 'sha256=' }],
  /** https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries, also Meta's, Gitea's and Forgejo's */
  github: [{ header: 'x-hub-signature-256', prefix: 'sha256=' }],
  /** https://docs.sentry.io/organization/integrations/integration-platform/webhooks */
  sentry: [{ header: 'sentry-hook-signature' }],
  /** https://shopify.dev/docs/apps/build/webhooks/subscribe/https */
  shopify: [{ header: 'x-shopify-hmac-sha256', encoding: 'base64' }],
  /** https://docs.slack.dev/authentication/verifying-requests-from-slack */
  slack: [
    {
      header: 'x-slack-signature',
      prefix: 'v0=',
      time: 'x-slack-request-timestamp',
      template: 'v0:{timestamp}:{body}',
    },
  ],
  /** https://github.com/standard-webhooks/standard-webhooks, with the older `svix-` names of the same headers */
  'standard-webhooks': [standard('webhook'), standard('svix')],
  /** https://docs.stripe.com/webhooks#verify-manually */
  stripe: [
    { header: 'stripe-signature', prefix: 'v1=', list: ',', time: 't=', template: '{timestamp}.{body}' },
  ],
  /** https://www.typeform.com/developers/webhooks/secure-your-webhooks */
  typeform: [{ header: 'typeform-signature', prefix: 'sha256=', encoding: 'base64' }],
  /** https://developer.zendesk.com/documentation/webhooks/verifying */
  zendesk: [
    {
      header: 'x-zendesk-webhook-signature',
      encoding: 'base64',
      time: 'x-zendesk-webhook-signature-timestamp',
      template: '{timestamp}{body}',
    },
  ],
  /** https://developers.zoom.us/docs/api/webhooks */
  zoom: [
    {
      header: 'x-zm-signature',
      prefix: 'v0=',
      time: 'x-zm-request-timestamp',
      template: 'v0:{timestamp}:{body}',
    },
  ],
} satisfies Record<string, [Scheme, ...Scheme[]]>

function standard(family: string): Scheme {
  return {
    header: `${family}-signature`,
    prefix: 'v1,',
    list: ' ',
    encoding: 'base64',
    time: `${family}-timestamp`,
    template: `{header.${family}-id}.{timestamp}.{body}`,
  }
}

/** Checks signatures. Each method returns why a delivery is refused, or undefined where it is good. */
export type SignatureCheck = {
  /** What can be told before the body is read: that a signature is there at all. */
  head(headers: IncomingHttpHeaders): string | undefined
  /** The signature over the body, exactly as it came. */
  body(headers: IncomingHttpHeaders, raw: Buffer): string | undefined
  /** The headers that carry a secret or a signature, in lower case. */
  carriers: string[]
  /** Besides the body, the headers that the signature of a delivery covers. */
  signed(headers: IncomingHttpHeaders): string[]
}

/**
 * Makes the check of schemes of which a delivery has one. Any of the `keys` is good; comparisons take constant time,
 * whichever matches. A signed time may be `tolerance` ms from now.
 */
export function createSignatureCheck(
  [first, ...others]: [Scheme, ...Scheme[]],
  keys: readonly Buffer[],
  tolerance: number,
  now: () => number,
): SignatureCheck {
  const secrets = keys.map((key) => createSecretKey(key))
  const main = compile(first)
  const known = [main, ...others.map(compile)]
  const schemeOf = (headers: IncomingHttpHeaders) =>
    known.find(({ header }) => headers[header] !== undefined) ?? main

  return {
    carriers: known.map(({ header }) => header),
    signed: (headers) => schemeOf(headers).signed,
    head(headers) {
      const { header } = schemeOf(headers)
      return headers[header] === undefined ? `the header ${header} is missing` : undefined
    },
    body(headers, raw) {
      const scheme = schemeOf(headers)
      const { algorithm = 'sha256', parts, signed } = scheme
      const { signatures, time } = claimIn(scheme, headers)
      if (signatures.length === 0) return 'the signature is malformed'
      if (scheme.time !== undefined) {
        const at = timeOf(time)
        if (at === undefined) return 'its time is missing or malformed'
        if (Math.abs(now() - at) > tolerance)
          return `its time is more than ${tolerance / 1000} s away from now`
      }
      const empty = signed.find((name) => text(headers, name) === '')
      if (empty !== undefined) return `the header ${empty} is missing`
      let found = false
      for (const secret of secrets) {
        const hmac = createHmac(algorithm, secret)
        for (const part of parts) hmac.update(part === BODY ? raw : fill(part, headers, time))
        // As a buffer of its own it would cost the garbage collector more than the text does.
        const expected = Buffer.from(hmac.digest('hex'), 'hex')
        for (const signature of signatures) {
          if (signature.length === expected.length && timingSafeEqual(signature, expected)) found = true
        }
      }
      return found ? undefined : 'the signature does not match'
    },
  }
}

/** A scheme with the parts of its template, and the headers that those name. */
function compile(scheme: Scheme) {
  const { template = BODY } = scheme
  const signed = Array.from(template.matchAll(HEADER), ([, name = '']) => name.toLowerCase())
  return { ...scheme, parts: template.split(/(\{body\})/).filter((part) => part !== ''), signed }
}

const BODY = '{body}'
const HEADER = /\{header\.([\w-]+)\}/g

/** A sender may sign with several keys while it rotates them; more than this is no rotation. */
const MAX_SIGNATURES = 16

/** What a delivery claims: its signatures, and when it was signed. */
function claimIn(scheme: Scheme, headers: IncomingHttpHeaders) {
  const { header, prefix = '', list, encoding = 'hex', time = '' } = scheme
  const given = text(headers, header)
  const fields = list === undefined ? [given] : given.split(list, MAX_SIGNATURES)
  const field = (start: string) => fields.find((each) => each.startsWith(start))?.slice(start.length) ?? ''
  const signatures = fields
    .filter((each) => each.startsWith(prefix))
    .map((each) => Buffer.from(each.slice(prefix.length), encoding))
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
