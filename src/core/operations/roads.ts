import { z } from 'zod'
import { attachmentSchema } from '../message.ts'
import { operation } from './operation.ts'

const name = z.string().min(1)
const ms = z.int().min(1)
const timeout = z.int().min(0).default(60_000).describe('How long to wait, in ms')

/** The events road: `event-…`. */
export const events = {
  /** Throws `topic_reserved` for `gateway-message`. */
  emit: operation('Publishes an event on a topic and returns its id.', {
    topic: name.describe('The topic; any name but gateway-message'),
    type: z.string().exactOptional().describe('What kind of event it is'),
    data: z.json().default(null).describe('What the event carries, as JSON'),
  }),
  /** Without `queue` the group is one of `call.rootId`. Idempotent. */
  subscribe: operation(
    'Buffers the events of a topic for a consumer group, from now or from the start of what is kept.',
    {
      topic: name.describe('The topic, for example gateway-message'),
      queue: name
        .exactOptional()
        .describe('The consumer group; without it you get one of your own, with a name to wait with'),
      replay: z.boolean().default(false).describe('Start with the oldest event that is kept'),
      ref: name.exactOptional().describe('A skill to invoke for each event'),
    },
  ),
  unsubscribe: operation('Ends a subscription, and drops what its consumer group has not read.', {
    topic: name.describe('The topic'),
    queue: name.exactOptional().describe('The consumer group; without it that of this invocation'),
    ref: name.exactOptional().describe('The skill that was invoked for each event'),
  }),
  /** Without `queue` it reads the caller's own group, and without one of those waits for what comes next. */
  wait: operation(
    'Returns the events of a topic: at once where there are any, else as soon as one comes; [] at the timeout.',
    {
      topic: name.describe('The topic, for example gateway-message'),
      queue: name
        .exactOptional()
        .describe('The consumer group; without it that of this invocation, or what comes next'),
      timeout,
      ack: z.boolean().default(true).describe('Consume what is returned; false only looks'),
      max: z.int().min(1).max(10_000).default(100).describe('The most events to return'),
      lease: ms.exactOptional().describe('Hide what is returned from the group for that many ms'),
    },
  ),
  ack: operation('Consumes events that were only looked at or leased, or gives them back.', {
    topic: name.describe('The topic'),
    queue: name.describe('The consumer group'),
    ids: z.array(z.string()).min(1).describe('The ids of the events'),
    nack: z.boolean().default(false).describe('Give them back instead of consuming them'),
    delay: z.int().min(0).default(0).describe('With nack: visible again after that many ms'),
  }),
}

/** The receive road, the outbox, and the gateways themselves: `gateway-…`. */
export const gateways = {
  /** A call inside a conversation means that, unless it names another. */
  receive: operation('Takes the oldest inbound message, so that nobody else gets it; null at the timeout.', {
    gateway: name.exactOptional().describe('Only messages of this gateway'),
    conversation: name.exactOptional().describe('Only messages of this conversation'),
    timeout,
    lease: ms.exactOptional().describe('It comes back unless gateway-ack is called within that many ms'),
  }),
  ack: operation('Consumes a message that gateway-receive returned with a lease.', {
    receipt: name.describe('The receipt of the message'),
  }),
  /**
   * It answers the message of the call, or that of `messageId` or `receipt`. Without `key` it is `message:route:ordinal`. Throws
   * `no_reply_target`, `target_not_allowed`, `message_not_found`, `receipt_expired`, `forbidden`, `send_rejected` where `data` asks
   * for what only Trivium itself sends.
   */
  send: {
    description:
      'Replies into the current conversation, or from anywhere to the message that messageId or receipt names, or sends to another target where the gateway allows that.',
    args: z
      .strictObject({
        text: z.string().describe('What to send'),
        subject: z.string().exactOptional().describe('The subject, where the transport has one'),
        attachments: z.array(attachmentSchema).exactOptional().describe('Files that Trivium already keeps'),
        data: z
          .record(z.string(), z.json())
          .exactOptional()
          .describe('What else the transport can do, such as blocks, a modal or an ephemeral reply in Slack'),
        messageId: name.exactOptional().describe('Answer this message, from anywhere'),
        receipt: name.exactOptional().describe('Answer the message that has this receipt of gateway-receive'),
        gateway: name.exactOptional().describe('Another gateway than that of the message; needs `to`'),
        to: name.exactOptional().describe('Another target than the conversation; needs `gateway`'),
        key: name
          .exactOptional()
          .describe('The same key is sent once; with messageId or receipt for that message'),
        wait: z.int().min(0).exactOptional().describe('Wait that many ms for what the transport says'),
      })
      .refine(
        ({ messageId, receipt, gateway, to = gateway }) =>
          [messageId, receipt, to].filter(Boolean).length <= 1,
        'give one of messageId, receipt, or gateway with to: each says where it goes',
      ),
  },
  list: operation('Lists the gateways that run, and whether each is well.', {}),
}

/** `refused`: those that this daemon remembers. */
export const refusals = {
  refused: operation('Lists what gateways refused last: when, from where, why, and how it began.', {
    gateway: name.exactOptional().describe('Only refusals of this gateway'),
  }),
}

/** The journal: `message-…`. */
export const messages = {
  list: operation('Lists messages, newest first.', {
    gateway: name.exactOptional().describe('Only messages of this gateway'),
    conversation: name.exactOptional().describe('Only messages of this conversation'),
    before: name.exactOptional().describe('Only messages older than the one with this id'),
    limit: z.int().min(1).max(1000).default(20).describe('The most messages to list'),
  }),
  /** Throws `message_not_found`. */
  show: operation('Shows a whole message and what happened to it on each road.', {
    id: name.describe('The id of the message'),
  }),
}
