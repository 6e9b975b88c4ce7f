import { hash } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { type JsonObject, pathGet } from '../../src/core/json.ts'
import type { NewMessage } from '../../src/core/message.ts'
import { peerOf, queryOf } from '../../src/lib/http.ts'
import { signedHeaders } from '../../src/lib/signatures.ts'
import type { DecodedBody } from '../deliveries/decode-body.ts'
import { found, type Readable, wordsAt } from '../deliveries/pointers.ts'
import type { Preset } from '../deliveries/preset.ts'
import { requireFew, requireSmall } from '../deliveries/split.ts'
import { presetOf } from '../deliveries/verifier.ts'
import type { WebhookOptions } from './config.ts'
import { cloudEventKey, createPartView, SENDER, type Seen, splitterFor } from './part-view.ts'
import { createSenderFinder, proofOf } from './proof.ts'

/** The messages of a delivery: one, or with `isSplit` one for each element, of which there may be none. */
export type Normalized = { messages: NewMessage[]; isSplit: boolean }

/**
 * Makes the messages of an authentic delivery. `data`: `event`, `headers` (none secret), `format`, `body`, any `query`; of an element
 * also `split` and `envelope`.
 */
export function createNormalizer(gateway: string, options: WebhookOptions) {
  const preset = presetOf(options.verify)
  const proof = proofOf(options.verify, preset)
  const findSender = createSenderFinder(proof)
  const see = createView(options, preset, findSender)
  const partsOf = splitterFor(options, preset?.split)
  const seePart = createPartView(options, preset?.split, findSender)

  const messageOf = (request: IncomingMessage, seen: Seen): NewMessage => {
    const { data, text, event, key, conversation, words, from } = seen
    if (event) data.event = bounded(event)
    // The mark `json` says that the text is the body.
    if (words !== undefined) delete data.format
    const trace = traceOf(request.headers)
    const { id, isProven } = from ?? { id: peerOf(request), isProven: proof.sender }
    const sender = isProven ? { id: bounded(id), verified: true } : { id: bounded(id) }
    const message: NewMessage = { gateway, transport: 'webhook', from: sender, text: words ?? text, data }
    if (key) message.key = bounded(key)
    if (conversation) message.conversation = `${gateway}:${bounded(conversation)}`
    if (trace) message.trace = trace
    return message
  }

  return (request: IncomingMessage, decoded: DecodedBody): Normalized => {
    const parts = partsOf?.(decoded.body)
    const whole = see(request, decoded, partsOf && (parts ? 'list' : 'element'))
    if (!parts) return { messages: [messageOf(request, whole)], isSplit: false }
    requireFew(parts)
    const repeated = JSON.stringify(whole.data.headers).length
    let size = 0
    const messages = parts.map((part, index) => {
      const seen = seePart(request.headers, part, { index, of: parts.length }, whole)
      size += seen.text.length + repeated + 200
      requireSmall(size)
      return messageOf(request, seen)
    })
    return { messages, isSplit: true }
  }
}

/** Makes what finds in a delivery what it says as a whole; `element`: it stands where a list could, so paths lead into the body. */
function createView(
  options: WebhookOptions,
  preset: Preset | undefined,
  sender: ReturnType<typeof createSenderFinder>,
) {
  const { verify } = options
  const carrier = ('header' in verify && verify.header) || ''
  const signed = signedHeaders(('template' in verify && verify.template) || '')
  const keyHeaders = [...KEY_HEADERS.filter((name) => signed.includes(name)), ...KEY_HEADERS]
    .map((name) => `header.${name}`)
    .join(' ')
  const isAwaited = options.respond === 'result'
  return (request: IncomingMessage, { format, text, body }: DecodedBody, as?: 'list' | 'element'): Seen => {
    const { headers } = request
    const data: JsonObject = { headers: usefulHeaders(headers, carrier), format }
    if (isAwaited) data.respond = 'result'
    if (body !== undefined) data.body = body
    if (request.url?.includes('?')) Object.assign(data, usefulQuery(request))
    const delivery = { headers, body, text }
    const inData = { headers, body: data, text }
    const isElement = as === 'element'
    const configured = (pointer?: string) =>
      found(pointer?.replace(/^data\./, ''), inData) ?? (isElement ? found(pointer, delivery) : undefined)
    const ownKey = () => found(preset?.key, delivery) ?? keyOf(delivery, keyHeaders)
    return {
      data,
      text,
      event: configured(options.event) ?? found(preset?.event, delivery) ?? eventOf(delivery),
      // What has elements falls back to the id of the delivery.
      key: options.key ? (configured(options.key) ?? (as && ownKey())) : ownKey(),
      conversation: options.conversation
        ? configured(options.conversation)
        : found(preset?.conversation, delivery),
      words: wordsAt(options.text, inData) ?? (isElement ? wordsAt(options.text, delivery) : undefined),
      from:
        sender(options.from?.replace(/^data\./, ''), 'data', inData) ??
        (isElement ? sender(options.from, 'body', delivery) : undefined) ??
        sender(preset?.from, 'body', delivery) ??
        sender(SENDER, 'body', delivery),
    }
  }
}

/** Names of headers and of query parameters. */
const SECRET =
  /auth|cookie|token|secret|signature|passw|pwd|credential|session|private|assertion|jwt|hmac|^(code|sig|pass|pin|otp)$|(?<!(event|idempotency|issue|project|object|routing|partition)[-_]?)key$/
/** Of the connection, not of the delivery. */
const NOISE = new Set(
  'host connection content-length transfer-encoding accept accept-encoding keep-alive te upgrade expect __proto__'.split(
    ' ',
  ),
)

/** The headers that are no secret. `carrier`: the one that has the proof. */
function usefulHeaders(headers: IncomingHttpHeaders, carrier: string): JsonObject {
  const kept: JsonObject = {}
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined && name !== carrier && !isHidden(name)) kept[name] = value
  }
  return kept
}

/** By name, for the names that deliveries repeat. */
const hidden = new Map<string, boolean>()
const MAX_HIDDEN = 1_000

function isHidden(name: string): boolean {
  const known = hidden.get(name)
  if (known !== undefined) return known
  const isOne = NOISE.has(name) || SECRET.test(name)
  if (hidden.size < MAX_HIDDEN) hidden.set(name, isOne)
  return isOne
}

function usefulQuery(request: IncomingMessage): JsonObject {
  const pairs = [...queryOf(request)].filter(([name]) => !SECRET.test(name.toLowerCase()))
  return pairs.length > 0 ? { query: Object.fromEntries(pairs) } : {}
}

/**
 * Where providers put the name of the event: GitHub, GitLab, Gitea, Bitbucket, Shopify, Linear, Sentry, CloudEvents in binary
 * mode, and what others commonly use; Stripe, Standard Webhooks and CloudEvents name theirs in `type`.
 */
const EVENT_HEADERS =
  'header.x-github-event header.x-gitlab-event header.x-gitea-event header.x-event-key header.x-shopify-topic ' +
  'header.linear-event header.sentry-hook-resource header.ce-type header.x-event-type header.x-event-name header.x-event'

function eventOf(delivery: Readable): string | undefined {
  const field = typeof pathGet(delivery.body, 'type') === 'string' ? 'type' : 'event'
  return found(EVENT_HEADERS, delivery) ?? found(field, delivery)
}

/** Ids that stay the same when a provider tries again. `X-Request-Id` is none: proxies make a new one for each attempt. */
const KEY_HEADERS = (
  'webhook-id svix-id x-github-delivery x-gitea-delivery x-shopify-webhook-id linear-delivery ' +
  'idempotency-key'
).split(' ')

/** An id in the body comes before one in a header: the body is what was signed, and to a captured delivery headers can be added. */
function keyOf(delivery: Readable, keyHeaders: string): string | undefined {
  const said = (name: string) => found(name, delivery)
  return (
    cloudEventKey(delivery) ??
    said(keyHeaders) ??
    (said('header.ce-id') && `${said('header.ce-source')} ${said('header.ce-id')}`)
  )
}

/** The trace id of a W3C `traceparent`. */
function traceOf(headers: IncomingHttpHeaders): string | undefined {
  const value = headers.traceparent
  if (typeof value !== 'string') return undefined
  const [, id] = /^[\da-f]{2}-([\da-f]{32})-[\da-f]{16}-[\da-f]{2}/.exec(value) ?? []
  return id === '0'.repeat(32) ? undefined : id
}

/** Ids become keys of the store: well-formed, and short without two becoming one. */
function bounded(id: string): string {
  const text = id.toWellFormed()
  return text.length <= 255 ? text : `${text.slice(0, 100)}…sha256:${hash('sha256', text)}`
}
