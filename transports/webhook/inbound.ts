import { createHmac, hash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { gunzip, inflate } from 'node:zlib'
import { stoppingError, TriviumError, toTriviumError } from '../../src/core/errors.ts'
import { type Json, type JsonObject, pathGet } from '../../src/core/json.ts'
import type { Accepted, NewMessage } from '../../src/core/message.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { formatDuration } from '../../src/core/units.ts'
import { answerJson } from '../../src/lib/http.ts'
import { createInFlight } from '../../src/lib/in-flight.ts'
import { createTokenBucket } from '../../src/lib/token-bucket.ts'
import { refuseForeign } from '../open-door.ts'
import type { WebhookOptions } from './config.ts'
import { type DecodedBody, decodeBody } from './decode-body.ts'
import { createNormalizer } from './normalize.ts'
import { awaitReply } from './outbound.ts'
import { createVerifier } from './verify.ts'

/** Bodies over this many bytes travel as a file. */
const INLINE_BYTES = 65_536

/**
 * Makes the receiving half of a webhook gateway: method, credentials, body, signature, rate, accept, answer, in this
 * order. Strangers cannot use up the rate of a gateway, as only authentic deliveries count. Nothing is acknowledged
 * before `accept` has resolved.
 */
export function createInbound(options: WebhookOptions, deps: TransportDeps) {
  const { gateway, http } = deps
  const verifier = createVerifier(options.verify, deps.now)
  const normalize = createNormalizer(gateway, options, verifier)
  const takeToken = createTokenBucket(options['rate-limit'], deps.now)
  const limit = options['max-body']
  const accepting = createInFlight()
  const closing = new AbortController()

  /** Serves one request on the gateway's path. What it throws is the answer. */
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let at: 'body' | 'message' | 'accept' = 'body'
    try {
      requireHead(request, response)
      const raw = await http.readBody(request, limit, gateway)
      requireProof(response, verifier.body(request.headers, raw))
      requireToken(response)
      if (accepting.isStopping()) throw stoppingError()
      accepting.enter()
      at = 'message'
      const { 'content-type': type, 'content-encoding': encoding } = request.headers
      const whole = encoding === undefined ? raw : await uncompressed(encoding, raw)
      const decoded = decodeBody(type, whole)
      const challenge = challengeIn(decoded)
      if (challenge !== undefined) return answerJson(response, 200, JSON.stringify(challenge))
      let message = normalize(request, decoded)
      if (options.respond === 'result') message.data.replyTarget = { body: hash('sha256', whole) }
      const isFile = decoded.format === 'binary' || whole.length > INLINE_BYTES
      if (isFile) message = await withFile(message, decoded, whole, type)
      at = 'accept'
      acknowledge(response, await deps.accept(message), message)
    } catch (error) {
      // What `accept` refuses, it counts itself.
      if (at !== 'accept') deps.refused(toTriviumError(error).code)
      throw error
    } finally {
      if (at !== 'body') accepting.leave()
    }
  }

  /** What can be told before the body is read. */
  function requireHead(request: IncomingMessage, response: ServerResponse) {
    const { method = '', headers } = request
    if (method !== 'POST') {
      response.setHeader('Allow', 'POST')
      const allowed = `POST, for example: curl -d 'hello' http://HOST${options.path}`
      throw new TriviumError('method_not_allowed', { method, path: options.path, allowed })
    }
    if (options.verify.scheme === 'none') refuseForeign(request, http.isLocal, 'verify')
    requireProof(response, verifier.head(headers))
    if (accepting.isStopping()) throw stoppingError()
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

  function acknowledge(response: ServerResponse, accepted: Accepted, { data }: NewMessage): void {
    const { id, duplicate } = accepted
    if (options.respond === 'result') void acknowledgeWithReply(response, accepted, data.replyTarget)
    // The id is ours and needs no escaping.
    else if (duplicate) answerJson(response, 200, `{"id":"${id}","duplicate":true}`)
    else answerJson(response, 202, `{"id":"${id}"}`)
  }

  async function acknowledgeWithReply(
    response: ServerResponse,
    { id, duplicate }: Accepted,
    target: Json | undefined,
  ) {
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    const signal = AbortSignal.any([gone.signal, closing.signal])
    const reply = await awaitReply(deps, id, target, options.timeout, signal)
    const status = duplicate || reply !== undefined ? 200 : 202
    answerJson(response, status, JSON.stringify({ id, ...(duplicate ? { duplicate } : {}), reply }))
  }

  async function withFile(
    message: NewMessage,
    { format }: DecodedBody,
    bytes: Buffer,
    type = 'application/octet-stream',
  ): Promise<NewMessage> {
    const name = `body.${EXTENSIONS[format]}`
    const attachment = await deps.artifacts.save(name, type, Readable.from([bytes]), limit)
    const { body: _body, ...data } = message.data
    return { ...message, text: '', data: { ...data, format: 'file' }, attachments: [attachment] }
  }

  /** The body as its sender wrote it. A small one may not become one over the limit. */
  async function uncompressed(encoding: string, raw: Buffer): Promise<Buffer> {
    const undo = UNDO.get(encoding)
    if (!undo)
      throw new TriviumError('bad_request', { reason: 'its Content-Encoding is neither gzip nor deflate' })
    try {
      return await undo(raw, { maxOutputLength: limit })
    } catch (cause) {
      if (cause instanceof RangeError) throw new TriviumError('body_too_large', { limit, gateway }, { cause })
      throw new TriviumError('bad_request', { reason: `its body is no ${encoding}` }, { cause })
    }
  }

  /** What proves that we listen, where a provider asks for that; there is nothing to accept. */
  function challengeIn(decoded: DecodedBody): JsonObject | undefined {
    if (decoded.format !== 'json') return undefined
    const said = (path: string) => {
      const value = pathGet(decoded.body, path)
      return typeof value === 'string' ? value : undefined
    }
    const { verify } = options
    // https://docs.slack.dev/reference/events/url_verification
    const challenge = said('type') === 'url_verification' ? said('challenge') : undefined
    if (verify.scheme === 'slack' && challenge !== undefined) return { challenge }
    // https://developers.zoom.us/docs/api/webhooks/#validate-your-webhook-endpoint
    const plainToken = said('event') === 'endpoint.url_validation' ? said('payload.plainToken') : undefined
    if (verify.scheme !== 'zoom' || plainToken === undefined) return undefined
    const encryptedToken = createHmac('sha256', verify.secret[0] ?? '')
      .update(plainToken)
      .digest('hex')
    return { plainToken, encryptedToken }
  }

  return {
    handle,
    /** Refuses from now on; resolves when no delivery is between its body and its answer. */
    stop: accepting.stop,
    /** Answers the requests that wait for a reply with 202: their messages are durable. */
    release: () => closing.abort(),
  }
}

const EXTENSIONS: Record<DecodedBody['format'], string> = {
  json: 'json',
  form: 'txt',
  text: 'txt',
  binary: 'bin',
}

type Uncompress = (raw: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>

const UNDO = new Map<string, Uncompress>([
  ['gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['identity', async (raw) => raw],
])
