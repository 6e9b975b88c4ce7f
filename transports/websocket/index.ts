import type { TransportKind } from '../../src/core/transport.ts'
import { type WebsocketOptions, websocketOptions } from './config.ts'
import { targetFault } from './conversation-ids.ts'
import { frames } from './frames.ts'

/** The WebSocket transport: a conversation over one connection after another, with nothing lost between. */
export const websocket: TransportKind<WebsocketOptions> = {
  kind: 'websocket',
  options: websocketOptions,
  frames,
  create: async (options, deps) => (await import('./gateway.ts')).createGateway(options, deps),
  targetFault,
  eventData({ from, text, attachments, data }) {
    // What the roads say about a message must not be overwritten by what its sender says.
    const { messageId: _id, conversation: _conversation, respond: _r, replyTarget: _t, ...said } = data
    return { ...said, from: from.id, body: text, ...(attachments.length > 0 ? { attachments } : {}) }
  },
}
