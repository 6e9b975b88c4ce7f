import type { Message } from '../core/message.ts'
import type { TransportKind } from '../core/transport.ts'

/**
 * The event of a message on `gateway-message`: flat `data`; `messageId` refers to the full message.
 * Fields of the sender do not replace those of the message.
 */
export function createToEvent(kinds: ReadonlyMap<string, TransportKind>) {
  return (message: Message) => {
    const fields = kinds.get(message.transport)?.eventData(message) ?? {}
    const { messageId: _id, conversation: _conversation, ...data } = fields
    return {
      id: message.id,
      topic: 'gateway-message',
      type: message.transport,
      source: message.gateway,
      data: { messageId: message.id, conversation: message.conversation, ...data },
      timestamp: message.receivedAt,
    }
  }
}
