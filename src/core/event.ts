import { z } from 'zod'

/** The topic on which every inbound message is visible as an event. It is a view of the journal. */
export const MESSAGE_TOPIC = 'gateway-message'

/** How the topics begin in which gateways keep their replies. Nobody reads or writes them through `event-*`. */
export const REPLY_TOPICS = 'replies/'

/** The topic of what daemons on one Redis write into their logs, for all of them to copy. As closed as replies. */
export const LOG_TOPIC = 'trivium/log'

/** The topic of what goes wrong, one event each. Only operators read it, and only the daemon writes it. */
export const OPERATIONS_TOPIC = 'trivium-operations'

/** How the topics begin in which notifications wait that are POSTed. */
export const NOTIFY_TOPICS = 'trivium-operations/'

/** Whether a topic is for operators alone. */
export function isForOperators(topic: string): boolean {
  return topic === OPERATIONS_TOPIC || topic.startsWith(NOTIFY_TOPICS)
}

/** One event on a topic. */
export const eventSchema = z.object({
  id: z.string().describe('A UUIDv7. Of `gateway-message`: the id of the message.'),
  topic: z.string(),
  type: z
    .string()
    .describe('Of `gateway-message`: the transport. `gap` tells how many were missed: `data.missed`.'),
  source: z
    .string()
    .describe(
      'Of `gateway-message`: the gateway. Else who published it: a skill, a gateway, `token:NAME`, `cli`, `http`.',
    ),
  data: z.json(),
  timestamp: z.number().describe('Unix time in milliseconds.'),
  rootContextId: z.string().exactOptional().describe('The invocation that emitted it, where there is one.'),
})

export type Event = z.infer<typeof eventSchema>

/** What `publish` takes; the store gives the id. With `key`, the same key within 7 days is published once. */
export type NewEvent = Omit<Event, 'id' | 'topic' | 'timestamp'> & { timestamp?: number; key?: string }
