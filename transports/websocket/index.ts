import type { TransportKind } from '../../src/core/transport.ts'
import { type WebsocketOptions, websocketOptions } from './config.ts'
import { targetFault } from './conversation-ids.ts'
import { frames } from './frames.ts'

/** The WebSocket transport: conversations that continue over reconnects without loss. */
export const websocket: TransportKind<WebsocketOptions> = {
  kind: 'websocket',
  options: websocketOptions,
  frames,
  create: async (options, deps) => (await import('./gateway.ts')).createGateway(options, deps),
  targetFault,
  eventData({ from, text, attachments, data }) {
    // The sender's fields must not overwrite those set by the daemon.
    const { messageId: _id, conversation: _conversation, respond: _r, replyTarget: _t, ...fields } = data
    return { ...fields, from: from.id, body: text, ...(attachments.length > 0 ? { attachments } : {}) }
  },
}
