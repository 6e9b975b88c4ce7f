import { hash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { unzip } from 'node:zlib'
import { stoppingError, TriviumError, toTriviumError } from '../../src/core/errors.ts'
import type { Json } from '../../src/core/json.ts'
import type { NewMessage } from '../../src/core/message.ts'
import type { Transport, TransportDeps, TransportKind } from '../../src/core/transport.ts'
import { formatDuration } from '../../src/core/units.ts'
import { defined } from '../../src/lib/defined.ts'
import { queryOf } from '../../src/lib/http.ts'
import { createInFlight } from '../../src/lib/in-flight.ts'
import { answerQuickly } from '../../src/lib/quick-answer.ts'
import { createTokenBucket } from '../../src/lib/token-bucket.ts'
import { awaitReply, refuseTarget, sendToRequest } from '../kept-reply.ts'
import { checkDoor, refuseForeign } from '../options.ts'
import { type WebhookOptions, webhookOptions } from './config.ts'
import { decodeBody } from './decode-body.ts'
import { createNormalizer } from './normalize.ts'
import type { Answer, Own, Taken } from './preset.ts'
import { createVerifier, presetOf } from './verifier.ts'

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
  const verifier = createVerifier(options.verify, { gateway, now: deps.now, log: deps.log, address })
  const preset = presetOf(options.verify)
  const own: Own = { secret: [], ...options.verify }
  const normalize = createNormalizer(gateway, options)
  const takeToken = createTokenBucket(options['rate-limit'], deps.now)
  const limit = options['max-body']
  const accepting = createInFlight()
  const closing = new AbortController()
  const { scheme } = options.verify
  const door = checkDoor(http, 'verify', scheme === 'none' ? undefined : scheme)
  let unmount: (() => void) | undefined

  /**
   * Serves one request: method, body, proof, rate, accept, answer, in this order. Only what is authentic counts for the
   * rate. Nothing is acknowledged before `accept` has resolved. What it throws is the answer.
   */
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let at: 'body' | 'message' | 'accept' = 'body'
    let sent: Buffer | undefined
    try {
      const { method = '', url = '', headers } = request
      const greeting = preset?.greet?.(method, queryOf(request), own)
      if (typeof greeting === 'object') return answer(response, greeting)
      requireProof(response, greeting)
      // Trello and Intercom ask whether somebody is there before they send.
      if (method === 'HEAD') return answer(response, { status: 200 })
      requirePost(method, response)
      if (scheme === 'none') refuseForeign(request, http.isLocal, 'verify')
      sent = await http.readBody(request, limit, gateway)
      const verdict = verifier.check({ method, headers, raw: sent, url })
      requireProof(response, verdict instanceof Promise ? await verdict : verdict)
      sent = verifier.conceal?.(sent) ?? sent
      requireToken(response)
      if (accepting.isStopping()) throw stoppingError()
      accepting.enter()
      at = 'message'
      const { 'content-type': type, 'content-encoding': encoding } = headers
      const whole = encoding === undefined ? sent : await uncompressed(encoding, sent)
      const decoded = decodeBody(type, whole)
      let handshake = preset?.handshake?.(decoded.body, own)
      if (verifier.handshake) handshake ??= await verifier.handshake(whole)
      if (handshake) return answer(response, handshake)
      let message = normalize(request, decoded)
      if (options.respond === 'result') message.data.replyTarget = { body: hash('sha256', whole) }
      if (decoded.format === 'binary') message = await withFile(message, whole, type)
      at = 'accept'
      const { id, duplicate } = await deps.accept(message)
      const taken: Taken = duplicate ? { id, duplicate } : { id }
      if (options.respond === 'result') void answerLater(response, taken, message, decoded.body)
      else acknowledge(response, taken, decoded.body)
    } catch (error) {
      const { code, message: why } = toTriviumError(error)
      // What `accept` refuses, it tells itself.
      if (at !== 'accept') deps.refused(code, { from: request.socket.remoteAddress, why, body: sent })
      throw error
    } finally {
      if (at !== 'body') accepting.leave()
    }
  }

  function requirePost(method: string, response: ServerResponse) {
    if (method === 'POST') return
    response.setHeader('Allow', 'POST')
    const allowed = `POST, for example: curl -d 'hello' http://HOST${options.path}`
    throw new TriviumError('method_not_allowed', { method, path: options.path, allowed })
  }

  function requireToken(response: ServerResponse) {
    const wait = takeToken()
    if (wait === 0) return
    response.setHeader('Retry-After', Math.ceil(wait / 1000))
    const { 'rate-limit': limit } = options
    const rate = limit === 'off' ? '' : `${limit.count} deliveries in ${formatDuration(limit.per)}`
    throw new TriviumError('rate_limited', { gateway, rate })
  }

  function requireProof(response: ServerResponse, reason: string | undefined) {
    if (reason === undefined) return
    if (verifier.challenge) response.setHeader('WWW-Authenticate', verifier.challenge)
    throw new TriviumError('signature_invalid', { gateway, reason })
  }

  function acknowledge(response: ServerResponse, taken: Taken, body: Json | undefined) {
    const status = taken.duplicate || taken.reply !== undefined ? 200 : 202
    answer(response, preset?.answer?.(taken, body) ?? { status, text: JSON.stringify(taken) })
  }

  /** Never rejects: the message is durable. */
  async function answerLater(response: ServerResponse, taken: Taken, { data }: NewMessage, body?: Json) {
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    const signal = AbortSignal.any([gone.signal, closing.signal])
    const reply = await awaitReply(deps, taken, data.replyTarget, options.timeout, signal)
    acknowledge(response, { ...taken, ...defined({ reply }) }, body)
  }

  async function withFile(message: NewMessage, bytes: Buffer, type = 'application/octet-stream') {
    const attachment = await deps.artifacts.save('body.bin', type, bytes, limit)
    return { ...message, data: { ...message.data, format: 'file' }, attachments: [attachment] }
  }

  /** The body as its sender wrote it. A small one may not become one over the limit. */
  async function uncompressed(encoding: string, raw: Buffer): Promise<Buffer> {
    if (encoding === 'identity') return raw
    if (encoding !== 'gzip' && encoding !== 'deflate')
      throw new TriviumError('bad_request', { reason: 'its Content-Encoding is neither gzip nor deflate' })
    try {
      return await unpack(raw, { maxOutputLength: limit })
    } catch (cause) {
      if (cause instanceof RangeError) throw new TriviumError('body_too_large', { limit, gateway }, { cause })
      throw new TriviumError('bad_request', { reason: `its body is no ${encoding}` }, { cause })
    }
  }

  return {
    async start() {
      if (door.warning) deps.log.warn({ path: options.path }, door.detail)
      unmount = http.mount(options.path, handle)
    },
    requireTarget: async () => refuseTarget(deps.gateway),
    send: (reply) => sendToRequest(deps, reply),
    // The path stays until `close`, so that senders hear "try again" and not "there is nothing here".
    stop: accepting.stop,
    /** Requests that wait for a reply get 202: their messages are durable. */
    async close() {
      unmount?.()
      closing.abort()
    },
    health: () => (unmount ? { ok: true, detail: options.path } : { ok: false, detail: 'not started' }),
    check: async () => [door],
  }
}

/** The address of a gateway as providers have it. What proxies say in headers is not believed: anybody may send those. */
function addressOf(publicUrl: string | undefined, path: string): string | undefined {
  return publicUrl && publicUrl.replace(/\/+$/, '') + path
}

function answer(response: ServerResponse, { status, type = 'application/json', text = '' }: Answer) {
  answerQuickly(response, status, type, text)
}

/** Of either kind: it tells by the head. */
const unpack = promisify(unzip)
