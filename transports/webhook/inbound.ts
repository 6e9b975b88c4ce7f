import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { TriviumError, toTriviumError } from '../../src/core/errors.ts'
import { isJsonObject } from '../../src/core/json.ts'
import type { Accepted, NewMessage } from '../../src/core/message.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { formatDuration } from '../../src/core/units.ts'
import { discardBody, readBody } from '../../src/lib/read-body.ts'
import { createTokenBucket } from '../../src/lib/token-bucket.ts'
import type { WebhookOptions } from './config.ts'
import { type DecodedBody, decodeBody } from './decode-body.ts'
import { createNormalizer } from './normalize.ts'
import type { WebhookOutbound } from './outbound.ts'
import { answer, answerError } from './respond.ts'
import { createVerifier } from './verify.ts'

/** The receiving half of a webhook gateway. */
export type WebhookInbound = {
  /** Serves one request on the gateway's path. */
  handle(request: IncomingMessage, response: ServerResponse): void
  /** Refuses from now on; resolves when no delivery is between its body and its answer. */
  stop(): Promise<void>
  /** Answers the requests that wait for a reply with 202: their messages are durable. */
  release(): void
}

/** Bodies over this many bytes travel as a file. */
const INLINE_BYTES = 65_536
/** What a refused sender is told to wait (seconds): a backlog shrinks soon, a store comes back when it does. */
const RETRY_SECONDS = { backlog: '1', other: '5' }

/**
 * Makes the handler: method, credentials, body, signature, rate, accept, answer, in this order. Strangers
 * cannot use up the rate of a gateway, as only authentic deliveries count. Nothing is acknowledged before
 * `accept` has resolved.
 */
export function createInbound(
  options: WebhookOptions,
  deps: TransportDeps,
  outbound: WebhookOutbound,
): WebhookInbound {
  const { gateway } = deps
  const verifier = createVerifier(options.verify, deps.now)
  const normalize = createNormalizer(gateway, options, verifier.carriers)
  const takeToken = createTokenBucket(options['rate-limit'], deps.now)
  const limit = options['max-body']
  let stopping: (() => void) | undefined
  const held = new Set<AbortController>()
  let accepting = 0

  function handle(request: IncomingMessage, response: ServerResponse) {
    if (request.method !== 'POST') return refuseMethod(request, response)
    const stranger = verifier.head(request.headers)
    if (stopping || stranger !== undefined) {
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
    if (wait > 0) return refuse(response, rateError(), String(Math.ceil(wait / 1000)))
    if (stopping) return refuse(response, stoppingError())
    try {
      const decoded = decodeRequest(request, raw)
      const challenge = options.verify.scheme === 'slack' ? slackChallenge(decoded) : undefined
      if (challenge !== undefined) return answer(response, 200, JSON.stringify({ challenge }))
      const message = normalize(request, decoded)
      const isFile = decoded.format === 'binary' || raw.length > INLINE_BYTES
      const accepted = isFile
        ? withFile(message, decoded, request, raw).then(deps.accept)
        : deps.accept(message)
      accepting++
      accepted.then(
        (found) => {
          acknowledge(response, found)
          leave()
        },
        (error: unknown) => {
          answerRefusal(response, toTriviumError(error))
          leave()
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
    held.add(gone)
    response.once('close', () => gone.abort())
    const reply = await outbound.awaitReply(id, options.timeout, gone.signal)
    held.delete(gone)
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

  function refuse(response: ServerResponse, error: TriviumError, seconds?: string) {
    deps.refused(error.code)
    answerRefusal(response, error, seconds)
  }

  /** Without counting: what `accept` refuses, it counts itself. */
  function answerRefusal(response: ServerResponse, error: TriviumError, seconds?: string) {
    // A store that is away refuses thousands of times a second; its own part says so once.
    const level = error.code === 'internal' ? 'error' : 'debug'
    deps.log[level]({ err: error }, 'a delivery was refused')
    const wait = seconds ?? RETRY_SECONDS[error.code === 'overloaded' ? 'backlog' : 'other']
    answerError(response, error, error.retryable ? ['Retry-After', wait] : [])
  }

  function leave() {
    accepting--
    if (accepting === 0) stopping?.()
  }

  function rateError(): TriviumError {
    return new TriviumError('rate_limited', { gateway, rate: rateText(options['rate-limit']) })
  }

  return {
    handle,
    stop() {
      const { promise, resolve } = Promise.withResolvers<void>()
      stopping = resolve
      if (accepting === 0) resolve()
      return promise
    },
    release() {
      for (const one of held) one.abort()
    },
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

function stoppingError(): TriviumError {
  return new TriviumError('store_unavailable', { store: 'gateway', reason: 'the daemon is stopping' })
}

function rateText(rate: WebhookOptions['rate-limit']): string {
  return rate === 'off' ? 'any number' : `${rate.count} deliveries in ${formatDuration(rate.per)}`
}
