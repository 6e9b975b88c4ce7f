import type { IncomingMessage, ServerResponse } from 'node:http'
import { TriviumError } from '../../src/core/errors.ts'
import { isJsonObject, type JsonObject, parseJson, textAt } from '../../src/core/json.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { MIB, MINUTE } from '../../src/core/units.ts'
import { answerJson } from '../../src/lib/http.ts'
import { createSignatureCheck, SLACK } from '../../src/lib/signatures.ts'
import { lastEventText } from './last-event-text.ts'
import type { Listener, Listening } from './listener.ts'
import type { HttpOptions } from './options.ts'

/** Slack's requests are far smaller. */
const MAX_BODY_BYTES = 2 * MIB
/**
 * Older requests may be replays:
 * https://docs.slack.dev/authentication/verifying-requests-from-slack
 */
const MAX_AGE_MS = 5 * MINUTE

/**
 * HTTP mode: events, interactions and commands on one path, each verified by its signature over the
 * raw body.
 */
export function createHttpListener(
  options: HttpOptions,
  { gateway, http, now, refused }: TransportDeps,
  { take, connected }: Listening,
): Listener {
  const keys = options['signing-secret'].map((secret) => Buffer.from(secret))
  const checkSignature = createSignatureCheck([SLACK], keys, MAX_AGE_MS, now)
  let unmount: (() => void) | undefined
  let lastEvent = now()
  let hasEvent = false

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const raw = await http.readBody(request, MAX_BODY_BYTES, gateway)
    const { headers, socket } = request
    const reason = checkSignature({ headers, raw })
    if (reason !== undefined) {
      refused('signature_invalid', { from: socket.remoteAddress, why: reason, body: raw, headers })
      throw new TriviumError('signature_invalid', { gateway, reason })
    }
    lastEvent = now()
    hasEvent = true
    const payload = readPayload(request.headers['content-type'] ?? '', raw.toString('utf8'))
    // The header is missing in a first delivery.
    const retry = Number(request.headers['x-slack-retry-num'] ?? 0)
    if (payload.type === 'url_verification') {
      return answerJson(response, 200, JSON.stringify({ challenge: textAt(payload, 'challenge') ?? '' }))
    }
    // Slack checks the certificate of slash commands from time to time; the request names no
    // workspace.
    if (payload.ssl_check !== undefined) return void response.end()
    const answer = await take(payload, retry)
    if (answer) answerJson(response, 200, JSON.stringify(answer))
    else response.end()
  }

  return {
    start() {
      unmount = http.mount(options.path, handle)
      connected()
    },
    async stop() {
      unmount?.()
    },
    health() {
      const silence = now() - lastEvent
      const detail = `listening at ${options.path}, ${lastEventText(hasEvent, silence)}`
      return { ok: true, detail, gauges: { secondsSinceEvent: silence / 1000 } }
    },
  }
}

/** Events are JSON, interactions are JSON in a form field, commands are forms. */
function readPayload(type: string, raw: string): JsonObject {
  const form = type.startsWith('application/x-www-form-urlencoded') ? new URLSearchParams(raw) : undefined
  if (form?.has('payload') === false) return Object.fromEntries(form)
  const payload = parseJson(form?.get('payload') ?? raw)
  if (isJsonObject(payload)) return payload
  throw new TriviumError('bad_request', { reason: 'its body is not a JSON object' })
}
