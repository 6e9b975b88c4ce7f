import { isJsonObject, parseJson } from '../../src/core/json.ts'
import type { Transport, TransportDeps, TransportKind } from '../../src/core/transport.ts'
import { createInFlight } from '../../src/lib/in-flight.ts'
import { checkedText } from '../deliveries/checked-secret.ts'
import { createRefusedDeliveries } from '../deliveries/refused-deliveries.ts'
import { createVerifier, presetOf } from '../deliveries/verifier.ts'
import { checkProtection } from '../options.ts'
import { refuseTarget, sendToRequest } from '../reply-to-request.ts'
import { createAnswers } from './answers.ts'
import { type WebhookOptions, webhookOptions } from './config.ts'
import type { KeepingHost } from './host.ts'
import { readHttpAnswer } from './http-answer.ts'
import { createFieldReader } from './normalize.ts'
import { createServe } from './serve.ts'

/** The webhook transport: deliveries over HTTP POST, answered once they are durable. */
export const webhook: TransportKind<WebhookOptions, KeepingHost> = {
  kind: 'webhook',
  options: webhookOptions,
  create: async (options, deps) => createGateway(options, deps),
  eventData({ from, text, attachments, data }) {
    const { event = null, headers = {}, body = text } = data
    return { from: from.id, event, headers, body, ...(attachments.length > 0 ? { attachments } : {}) }
  },
  /** A text that is a JSON object is the body, as in a delivery. */
  example: ({ text, data }) =>
    'body' in data || 'format' in data || !isJsonObject(parseJson(text)) ? data : { format: 'json', ...data },
  unanswerable({ data }) {
    if (data.respond === 'result') return undefined
    return 'its sender already has its answer; set `respond: result` if it reads the response, or let a skill call its API'
  },
}

function createGateway(options: WebhookOptions, deps: TransportDeps & KeepingHost): Transport {
  const { gateway, http } = deps
  const address = () => addressOf(http.publicUrl(), options.path)
  const context = { gateway, now: deps.now, log: deps.log, address, body: options.body }
  const verifier = createVerifier(options.verify, context)
  const refusedDeliveries = createRefusedDeliveries(options.verify, deps.keptRefused, context)
  const preset = presetOf(options.verify)
  const answers = createAnswers(options, deps, preset)
  const accepting = createInFlight()
  const serve = createServe(options, deps, { verifier, preset, refusedDeliveries, answers, accepting })
  const protection = checkProtection(http, 'verify', checkedText(options.verify))
  let unmount: (() => void) | undefined

  return {
    async start() {
      if (protection.warning && !http.isLocal) deps.log.warn({ path: options.path }, protection.detail)
      unmount = http.mount(options.path, serve)
    },
    requireTarget: async () => refuseTarget(gateway),
    async send(reply) {
      // Validated here, so that the sender sees the error.
      if (reply.data?.http !== undefined) readHttpAnswer(gateway, reply.data.http)
      return sendToRequest(deps, reply)
    },
    // The path stays mounted until `close`, so that senders get 503 and not 404.
    stop: accepting.stop,
    async close() {
      unmount?.()
      answers.close()
    },
    health: () => (unmount ? { ok: true, detail: options.path } : { ok: false, detail: 'not started' }),
    check: async () => [protection],
    hasConnection: false,
    tryRefused: refusedDeliveries.try,
    recheckRefused: refusedDeliveries.recheck,
    fieldsOf: createFieldReader(gateway, options),
  }
}

/** The public address of a gateway. Proxy headers are ignored, as anyone can send them. */
function addressOf(publicUrl: string | undefined, path: string): string | undefined {
  return publicUrl && publicUrl.replace(/\/+$/, '') + path
}
