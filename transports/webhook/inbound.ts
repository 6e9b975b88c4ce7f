import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { errorBody, stoppingError, TriviumError, toTriviumError } from '../../src/core/errors.ts'
import { isJsonObject } from '../../src/core/json.ts'
import type { Accepted, NewMessage } from '../../src/core/message.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { formatDuration } from '../../src/core/units.ts'
import { createInFlight } from '../../src/lib/in-flight.ts'
import { discardBody, readBody } from '../../src/lib/read-body.ts'
import { createTokenBucket } from '../../src/lib/token-bucket.ts'
import type { WebhookOptions } from './config.ts'
import { type DecodedBody, decodeBody } from './decode-body.ts'
import { createNormalizer } from './normalize.ts'
import { awaitReply } from './outbound.ts'
import { createVerifier } from './verify.ts'

/** Bodies over this many bytes travel as a file. */
const INLINE_BYTES = 65_536

/**
 * Makes the receiving half of a webhook gateway: method, credentials, body, signature, rate, accept, answer, in this order. Strangers
 * cannot use up the rate of a gateway, as only authentic deliveries count. Nothing is acknowledged before
 * `accept` has resolved.
 */
export function createInbound(options: WebhookOptions, deps: TransportDeps) {
  const { gateway } = deps
  const verifier = createVerifier(options.verify, deps.now)
  const normalize = createNormalizer(gateway, options, verifier.carriers)
  const takeToken = createTokenBucket(options['rate-limit'], deps.now)
  const limit = options['max-body']
  const accepting = createInFlight()
  const closing = new AbortController()

  function handle(request: IncomingMessage, response: ServerResponse) {
    if (request.method !== 'POST') return refuseMethod(request, response)
    const stranger = verifier.head(request.headers)
    if (accepting.isStopping() || stranger !== undefined) {
      discardBody(request)
      return stranger === undefined ? refuse(response, stoppingError()) : refuseStranger(response, stranger)
    }
    readBody(request, limit, (body) => {
      if (body === 'too-large')
        return refuse(response, new TriviumError('body_too_large', { limit, gateway }))
      receive(request, response, body)
    })
  }

  function receive(request: IncomingMessage, response: ServerResponse, raw: Buffer) {
    const forged = verifier.body(request.headers, raw)
    if (forged !== undefined) return refuseStranger(response, forged)
    const wait = takeToken()
    if (wait > 0) return refuse(response, rateError(), Math.ceil(wait / 1000))
    if (accepting.isStopping()) return refuse(response, stoppingError())
    try {
      const decoded = decodeRequest(request, raw)
      const challenge = options.verify.scheme === 'slack' ? slackChallenge(decoded) : undefined
      if (challenge !== undefined) return answer(response, 200, JSON.stringify({ challenge }))
      const message = normalize(request, decoded)
      const isFile = decoded.format === 'binary' || raw.length > INLINE_BYTES
      const accepted = isFile
        ? withFile(message, decoded, request, raw).then(deps.accept)
        : deps.accept(message)
      accepting.enter()
      accepted.then(
        (found) => {
          acknowledge(response, found)
          accepting.leave()
        },
        (error: unknown) => {
          answerRefusal(response, toTriviumError(error))
          accepting.leave()
        },
      )
    } catch (error) {
      refuse(response, toTriviumError(error))
    }
  }

  function acknowledge(response: ServerResponse, { id, duplicate }: Accepted) {
    if (options.respond === 'result') return void acknowledgeWithReply(response, id, duplicate)
    // The id is ours and needs no escaping.
    if (duplicate) return answer(response, 200, `{"id":"${id}","duplicate":true}`)
    answer(response, 202, `{"id":"${id}"}`)
  }

  async function acknowledgeWithReply(response: ServerResponse, id: string, duplicate: boolean) {
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    const signal = AbortSignal.any([gone.signal, closing.signal])
    const reply = await awaitReply(deps, id, options.timeout, signal)
    const status = duplicate || reply !== undefined ? 200 : 202
    answer(response, status, JSON.stringify({ id, ...(duplicate ? { duplicate } : {}), reply }))
  }

  async function withFile(
    message: NewMessage,
    decoded: DecodedBody,
    request: IncomingMessage,
    raw: Buffer,
  ): Promise<NewMessage> {
    const type = request.headers['content-type'] ?? 'application/octet-stream'
    const name = `body.${EXTENSIONS[decoded.format]}`
    const attachment = await deps.artifacts.save(name, type, Readable.from([raw]), limit)
    const { body: _body, ...data } = message.data
    return { ...message, text: '', data: { ...data, format: 'file' }, attachments: [attachment] }
  }

  function refuseMethod(request: IncomingMessage, response: ServerResponse) {
    const method = request.method ?? ''
    const allowed = `POST, for example: curl -d 'hello' http://HOST${options.path}`
    const error = new TriviumError('method_not_allowed', { method, path: options.path, allowed })
    discardBody(request)
    answerError(response, error, ['Allow', 'POST'])
  }

  function refuseStranger(response: ServerResponse, reason: string) {
    deps.refused('signature_invalid')
    const error = new TriviumError('signature_invalid', { gateway, reason })
    answerError(response, error, verifier.challenge ? ['WWW-Authenticate', verifier.challenge] : [])
  }

  function refuse(response: ServerResponse, error: TriviumError, seconds?: number) {
    deps.refused(error.code)
    answerRefusal(response, error, seconds)
  }

  /** Without counting: what `accept` refuses, it counts itself. A backlog shrinks soon, a store needs longer. */
  function answerRefusal(
    response: ServerResponse,
    error: TriviumError,
    seconds = error.code === 'overloaded' ? 1 : 5,
  ) {
    // A store that is away refuses thousands of times a second; its own part says so once.
    const level = error.code === 'internal' ? 'error' : 'debug'
    deps.log[level]({ err: error }, 'a delivery was refused')
    answerError(response, error, error.retryable ? ['Retry-After', String(seconds)] : [])
  }

  function rateError(): TriviumError {
    const { 'rate-limit': limit } = options
    const rate = limit === 'off' ? '' : `${limit.count} deliveries in ${formatDuration(limit.per)}`
    return new TriviumError('rate_limited', { gateway, rate })
  }

  return {
    /** Serves one request on the gateway's path. */
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

function decodeRequest(request: IncomingMessage, raw: Buffer): DecodedBody {
  const encoding = request.headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') {
    throw new TriviumError('bad_request', {
      reason: 'its body is compressed (Content-Encoding); send it as it is',
    })
  }
  return decodeBody(request.headers['content-type'], raw)
}

/** https://docs.slack.dev/reference/events/url_verification: proves that we listen; there is nothing to accept. */
function slackChallenge(decoded: DecodedBody): string | undefined {
  if (decoded.format !== 'json' || !isJsonObject(decoded.body)) return undefined
  const { type, challenge } = decoded.body
  return type === 'url_verification' && typeof challenge === 'string' ? challenge : undefined
}

/** Answers with JSON text. Header values are written as they are: numbers and names of ours only. */
function answer(response: ServerResponse, status: number, json: string, headers: string[] = []) {
  const length = String(Buffer.byteLength(json))
  response.writeHead(status, ['Content-Type', 'application/json', 'Content-Length', length, ...headers])
  response.end(json)
}

function answerError(response: ServerResponse, error: TriviumError, headers: string[]) {
  answer(response, error.status, JSON.stringify(errorBody(error)), headers)
}
