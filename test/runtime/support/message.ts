import type { Message } from '../../../src/core/message.ts'

/** A message with defaults for everything that the test does not set. */
export function messageOf(parts: Partial<Message> = {}): Message {
  return {
    id: '019ab000-0000-7000-8000-000000000000',
    gateway: 'chat',
    transport: 'websocket',
    conversation: 'c1',
    receivedAt: 0,
    from: { id: 'alice' },
    text: 'hello',
    data: {},
    attachments: [],
    trace: 'a'.repeat(32),
    ...parts,
  }
}
