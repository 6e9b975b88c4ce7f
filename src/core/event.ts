import { z } from 'zod'

/** The topic on which every inbound message appears as an event. A view of the journal. */
export const MESSAGE_TOPIC = 'gateway-message'

/** Prefix of the topics in which gateways keep replies. Not accessible through `event-*`. */
export const REPLY_TOPICS = 'replies/'

/** Topic through which daemons on one Redis share log lines. Not accessible through `event-*`. */
export const LOG_TOPIC = 'trivium/log'

/** Topic of operational problems, one event each. Readable by operators, written by the daemon only. */
export const OPERATIONS_TOPIC = 'trivium-operations'

/** Prefix of the topics in which notifications wait for their POST. */
export const NOTIFY_TOPICS = 'trivium-operations/'

/** Whether only operators may read a topic. */
export function isForOperators(topic: string): boolean {
  return topic === OPERATIONS_TOPIC || topic.startsWith(NOTIFY_TOPICS)
}

/** One event on a topic. */
export const eventSchema = z.object({
  id: z.string().describe('A UUIDv7. On `gateway-message`, the id of the message.'),
  topic: z.string(),
  type: z
    .string()
    .describe('On `gateway-message`, the transport. `gap`: events were missed, see `data.missed`.'),
  source: z
    .string()
    .describe(
      'On `gateway-message`, the gateway. Otherwise the publisher: a skill, a gateway, `token:NAME`, `cli`, `http`.',
    ),
  data: z.json(),
  timestamp: z.number().describe('Unix time in milliseconds.'),
  rootContextId: z.string().exactOptional().describe('The invocation that emitted it, if any.'),
})

export type Event = z.infer<typeof eventSchema>

/** Input of `publish`; the store assigns the id. Events with the same `key` within 7 days are published once. */
export type NewEvent = Omit<Event, 'id' | 'topic' | 'timestamp'> & { timestamp?: number; key?: string }
