import type { JsonObject } from '../../src/core/json.ts'
import type { Message } from '../../src/core/message.ts'
import type { TransportKind } from '../../src/core/transport.ts'
import { type WebsocketOptions, websocketOptions } from './config.ts'
import { frames } from './frames.ts'

/** The WebSocket transport: a conversation over one connection after another, with nothing lost between. */
export const websocket: TransportKind<WebsocketOptions> = {
  kind: 'websocket',
  options: websocketOptions,
  frames,
  create: async (options, deps) => (await import('./gateway.ts')).createGateway(options, deps),
  eventData,
}

function eventData(message: Message): JsonObject {
  // What the roads say about a message must not be overwritten by what its sender says.
  const { messageId: _id, conversation: _conversation, respond: _r, replyTarget: _t, ...said } = message.data
  return {
    ...said,
    from: message.from.id,
    body: message.text,
    ...(message.attachments.length > 0 ? { attachments: message.attachments } : {}),
  }
}
