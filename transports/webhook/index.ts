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
  eventData({ from, text, attachments, data }) {
    const { event = null, headers = {}, body = text } = data
    return { from: from.id, event, headers, body, ...(attachments.length > 0 ? { attachments } : {}) }
  },
  unanswerable({ data }) {
    if (data.respond === 'result') return undefined
    return 'its sender had its answer and waits for no reply; set `respond: result` on the gateway'
  },
}
