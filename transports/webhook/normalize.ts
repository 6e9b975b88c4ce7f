import { hash } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { type Json, type JsonObject, pathGet } from '../../src/core/json.ts'
import type { NewMessage, Sender } from '../../src/core/message.ts'
import type { WebhookOptions } from './config.ts'
import type { DecodedBody } from './decode-body.ts'
import type { Verifier } from './verify.ts'

/**
 * Makes the message of one authentic delivery. `data` holds `event`, `headers` (none that may be secret),
 * `format`, `body` and, where the address had one, `query`.
 */
export function createNormalizer(
  gateway: string,
  options: WebhookOptions,
  { carriers, signed }: Pick<Verifier, 'carriers' | 'signed'>,
) {
  const useful = createHeaderFilter(carriers)
  const respond = options.respond === 'result' ? { respond: 'result' } : undefined
  const verified = options.verify.scheme === 'none' ? undefined : { verified: true }
  return (request: IncomingMessage, decoded: DecodedBody): NewMessage => {
    const headers = request.headers
    const body = 'body' in decoded ? decoded.body : undefined
    const data: JsonObject = { headers: useful(headers), format: decoded.format, ...respond }
    if (body !== undefined) data.body = body
    addQuery(data, request.url)
    const lookUp = (pointer: string | undefined) => pointer && resolve(pointer, headers, data)
    const event = lookUp(options.event) || eventOf(headers, body)
    if (event) data.event = event
    const key = lookUp(options.key) || (options.key ? undefined : keyOf(headers, body, signed(headers)))
    const conversation = lookUp(options.conversation)
    const trace = traceOf(headers)
    return {
      gateway,
      transport: 'webhook',
      from: { ...senderOf(lookUp(options.from), request, body), ...verified },
      text: 'text' in decoded ? decoded.text : '',
      data,
      ...(key ? { key: bounded(key) } : {}),
      ...(conversation ? { conversation: `${gateway}:${bounded(conversation)}` } : {}),
      ...(trace ? { trace } : {}),
    }
  }
}

/** Names of headers and of query parameters. */
const SECRET =
  /auth|cookie|token|secret|signature|passw|pwd|credential|session|private|assertion|jwt|hmac|^(code|sig|pass|pin|otp)$|(?<!(event|idempotency|issue|project|object|routing|partition)[-_]?)key$/
/** Of the connection, not of the delivery. */
const NOISE =
  'host connection content-length transfer-encoding accept accept-encoding keep-alive te upgrade expect'.split(
    ' ',
  )

/** Copies the headers that are no secret. What a name means is remembered, for a bounded number of names. */
function createHeaderFilter(carriers: readonly string[]) {
  const verdicts = new Map<string, boolean>()
  return (headers: IncomingHttpHeaders) => {
    const kept: JsonObject = {}
    for (const name in headers) {
      const value = headers[name]
      const isUseful =
        verdicts.get(name) ?? (![...NOISE, ...carriers, '__proto__'].includes(name) && !SECRET.test(name))
      if (verdicts.size < 500) verdicts.set(name, isUseful)
      if (isUseful && value !== undefined) kept[name] = value
    }
    return kept
  }
}

function addQuery(data: JsonObject, url = '') {
  const start = url.indexOf('?')
  if (start < 0) return
  const pairs = [...new URLSearchParams(url.slice(start))].filter(
    ([name]) => !SECRET.test(name.toLowerCase()),
  )
  if (pairs.length > 0) data.query = Object.fromEntries(pairs)
}

function resolve(pointer: string, headers: IncomingHttpHeaders, data: JsonObject): string | undefined {
  return pointer.startsWith('header.')
    ? asText(headers[pointer.slice('header.'.length).toLowerCase()])
    : asText(pathGet(data, pointer.slice('data.'.length)))
}

/**
 * Where providers put the name of the event: GitHub, GitLab, Gitea, Bitbucket, Shopify, Linear, Sentry,
 * CloudEvents in binary mode, and what others commonly use.
 */
const EVENT_HEADERS = (
  'x-github-event x-gitlab-event x-gitea-event x-event-key x-shopify-topic linear-event ' +
  'sentry-hook-resource ce-type x-event-type x-event-name x-event'
).split(' ')

function eventOf(headers: IncomingHttpHeaders, body: Json | undefined): string | undefined {
  // Slack wraps its events; Stripe, Standard Webhooks and CloudEvents name theirs in `type`.
  const inBody = isSlack(body)
    ? pathGet(body, 'event.type')
    : (pathGet(body, 'type') ?? pathGet(body, 'event'))
  const name = firstOf(headers, EVENT_HEADERS) ?? inBody
  return typeof name === 'string' && name !== '' ? bounded(name) : undefined
}

/**
 * Where providers put the id of a delivery that stays the same when they try again. `X-Request-Id` is
 * not one: proxies make a new one for each attempt.
 */
const KEY_HEADERS = (
  'webhook-id svix-id x-github-delivery x-gitea-delivery x-shopify-webhook-id linear-delivery ' +
  'idempotency-key'
).split(' ')

/**
 * The id of a delivery. One that was signed comes first: to a delivery that somebody captured, any other header could be
 * added, and it would be taken again. A body is signed where anything is.
 */
function keyOf(
  headers: IncomingHttpHeaders,
  body: Json | undefined,
  signed: readonly string[],
): string | undefined {
  const inSigned = signed.filter((name) => KEY_HEADERS.includes(name))
  const known = firstOf(headers, inSigned) ?? keyInBody(headers, body) ?? firstOf(headers, KEY_HEADERS)
  if (known !== undefined) return known
  return headers['ce-id'] === undefined ? undefined : `${headers['ce-source']} ${headers['ce-id']}`
}

function keyInBody(headers: IncomingHttpHeaders, body: Json | undefined): string | undefined {
  const said = (path: string) => asText(pathGet(body, path))
  const id = said('id')
  const eventId = said('event_id')
  if (eventId && isSlack(body)) return `${said('team_id') ?? ''}:${eventId}`
  // Commands and clicks of Slack have no other id.
  if (headers['x-slack-signature'] !== undefined && said('trigger_id')) return said('trigger_id')
  if (id && pathGet(body, 'specversion') !== undefined) return `${said('source')} ${id}`
  const isStripe = /^(v2\.core\.)?event$/.test(said('object') ?? '')
  return isStripe && headers['stripe-signature'] !== undefined ? id : undefined
}

function firstOf(headers: IncomingHttpHeaders, names: readonly string[]): string | undefined {
  const found = headers[names.find((name) => headers[name]) ?? '']
  return typeof found === 'string' ? found : undefined
}

function isSlack(body: Json | undefined): boolean {
  return pathGet(body, 'type') === 'event_callback'
}

/** GitHub and Gitea name a `sender`, Slack the `event.user`, GitLab `user_username`; else it is the peer's address. */
function senderOf(configured: string | undefined, request: IncomingMessage, body: Json | undefined): Sender {
  const id =
    configured ||
    asText(pathGet(body, 'sender.login')) ||
    (isSlack(body) && asText(pathGet(body, 'event.user'))) ||
    asText(pathGet(body, 'user_username'))
  const peer = request.socket.remoteAddress?.replace(/^::ffff:/, '') ?? 'unknown'
  return { id: id ? bounded(id) : peer }
}

/** The trace id of a W3C `traceparent`. */
function traceOf(headers: IncomingHttpHeaders): string | undefined {
  const value = headers.traceparent
  if (typeof value !== 'string') return undefined
  const [, id] = /^[\da-f]{2}-([\da-f]{32})-[\da-f]{16}-[\da-f]{2}/.exec(value) ?? []
  return id === '0'.repeat(32) ? undefined : id
}

function asText(value: unknown): string | undefined {
  if (typeof value === 'string' && value !== '') return value
  return typeof value === 'number' ? String(value) : undefined
}

/** Ids become keys of the store: well-formed, and short without two becoming one. */
function bounded(id: string): string {
  const text = id.toWellFormed()
  return text.length <= 255 ? text : `${text.slice(0, 100)}…sha256:${hash('sha256', text)}`
}
