import type { IncomingMessage, ServerResponse } from 'node:http'
import { TriviumError, toTriviumError } from '../../src/core/errors.ts'
import { isJsonObject, type JsonObject } from '../../src/core/json.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { readBody } from '../../src/lib/read-body.ts'
import { createSignatureCheck } from '../../src/lib/signatures.ts'
import { parsed, textAt } from './fields.ts'
import type { PayloadKind } from './inbound/delivery.ts'
import type { HttpOptions } from './options.ts'
import type { Listener, Listening } from './socket.ts'

/** Slack's requests are far smaller; a stranger's need not be read on. */
const MAX_BODY = 2 * 1024 * 1024
/** https://docs.slack.dev/authentication/verifying-requests-from-slack: older requests may be replayed. */
const MAX_AGE = 5 * 60_000

/** HTTP mode: events, interactions and commands on one path, each proved by its signature over the raw body. */
export function createHttpListener(
  options: HttpOptions,
  deps: TransportDeps,
  { take, connected }: Listening,
): Listener {
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
    const raw = await new Promise<Buffer | 'too-large'>((done) => readBody(request, MAX_BODY, done))
    if (raw === 'too-large') throw new TriviumError('body_too_large', { limit: MAX_BODY, gateway })
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
    if (payload.type === 'url_verification') {
      return JSON.stringify({ challenge: textAt(payload, 'challenge') ?? '' })
    }
    const taken = await take(kind, payload)
    return taken && 'response' in taken ? JSON.stringify(taken.response) : ''
  }

  return {
    start() {
      unmount = deps.http.mount(options.path, handle)
      connected()
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
  const value = parsed(text)
  if (isJsonObject(value)) return value
  throw new TriviumError('bad_request', { reason: 'its body is no JSON object' })
}

function answer(response: ServerResponse, status: number, body: string, retry = false) {
  if (body !== '') response.setHeader('content-type', 'application/json')
  if (retry) response.setHeader('retry-after', '5')
  response.writeHead(status, { 'content-length': Buffer.byteLength(body) })
  response.end(body)
}
