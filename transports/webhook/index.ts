import type { JsonObject } from '../../src/core/json.ts'
import type { Message } from '../../src/core/message.ts'
import type { TransportKind } from '../../src/core/transport.ts'
import { sendToRequest } from '../kept-reply.ts'
import { checkDoor } from '../options.ts'
import { type WebhookOptions, webhookOptions } from './config.ts'
import { createInbound } from './inbound.ts'

/** The webhook transport: deliveries over HTTP POST, answered once they are durable. */
export const webhook: TransportKind<WebhookOptions> = {
  kind: 'webhook',
  options: webhookOptions,
  async create(options, deps) {
    const inbound = createInbound(options, deps)
    const { scheme } = options.verify
    const door = checkDoor(deps.http, 'verify', scheme === 'none' ? undefined : scheme)
    let unmount: (() => void) | undefined
    return {
      async start() {
        if (door.warning) deps.log.warn({ path: options.path }, door.detail)
        unmount = deps.http.mount(options.path, inbound.handle)
      },
      send: (reply) => sendToRequest(deps, reply),
      // The path stays until `close`, so that senders hear "try again" and not "there is nothing here".
      stop: inbound.stop,
      async close() {
        unmount?.()
        inbound.release()
      },
      health: () => (unmount ? { ok: true, detail: options.path } : { ok: false, detail: 'not started' }),
      check: async () => [door],
    }
  },
  eventData,
  unanswerable({ data }) {
    if (data.respond === 'result') return undefined
    return 'its sender had its answer and waits for no reply; set `respond: result` on the gateway'
  },
}

function eventData(message: Message): JsonObject {
  const { event, headers, body } = message.data
  return {
    from: message.from.id,
    event: event ?? null,
    headers: headers ?? {},
    body: body === undefined ? message.text : body,
    ...(message.attachments.length > 0 ? { attachments: message.attachments } : {}),
  }
}
