import { MESSAGE_TOPIC } from '../../../src/core/event.ts'
import type { Log } from '../../../src/core/log.ts'
import type { Message, NewMessage } from '../../../src/core/message.ts'
import { createRedisStore, type RedisStoreOptions } from '../../../src/stores/redis/index.ts'

export const silent: Log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => silent,
}

/** The `toEvent` of these tests. */
export function toEvent(message: Message) {
  const data = { messageId: message.id, text: message.text }
  return {
    id: message.id,
    topic: MESSAGE_TOPIC,
    type: message.transport,
    source: message.gateway,
    data,
    timestamp: message.receivedAt,
  }
}

export function openStore(url: string, rest: Partial<RedisStoreOptions> = {}) {
  return createRedisStore({ url, toEvent, log: silent, ...rest })
}

export function saying(text: string, rest: Partial<NewMessage> = {}): NewMessage {
  return { gateway: 'demo', transport: 'webhook', from: { id: 'ada' }, text, data: {}, ...rest }
}
