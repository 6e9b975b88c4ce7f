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

/** The messages of a delivery: one, or with `isSplit` one per element (possibly none). */
export type Normalized = { messages: NewMessage[]; isSplit: boolean }

/**
 * Makes the messages of an authentic delivery. `data` has `event`, `headers` (without secrets), `format`, `body` and `query`; for an
 * element also `split` and `envelope`.
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
    // The mark `json` means that the text is the body.
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

/** Makes a reader for a whole delivery. `element`: the body stands for a single element of `split`, so paths also apply to it. */
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
      // With `split`, falls back to the id of the delivery.
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

/** Names of secret headers and query parameters. */
const SECRET =
  /auth|cookie|token|secret|signature|passw|pwd|credential|session|private|assertion|jwt|hmac|^(code|sig|pass|pin|otp)$|(?<!(event|idempotency|issue|project|object|routing|partition)[-_]?)key$/
/** Headers of the connection, not of the delivery. */
const NOISE = new Set(
  'host connection content-length transfer-encoding accept accept-encoding keep-alive te upgrade expect __proto__'.split(
    ' ',
  ),
)

/** The non-secret headers. `carrier`: the header with the signature, which is omitted. */
function usefulHeaders(headers: IncomingHttpHeaders, carrier: string): JsonObject {
  const kept: JsonObject = {}
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined && name !== carrier && !isHidden(name)) kept[name] = value
  }
  return kept
}

/** Cache by name, as deliveries repeat the same names. */
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
 * Headers with the event name: GitHub, GitLab, Gitea, Bitbucket, Shopify, Linear, Sentry, CloudEvents in binary mode, and common names.
 * Stripe, Standard Webhooks and CloudEvents use the field `type`.
 */
const EVENT_HEADERS =
  'header.x-github-event header.x-gitlab-event header.x-gitea-event header.x-event-key header.x-shopify-topic ' +
  'header.linear-event header.sentry-hook-resource header.ce-type header.x-event-type header.x-event-name header.x-event'

function eventOf(delivery: Readable): string | undefined {
  const field = typeof pathGet(delivery.body, 'type') === 'string' ? 'type' : 'event'
  return found(EVENT_HEADERS, delivery) ?? found(field, delivery)
}

/** Headers with ids that are stable over retries. `X-Request-Id` is not: proxies create one per attempt. */
const KEY_HEADERS = (
  'webhook-id svix-id x-github-delivery x-gitea-delivery x-shopify-webhook-id linear-delivery ' +
  'idempotency-key'
).split(' ')

/** Ids in the body take precedence over headers: the body is signed, while headers can be added to a captured delivery. */
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

/** Makes an id usable as a store key: well-formed, and shortened without collisions. */
function bounded(id: string): string {
  const text = id.toWellFormed()
  return text.length <= 255 ? text : `${text.slice(0, 100)}…sha256:${hash('sha256', text)}`
}
