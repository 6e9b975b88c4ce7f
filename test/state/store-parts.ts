import type { Event } from '../../src/core/event.ts'
import type { Log } from '../../src/core/log.ts'
import type { Message } from '../../src/core/message.ts'

/** A log for tests that look at none. */
export const quiet: Log = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet }

/** What a store needs to open; the tests of state accept no messages. */
export const toEvent = (message: Message): Event => ({
  id: message.id,
  topic: 'gateway-message',
  type: message.transport,
  source: message.gateway,
  data: {},
  timestamp: message.receivedAt,
})
