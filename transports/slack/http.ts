import type { IncomingMessage, ServerResponse } from 'node:http'
import { TriviumError, toTriviumError } from '../../src/core/errors.ts'
import { isJsonObject, type JsonObject } from '../../src/core/json.ts'
import type { Health, TransportDeps } from '../../src/core/transport.ts'
import { readBody } from '../../src/lib/read-body.ts'
import { createSignatureCheck } from '../../src/lib/signatures.ts'
import { textAt } from './fields.ts'
import type { Taken } from './inbound/answers.ts'
import type { PayloadKind } from './inbound/inbound.ts'
import type { HttpOptions } from './options.ts'

/** Slack's requests are far smaller; a stranger's need not be read on. */
const MAX_BODY = 2 * 1024 * 1024
/** https://docs.slack.dev/authentication/verifying-requests-from-slack: older requests may be replayed. */
const MAX_AGE = 5 * 60_000

/** HTTP mode: events, interactions and commands on one path, each proved by its signature over the raw body. */
export type HttpListener = { start(): void; stop(): Promise<void>; health(): Health }

export function createHttpListener(
  options: HttpOptions,
  deps: TransportDeps,
  take: (kind: PayloadKind, payload: JsonObject) => Promise<Taken>,
): HttpListener {
  const { gateway } = deps
  const signature = createSignatureCheck(
    { scheme: 'slack', secret: options.signingSecret, tolerance: MAX_AGE },
    deps.now,
  )
  let unmount: (() => void) | undefined
  let lastEvent = deps.now()

  function handle(request: IncomingMessage, response: ServerResponse) {
    void serve(request)
      .then((body) => answer(response, 200, body))
      .catch((thrown: unknown) => {
        const error = toTriviumError(thrown)
        deps.log.debug({ err: error }, 'a request of Slack was refused')
        const { code, message } = error
        answer(response, error.status, JSON.stringify({ error: { code, message } }), error.retryable)
      })
  }

  async function serve(request: IncomingMessage): Promise<string> {
    if (request.method !== 'POST') {
      const { method = '' } = request
      throw new TriviumError('method_not_allowed', { method, path: options.path, allowed: 'POST' })
    }
    const raw = await readRaw(request, gateway)
    const forged = signature.head(request.headers) ?? signature.body(request.headers, raw)
    if (forged !== undefined) {
      deps.refused('signature_invalid')
      throw new TriviumError('signature_invalid', { gateway, reason: forged })
    }
    lastEvent = deps.now()
    const { kind, payload } = readPayload(request.headers['content-type'] ?? '', raw.toString('utf8'))
    // As a socket's envelope says it: what comes for the last time is not refused.
    const retry = Number(request.headers['x-slack-retry-num'] ?? 0)
    if (retry > 0) payload.retry_attempt = retry
    if (payload.type === 'url_verification')
      return JSON.stringify({ challenge: textAt(payload, 'challenge') ?? '' })
    // Slack sends this now and then to see whether the certificate is good; there is nothing to do.
    if (payload.ssl_check !== undefined) return ''
    const taken = await take(kind, payload)
    return taken && 'response' in taken ? JSON.stringify(taken.response) : ''
  }

  return {
    start() {
      unmount = deps.http.mount(options.path, handle)
    },
    async stop() {
      unmount?.()
      unmount = undefined
    },
    health() {
      const gauges = { secondsSinceEvent: (deps.now() - lastEvent) / 1000 }
      return unmount
        ? { ok: true, detail: `listening at ${options.path}`, gauges }
        : { ok: false, detail: 'not listening', gauges }
    },
  }
}

/** Events come as JSON, interactions as JSON in a form field, commands as a form. */
function readPayload(type: string, raw: string): { kind: PayloadKind; payload: JsonObject } {
  if (!type.startsWith('application/x-www-form-urlencoded')) return { kind: 'event', payload: parse(raw) }
  const form = new URLSearchParams(raw)
  const payload = form.get('payload')
  if (payload !== null) return { kind: 'interaction', payload: parse(payload) }
  return { kind: 'command', payload: Object.fromEntries(form) }
}

function parse(text: string): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new TriviumError('bad_request', { reason: 'its body is not JSON' }, { cause })
  }
  if (isJsonObject(value)) return value
  throw new TriviumError('bad_request', { reason: 'its body is no JSON object' })
}

async function readRaw(request: IncomingMessage, gateway: string): Promise<Buffer> {
  const body = await new Promise<Buffer | 'too-large'>((done) => readBody(request, MAX_BODY, done))
  if (body === 'too-large') throw new TriviumError('body_too_large', { limit: MAX_BODY, gateway })
  return body
}

function answer(response: ServerResponse, status: number, body: string, retry = false) {
  response.writeHead(status, {
    ...(body === '' ? {} : { 'content-type': 'application/json' }),
    'content-length': Buffer.byteLength(body),
    ...(retry ? { 'retry-after': '5' } : {}),
  })
  response.end(body)
}
