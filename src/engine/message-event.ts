import type { Message } from '../core/message.ts'
import type { TransportKind } from '../core/transport.ts'

/** The event of a message on `gateway-message`: flat `data`; `messageId` refers to the full message. */
export function createToEvent(kinds: ReadonlyMap<string, TransportKind>) {
  return (message: Message) => ({
    id: message.id,
    topic: 'gateway-message',
    type: message.transport,
    source: message.gateway,
    data: {
      messageId: message.id,
      conversation: message.conversation,
      ...kinds.get(message.transport)?.eventData(message),
    },
    timestamp: message.receivedAt,
  })
}
