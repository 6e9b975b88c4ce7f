import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { type JsonObject, parseJson, pathGet } from '../../src/core/json.ts'
import type { NewMessage } from '../../src/core/message.ts'
import { defined } from '../../src/lib/defined.ts'
import { peerOf, queryOf } from '../../src/lib/http.ts'
import { signedHeaders } from '../../src/lib/signatures.ts'
import { bounded } from '../bounded-id.ts'
import { secretHeaderOf } from '../deliveries/checked-secret.ts'
import type { DecodedBody } from '../deliveries/decode-body.ts'
import { type ReadableDelivery, textAt, valueAt } from '../deliveries/pointers.ts'
import type { Preset } from '../deliveries/preset.ts'
import { requirePartCount, requireTotalSize } from '../deliveries/split.ts'
import { presetOf } from '../deliveries/verifier.ts'
import type { WebhookOptions } from './config.ts'
import { configured, configuredFirst, configuredKey, createFromReader } from './configured.ts'
import { cloudEventKey, createPartReader, type Fields, splitterFor } from './part-view.ts'
import { createSenderFinder, proofOf } from './proof.ts'

/** The messages of a delivery: one, or with `isSplit` one per element (possibly none). */
export type Normalized = { messages: NewMessage[]; isSplit: boolean }

/** Estimated size of an element's message without its text and headers, in characters. */
const PART_OVERHEAD = 200

/**
 * Makes a function that returns the messages of an authentic delivery. Their `data` has `event`,
 * `headers` (without secrets), `format`, `body` and `query`; for an element also `split` and
 * `envelope`.
 */
export function createNormalizer(gateway: string, options: WebhookOptions) {
  const preset = presetOf(options.verify)
  const proof = proofOf(options.verify, preset, options.body)
  const findSender = createSenderFinder(proof)
  const readWhole = createDeliveryReader(options, preset, findSender)
  const partsOf = splitterFor(options, preset?.split)
  const readPart = createPartReader(options, preset?.split, findSender)

  const messageOf = (request: IncomingMessage, fields: Fields): NewMessage => {
    const { data, text, event, key, conversation, configuredText, from, name } = fields
    if (event) data.event = bounded(event)
    // `format` describes the text if it is the body; a configured text is plain.
    if (configuredText !== undefined) delete data.format
    const trace = traceOf(request.headers)
    const { id, isProven } = from ?? { id: peerOf(request), isProven: proof.sender }
    const message: NewMessage = {
      gateway,
      transport: 'webhook',
      from: { id: bounded(id), ...(name && { name: bounded(name) }), ...(isProven && { verified: true }) },
      text: configuredText ?? text,
      data,
    }
    if (key) message.key = bounded(key)
    if (conversation) message.conversation = conversationIn(gateway, conversation)
    if (trace) message.trace = trace
    return message
  }

  /** `keySource`: the body in which a key is looked for if `decoded` has none. */
  return (request: IncomingMessage, decoded: DecodedBody, keySource?: DecodedBody): Normalized => {
    const parts = partsOf?.(decoded.body)
    const whole = readWhole(request, decoded, partsOf && (parts ? 'list' : 'element'))
    if (keySource && !parts) whole.key ??= readWhole(request, keySource).key
    if (!parts) return { messages: [messageOf(request, whole)], isSplit: false }
    requirePartCount(parts)
    const headersSize = JSON.stringify(whole.data.headers).length
    let size = 0
    const messages = parts.map((part, index) => {
      const fields = readPart(request.headers, part, { index, of: parts.length }, whole)
      size += fields.text.length + headersSize + PART_OVERHEAD
      requireTotalSize(size)
      return messageOf(request, fields)
    })
    return { messages, isSplit: true }
  }
}

/** What the body of a delivery is with `split`: a list of elements, or itself a single element. */
type BodyRole = 'list' | 'element'

/** Makes a reader for a whole delivery. `role` is set with `split`. */
function createDeliveryReader(
  options: WebhookOptions,
  preset: Preset | undefined,
  findSender: ReturnType<typeof createSenderFinder>,
) {
  const { verify } = options
  const signatureHeader = secretHeaderOf(verify) ?? ''
  const signed =
    verify.scheme === 'http-signature'
      ? verify.signs.map((name) => name.toLowerCase())
      : signedHeaders(('template' in verify && verify.template) || '')
  // Signed headers first: others can be added to a captured delivery.
  const keyHeaders = [...KEY_HEADERS.filter((name) => signed.includes(name)), ...KEY_HEADERS]
    .map((name) => `header.${name}`)
    .join(' ')
  const secretParameter = verify.scheme === 'query' ? verify.name : undefined
  const isAwaited = options.respond === 'result'
  const event = configured(options.event)
  const key = configuredKey(options.key)
  const conversation = configuredFirst(options.conversation)
  const configuredText = configured(options.text, textAt)
  const name = configured(options['from-name'])
  const findFrom = createFromReader(options.from, preset, findSender)
  const deliveryKey = (delivery: ReadableDelivery) =>
    valueAt(preset?.key, delivery) ?? keyOf(delivery, keyHeaders)
  return (request: IncomingMessage, decoded: DecodedBody, role?: BodyRole): Fields => {
    const { headers } = request
    const { format, body, text, fingerprint } = decoded
    const data: JsonObject = { headers: usefulHeaders(headers, signatureHeader), format }
    if (isAwaited) data.respond = 'result'
    if (body !== undefined) data.body = body
    if (request.method !== undefined && request.method !== 'POST') data.method = request.method
    if (request.url?.includes('?')) Object.assign(data, usefulQuery(request, secretParameter))
    const delivery = { headers, body, text, fingerprint }
    const views = {
      delivery,
      // The paths of options begin in `data`, so `data` takes the place of the body here.
      inData: { headers, body: data, text, fingerprint },
      // The paths of options are then also looked up in the body, as in the elements of a list.
      isElement: role === 'element',
    }
    return {
      data,
      text,
      event: event?.(views) ?? valueAt(preset?.event, delivery) ?? eventOf(delivery),
      // With `split`, falls back to the id of the delivery.
      key: key ? (key(views) ?? (role && deliveryKey(delivery))) : deliveryKey(delivery),
      conversation: conversation ? conversation(views) : valueAt(preset?.conversation, delivery),
      configuredText: configuredText?.(views),
      from: findFrom(views),
      name: name?.(views),
    }
  }
}

/**
 * Makes a function that finds the event name and the conversation of a submitted message, which has
 * only a text and headers, as those of a delivery.
 */
export function createFieldReader(gateway: string, options: WebhookOptions) {
  const preset = presetOf(options.verify)
  const event = configured(options.event)
  const conversation = configuredFirst(options.conversation)
  const isElement = splitterFor(options, preset?.split) !== undefined
  return ({ text, headers: given }: { text: string; headers: JsonObject }) => {
    const headers = Object.fromEntries(
      Object.entries(given).map(([name, value]) => [name.toLowerCase(), String(value)]),
    )
    const body = parseJson(text)
    const delivery = { headers, text, body }
    const views = { delivery, inData: { headers, text, body: { headers, body: body ?? text } }, isElement }
    const ownEvent = event?.(views) ?? valueAt(preset?.event, delivery) ?? eventOf(delivery)
    const ownConversation = conversation ? conversation(views) : valueAt(preset?.conversation, delivery)
    return defined({
      event: ownEvent && bounded(ownEvent),
      conversation: ownConversation && conversationIn(gateway, ownConversation),
    })
  }
}

function conversationIn(gateway: string, name: string): string {
  return `${gateway}:${bounded(name)}`
}

/** Names of secret headers and query parameters. */
const SECRET =
  /auth|cookie|token|secret|signature|passw|pwd|credential|session|private|assertion|jwt|hmac|^(code|sig|pass|pin|otp)$|(?<!(event|idempotency|issue|project|object|routing|partition)[-_]?)key$/
/** Headers of the connection, not of the delivery. */
const CONNECTION_HEADERS = new Set(
  'host connection content-length transfer-encoding accept accept-encoding keep-alive te upgrade expect __proto__'.split(
    ' ',
  ),
)

/** The non-secret headers of a delivery, without the header of its signature. */
function usefulHeaders(headers: IncomingHttpHeaders, signatureHeader: string): JsonObject {
  const kept: JsonObject = {}
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined && name !== signatureHeader && !isHidden(name)) kept[name] = value
  }
  return kept
}

/** Cache by header name, as deliveries repeat the same names. */
const hiddenNames = new Map<string, boolean>()
const MAX_CACHED_NAMES = 1_000

function isHidden(name: string): boolean {
  const cached = hiddenNames.get(name)
  if (cached !== undefined) return cached
  const isHiddenName = CONNECTION_HEADERS.has(name) || SECRET.test(name)
  if (hiddenNames.size < MAX_CACHED_NAMES) hiddenNames.set(name, isHiddenName)
  return isHiddenName
}

function usefulQuery(request: IncomingMessage, secretParameter: string | undefined): JsonObject {
  const pairs = [...queryOf(request)].filter(
    ([name]) => name !== secretParameter && !SECRET.test(name.toLowerCase()),
  )
  return pairs.length > 0 ? { query: Object.fromEntries(pairs) } : {}
}

/**
 * Headers with the event name: GitHub, GitLab, Gitea, Bitbucket, Shopify, Linear, Sentry,
 * CloudEvents in binary mode, and common names. Stripe, Standard Webhooks and CloudEvents use the
 * field `type`.
 */
const EVENT_HEADERS =
  'header.x-github-event header.x-gitlab-event header.x-gitea-event header.x-event-key header.x-shopify-topic ' +
  'header.linear-event header.sentry-hook-resource header.ce-type header.x-event-type header.x-event-name header.x-event'

function eventOf(delivery: ReadableDelivery): string | undefined {
  const field = typeof pathGet(delivery.body, 'type') === 'string' ? 'type' : 'event'
  return valueAt(EVENT_HEADERS, delivery) ?? valueAt(field, delivery)
}

/**
 * Headers with ids that are stable over retries. `X-Request-Id` is not: proxies create one per
 * attempt.
 */
const KEY_HEADERS = (
  'webhook-id svix-id x-github-delivery x-gitea-delivery x-shopify-webhook-id linear-delivery ' +
  'idempotency-key'
).split(' ')

/**
 * The key of a delivery. Ids in the body take precedence over headers: the body is signed, while
 * headers can be added to a captured delivery.
 */
function keyOf(delivery: ReadableDelivery, keyHeaders: string): string | undefined {
  const read = (name: string) => valueAt(name, delivery)
  return (
    cloudEventKey(delivery) ??
    read(keyHeaders) ??
    (read('header.ce-id') && `${read('header.ce-source')} ${read('header.ce-id')}`)
  )
}

/** The trace id of a W3C `traceparent`. */
function traceOf(headers: IncomingHttpHeaders): string | undefined {
  const value = headers.traceparent
  if (typeof value !== 'string') return undefined
  const [, id] = /^[\da-f]{2}-([\da-f]{32})-[\da-f]{16}-[\da-f]{2}/.exec(value) ?? []
  return id === '0'.repeat(32) ? undefined : id
}
