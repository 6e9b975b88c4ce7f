import type { IncomingMessage, ServerResponse } from 'node:http'
import { stoppingError, TriviumError, toTriviumError } from '../../src/core/errors.ts'
import { isJsonObject, type Json } from '../../src/core/json.ts'
import type { Accepted, NewMessage } from '../../src/core/message.ts'
import type { Transport, TransportDeps, TransportKind } from '../../src/core/transport.ts'
import { formatDuration } from '../../src/core/units.ts'
import { attempt } from '../../src/lib/attempt.ts'
import { queryOf } from '../../src/lib/http.ts'
import { createInFlight } from '../../src/lib/in-flight.ts'
import { answerQuickly } from '../../src/lib/quick-answer.ts'
import { createTokenBucket } from '../../src/lib/token-bucket.ts'
import type { Answer, Own, Taken } from '../deliveries/preset.ts'
import { createRefusedDeliveries } from '../deliveries/refused-deliveries.ts'
import { createVerifier, presetOf } from '../deliveries/verifier.ts'
import { awaitReply, refuseTarget, sendToRequest } from '../kept-reply.ts'
import { checkDoor, refuseForeign } from '../options.ts'
import { type WebhookOptions, webhookOptions } from './config.ts'
import { readHttpAnswer, writeHttpAnswer } from './http-answer.ts'
import { createReader } from './read-delivery.ts'

/** The webhook transport: deliveries over HTTP POST, answered once they are durable. */
export const webhook: TransportKind<WebhookOptions> = {
  kind: 'webhook',
  options: webhookOptions,
  create: async (options, deps) => createGateway(options, deps),
  eventData({ from, text, attachments, data }) {
    const { event = null, headers = {}, body = text } = data
    return { from: from.id, event, headers, body, ...(attachments.length > 0 ? { attachments } : {}) }
  },
  unanswerable({ data }) {
    if (data.respond === 'result') return undefined
    return 'its sender had its answer and waits for no reply; set `respond: result` on the gateway'
  },
}

function createGateway(options: WebhookOptions, deps: TransportDeps): Transport {
  const { gateway, http } = deps
  const address = () => addressOf(http.publicUrl?.(), options.path)
  const proof = { gateway, now: deps.now, log: deps.log, address, body: options.body }
  const verifier = createVerifier(options.verify, proof)
  const refusedDeliveries = createRefusedDeliveries(options.verify, proof)
  const preset = presetOf(options.verify)
  const own: Own = { secret: [], ...options.verify }
  const reader = createReader(options, deps, preset, verifier)
  const requireToken = createRateLimit(options['rate-limit'], deps)
  const limit = options['max-body']
  const accepting = createInFlight()
  const closing = new AbortController()
  const { scheme } = options.verify
  const door = checkDoor(http, 'verify', scheme === 'none' ? undefined : scheme)
  let unmount: (() => void) | undefined

  /**
   * Serves a request: method, body, signature, rate limit, accept, response, in this order. Only authentic requests count for the
   * rate limit. Nothing is acknowledged before `accept` resolves. A thrown error becomes the response.
   */
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let at: 'body' | 'message' | 'accept' = 'body'
    let sent: Buffer | undefined
    /** The id with which another secret can be tried. */
    let id: string | undefined
    try {
      const { method = '', url = '', headers } = request
      const greeting = preset?.greet?.(method, queryOf(request), own)
      if (typeof greeting === 'object') return answer(response, greeting)
      requireProof(response, greeting)
      if (method === 'HEAD' || method === 'OPTIONS') return answerProbe(request, response)
      requirePost(method, response)
      if (scheme === 'none') refuseForeign(request, http.isLocal, 'verify')
      sent = await http.readBody(request, limit, gateway)
      const delivery = { method, headers, raw: sent, url }
      const checked = verifier.check(delivery)
      const verdict = checked instanceof Promise ? await checked : checked
      if (verdict !== undefined) id = refusedDeliveries.keep(delivery)
      requireProof(response, verdict)
      sent = verifier.conceal?.(sent) ?? sent
      requireToken(response)
      if (accepting.isStopping()) throw stoppingError()
      accepting.enter()
      at = 'message'
      const read = reader.read(request, sent)
      const found = read instanceof Promise ? await read : read
      if ('greeting' in found) return answer(response, found.greeting)
      at = 'accept'
      const { messages, isSplit, body } = found
      const [message] = messages
      if (isSplit || !message) acknowledge(response, takenOf(await deps.acceptAll(messages)), body)
      else settle(response, await deps.accept(message), message, body)
    } catch (error) {
      const { code, message: why } = toTriviumError(error)
      // `accept` reports its own refusals.
      if (at !== 'accept') deps.refused(code, { from: request.socket.remoteAddress, why, body: sent, id })
      throw error
    } finally {
      if (at !== 'body') accepting.leave()
    }
  }

  function requirePost(method: string, response: ServerResponse) {
    if (method === 'POST') return
    response.setHeader('Allow', ALLOWED)
    const allowed = `POST, for example: curl -d 'hello' http://HOST${options.path}`
    throw new TriviumError('method_not_allowed', { method, path: options.path, allowed })
  }

  function requireProof(response: ServerResponse, reason: string | undefined) {
    if (reason === undefined) return
    if (verifier.challenge) response.setHeader('WWW-Authenticate', verifier.challenge)
    throw new TriviumError('signature_invalid', { gateway, reason })
  }

  function settle(response: ServerResponse, { id, duplicate }: Accepted, message: NewMessage, body?: Json) {
    const taken = duplicate ? { id, duplicate } : { id }
    if (options.respond === 'result') void answerLater(response, taken, message, body)
    else acknowledge(response, taken, body)
  }

  function acknowledge(response: ServerResponse, taken: Taken, body: Json | undefined) {
    const isNew = taken.id !== undefined && !taken.duplicate && taken.reply === undefined
    const status = isNew ? 202 : 200
    answer(response, preset?.answer?.(taken, body) ?? { status, text: JSON.stringify(taken) })
  }

  /** Never rejects, as the message is already durable. */
  async function answerLater(
    response: ServerResponse,
    taken: { id: string; duplicate?: boolean },
    { data }: NewMessage,
    body?: Json,
  ) {
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    const signal = AbortSignal.any([gone.signal, closing.signal])
    const reply = await awaitReply(deps, taken, data.replyTarget, options.timeout, signal)
    const http = isJsonObject(reply?.data) ? reply.data.http : undefined
    // Validated when it was sent.
    const decided = http === undefined ? undefined : attempt(() => readHttpAnswer(gateway, http))
    if (decided) writeHttpAnswer(response, decided)
    else acknowledge(response, { ...taken, ...(reply && { reply: String(reply.text) }) }, body)
  }

  return {
    async start() {
      if (door.warning && !http.isLocal) deps.log.warn({ path: options.path }, door.detail)
      unmount = http.mount(options.path, handle)
    },
    requireTarget: async () => refuseTarget(deps.gateway),
    async send(reply) {
      // Validated here, so that the sender sees the error.
      if (reply.data?.http !== undefined) readHttpAnswer(gateway, reply.data.http)
      return sendToRequest(deps, reply)
    },
    // The path stays mounted until `close`, so that senders get 503 and not 404.
    stop: accepting.stop,
    /** Requests waiting for a reply get 202, as their messages are durable. */
    async close() {
      unmount?.()
      closing.abort()
    },
    health: () => (unmount ? { ok: true, detail: options.path } : { ok: false, detail: 'not started' }),
    check: async () => [door],
    tryRefused: refusedDeliveries.try,
  }
}

/** Throws `rate_limited`, with `Retry-After`. */
function createRateLimit(limit: WebhookOptions['rate-limit'], { gateway, now }: TransportDeps) {
  const takeToken = createTokenBucket(limit, now)
  return (response: ServerResponse) => {
    const wait = takeToken()
    if (wait === 0) return
    response.setHeader('Retry-After', Math.ceil(wait / 1000))
    const rate = limit === 'off' ? '' : `${limit.count} deliveries in ${formatDuration(limit.per)}`
    throw new TriviumError('rate_limited', { gateway, rate })
  }
}

const ALLOWED = 'POST, HEAD, OPTIONS'

/**
 * Answers HEAD and OPTIONS, with which providers check the address (Trello) or validate it: CloudEvents
 * expects its origin back (https://github.com/cloudevents/spec/blob/main/cloudevents/http-webhook.md). Each
 * delivery is still verified.
 */
function answerProbe({ method, headers }: IncomingMessage, response: ServerResponse) {
  response.setHeader('Allow', ALLOWED)
  const origin = headers['webhook-request-origin']
  if (method === 'OPTIONS' && typeof origin === 'string') {
    response.setHeader('WebHook-Allowed-Origin', origin)
    response.setHeader('WebHook-Allowed-Rate', '*')
  }
  response.writeHead(method === 'HEAD' ? 200 : 204).end()
}

/** The response to a delivery of several messages: their ids, and the number of duplicates. */
function takenOf(accepted: readonly Accepted[]): Taken {
  const ids = accepted.map(({ id }) => id)
  const duplicates = accepted.filter(({ duplicate }) => duplicate).length
  const [id] = ids
  if (id === undefined) return { ids }
  return {
    id,
    ids,
    ...(duplicates > 0 ? { duplicates } : {}),
    ...(duplicates === ids.length ? { duplicate: true } : {}),
  }
}

/** The public address of a gateway. Proxy headers are ignored, as anyone can send them. */
function addressOf(publicUrl: string | undefined, path: string): string | undefined {
  return publicUrl && publicUrl.replace(/\/+$/, '') + path
}

function answer(response: ServerResponse, { status, type = 'application/json', text = '' }: Answer) {
  answerQuickly(response, status, type, text)
}
