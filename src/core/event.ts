import { z } from 'zod'
import { AUDIT_TOPIC } from './audit.ts'

/** The topic on which every inbound message appears as an event. A view of the journal. */
export const MESSAGE_TOPIC = 'gateway-message'

/** Prefix of the topics in which gateways keep replies. Not accessible through `event-*`. */
export const REPLY_TOPICS = 'replies/'

/** Topic through which daemons on one Redis share log lines. Not accessible through `event-*`. */
export const LOG_TOPIC = 'trivium/log'

/**
 * Topic of late answers: those sent long after their messages. Lists of conversations are ordered
 * by them. Its events have no content. Not accessible through `event-*`.
 */
export const LATE_ANSWERS_TOPIC = 'trivium/late-answers'

/** Whether a topic is not accessible through `event-*`. */
export function isInternal(topic: string): boolean {
  return (
    topic === LOG_TOPIC ||
    topic === LATE_ANSWERS_TOPIC ||
    topic === AUDIT_TOPIC ||
    topic.startsWith(REPLY_TOPICS)
  )
}

/**
 * Topic of operational problems, one event each. Readable by operators, written by the daemon only.
 */
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
  topic: z.string().describe('The topic.'),
  type: z
    .string()
    .describe('On `gateway-message`, the transport. `gap`: events were missed, see `data.missed`.'),
  source: z
    .string()
    .describe(
      'On `gateway-message`, the gateway. Otherwise the publisher: a skill, a gateway, `token:NAME`, `cli`, `http`.',
    ),
  data: z.json().describe('What the publisher gave.'),
  timestamp: z.number().describe('Unix time in milliseconds.'),
  rootContextId: z.string().exactOptional().describe('The invocation that emitted it, if any.'),
})

export type Event = z.infer<typeof eventSchema>

/** An event of `gateway-message`. Its transport adds further fields to `data`. */
export const messageEventSchema = eventSchema.extend({
  topic: z.literal(MESSAGE_TOPIC).describe('The topic.'),
  data: z
    .looseObject({
      messageId: z.string().describe('The id of the message.'),
      conversation: z.string().describe('Its conversation.'),
      from: z.string().describe('Its sender: an address, or the id that the transport uses.'),
    })
    .describe('Fields of the message. The transport adds more.'),
})

/** The event that a reader gets first if retention removed events that it had not read. */
export const gapEventSchema = eventSchema.extend({
  type: z.literal('gap').describe('Always `gap`.'),
  source: z.literal('trivium').describe('Always `trivium`.'),
  data: z.object({ missed: z.int().describe('How many events were removed unread.') }),
})

/**
 * Input of `publish`; the store assigns the id. Events with the same `key` within 7 days are
 * published once.
 */
export type NewEvent = Omit<Event, 'id' | 'topic' | 'timestamp'> & { timestamp?: number; key?: string }
