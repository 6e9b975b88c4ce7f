import { type ZodType, z } from 'zod'
import { closed, limit, ms, name, open, optional, timeout, ttl, wait } from './arguments.ts'
import type { Call } from './call.ts'
import { eventRange } from './job-operations.ts'
import { jsonObjectSchema } from './json.ts'
import { matchSchema, type RouteMatch } from './match.ts'
import { attachmentSchema } from './message.ts'
import { moment, span } from './send-operations.ts'

export { assistant, delegations, schedules, tasks, workbench } from './assistant-operations.ts'
export { audit } from './audit.ts'
export { longJobs } from './job-operations.ts'
export { conversations, deadLetters, messages } from './message-operations.ts'
export { pauses } from './pause-operations.ts'
export { people } from './person-operations.ts'
export { subscriptions } from './push-operations.ts'
export { sends } from './send-operations.ts'
export { usage } from './usage-operations.ts'

/**
 * Operations that are methods of a part, with their arguments. Each is a skill; keys are the names without
 * the common prefix.
 */
export type Operations = Record<string, ZodType>

/** The part that implements these operations. The result of a method is the result of the skill, as JSON. */
export type ServiceOf<O extends Operations> = {
  [K in keyof O]: (args: z.infer<O[K]>, call: Call) => Promise<unknown>
}

const match = matchSchema.transform((given): RouteMatch => given).exactOptional()
const recipients = z.union([name, z.array(name).min(1)]).exactOptional()

/** The events road: `event-…`. */
export const events = {
  /** Throws `topic_reserved` for `gateway-message`. */
  emit: closed({
    topic: name.describe('The topic; any name but gateway-message'),
    type: z.string().exactOptional().describe('The type of the event'),
    data: z.json().default(null).describe('The data of the event, as JSON'),
  }).describe('Publishes an event on a topic and returns its id.'),
  /** Without `queue` the group is one of `call.rootId`. Idempotent. */
  subscribe: closed({
    topic: name.describe('The topic, for example gateway-message'),
    queue: optional('The consumer group; default: a new one of your own, whose name is returned'),
    replay: z.boolean().default(false).describe('Start with the oldest retained event'),
    ref: optional('A skill to invoke for each event'),
    match: match.describe(
      'Only events that match, with the keys of a route; others are acknowledged for the group. {} removes the filter',
    ),
    maxDeliveries: z
      .int()
      .min(1)
      .max(1_000_000)
      .exactOptional()
      .describe('Deliveries under a lease after which an event becomes a dead letter of the group'),
  }).describe(
    'Creates a consumer group that buffers the events of a topic, from now or from the oldest retained event.',
  ),
  unsubscribe: closed({
    topic: name.describe('The topic'),
    queue: optional('The consumer group; without it that of this invocation'),
    ref: optional('The skill that was invoked for each event'),
  }).describe('Removes a consumer group and its unread events.'),
  /** Throws `group_not_found`. */
  seek: closed({
    topic: name.describe('The topic'),
    queue: name.describe('The consumer group'),
    to: z.enum(['start', 'now']).describe('start: all retained events again; now: skip unread events'),
  }).describe('Moves a consumer group to the start or the end of its topic.'),
  /** Throws `group_not_found`, and `bad_request` for a range that ends before it begins. */
  replay: closed({
    topic: name.describe('The topic'),
    queue: name.describe('The consumer group'),
    ...eventRange,
  }).describe('Redelivers consumed events to a consumer group, all or a range, as a job (see job-show).'),
  groups: closed({
    topic: optional('Only the groups of this topic'),
    queue: optional('Only this consumer group'),
  }).describe('Lists consumer groups with their backlog in events and time, their rate, and their readers.'),
  wait: closed({
    topic: name.describe('The topic, for example gateway-message'),
    queue: optional('The consumer group; default: that of this invocation, or the next events'),
    timeout,
    ack: z.boolean().default(true).describe('Consume the returned events; false only peeks'),
    max: z.int().min(1).max(10_000).default(100).describe('Maximum number of events'),
    lease: ms.exactOptional().describe('Hide the returned events from the group for this many ms'),
    match: match.describe('Only events that match, with the keys of a route; a group has one filter'),
  }).describe(
    'Returns events of a topic: immediately if there are any, else as soon as one arrives; [] at the timeout.',
  ),
  ack: closed({
    topic: name.describe('The topic'),
    queue: name.describe('The consumer group'),
    ids: z.array(z.string()).min(1).describe('The ids of the events'),
    nack: z.boolean().default(false).describe('Release them instead of consuming them'),
    delay: wait.default(0).describe('With nack: visible again after this many ms'),
  }).describe('Consumes peeked or leased events, or releases them.'),
  extend: closed({
    topic: name.describe('The topic'),
    queue: name.describe('The consumer group'),
    ids: z.array(z.string()).min(1).describe('The ids of the events'),
    lease: ms.describe('Hide them from the group for this many ms from now'),
  }).describe('Extends the lease of events in progress; `count`: number of events still leased.'),
}

/** The receive road, the outbox, and the gateways themselves: `gateway-…`. */
export const gateways = {
  /** Within a conversation, a call refers to that conversation unless it names another. */
  receive: closed({
    gateway: optional('Only messages of this gateway'),
    conversation: optional('Only messages of this conversation'),
    timeout,
    lease: ms
      .exactOptional()
      .describe('Redeliver the message unless gateway-ack is called within this many ms'),
    match: match.describe('Only messages that match, with the keys of a route; others stay'),
  }).describe('Takes the oldest inbound message, so that no one else gets it. Returns null at the timeout.'),
  ack: closed({
    receipt: name.describe('The receipt of the message'),
  }).describe('Consumes a message that gateway-receive returned with a lease.'),
  nack: closed({
    receipt: name.describe('The receipt of the message'),
    delay: wait.default(0).describe('The message is available again after this many ms'),
  }).describe(
    'Releases a message that gateway-receive returned with a lease, to be taken again now or later.',
  ),
  extend: closed({
    receipt: name.describe('The receipt of the message'),
    lease: ms.describe('Redeliver the message unless gateway-ack is called within this many ms from now'),
  }).describe('Extends the lease of a message in progress.'),
  /**
   * Answers the message of the call, or of `messageId` or `receipt`; `key` defaults to
   * `message:route:ordinal`. Throws `no_reply_target`, `target_not_allowed`, `message_not_found`,
   * `receipt_expired`, `forbidden`, and `send_rejected` for invalid `data`.
   */
  send: closed({
    text: z.string().describe('The text to send'),
    subject: z.string().exactOptional().describe('The subject, if the transport has one'),
    attachments: z.array(attachmentSchema).exactOptional().describe('Files already stored by Trivium'),
    data: jsonObjectSchema
      .exactOptional()
      .describe('Further features of the transport, such as blocks, a modal or an ephemeral reply in Slack'),
    messageId: optional('Answer this message, from anywhere'),
    receipt: optional('Answer the message that has this receipt of gateway-receive'),
    gateway: optional('A gateway other than that of the message; needs `to`'),
    to: z
      .union([name, z.array(name).min(1)])
      .exactOptional()
      .describe('A target other than the conversation; for mail, one or several addresses. Needs `gateway`'),
    cc: recipients.describe('Mail: Cc addresses'),
    bcc: recipients.describe('Mail: Bcc addresses'),
    replyAll: z
      .literal(true)
      .exactOptional()
      .describe('Mail: reply to all recipients except the addresses of the gateway'),
    'reply-all': z.literal(true).exactOptional().describe('Alias of replyAll'),
    calendar: z
      .enum(['accept', 'tentative', 'decline'])
      .exactOptional()
      .describe('Mail: answer to the invitation in the message'),
    key: optional('Idempotency key: sent once per key; with messageId or receipt, once per key and message'),
    wait: wait.exactOptional().describe('How long to wait for the result of the transport, in ms'),
    at: moment.exactOptional().describe('Send at this time: 2026-12-24T18:00:00Z; at most 366 days ahead'),
    in: span.exactOptional().describe('Send after this time: 30m, 2h, 3d'),
  })
    .refine(
      ({ messageId, receipt, gateway, to = gateway }) =>
        [messageId, receipt, to].filter((each) => each !== undefined).length <= 1,
      'give only one of messageId, receipt, and gateway with to: each sets the recipient',
    )
    .describe(
      'Replies in the current conversation or to the message given by messageId or receipt, or sends to another target if the gateway allows it.',
    ),
  list: closed({}).describe('Lists running gateways and their health.'),
  /** Throws `gateway_not_found`, `forbidden`. */
  reconnect: closed({
    gateway: name.describe('The gateway'),
  }).describe(
    'Reconnects one gateway of this daemon and returns its status. Other gateways are not affected.',
  ),
}

/** Workspaces that installed an app by OAuth: `slack-…`. */
export const installs = {
  installs: closed({
    gateway: optional('Only those of this gateway'),
  }).describe('Lists the workspaces that installed a Slack app by OAuth.'),
  /** Throws `not_found`. */
  'installs-remove': closed({
    team: name.describe('The id of the workspace or the organisation'),
    gateway: optional('Only from this gateway'),
  }).describe('Removes an installation of a Slack app, and revokes its tokens.'),
}

/** `refused`: the refusals that this daemon remembers. */
export const refusals = {
  refused: closed({
    gateway: optional('Only refusals of this gateway'),
  }).describe('Lists recent refusals of gateways: time, origin, reason, and the start of the body.'),
  /** Throws `gateway_not_found`, `forbidden`, `refused_gone`. The secret is neither stored nor logged. */
  'refused-try': closed({
    gateway: name.describe('The gateway'),
    id: optional('The refused delivery, as returned by `refused`; default: the newest'),
    secret: name.max(4_000).describe('The secret to try; it is neither stored nor logged'),
  }).describe('Checks a refused delivery with another secret, without accepting it.'),
  'gateway-traffic': closed({
    gateway: optional('Only this gateway'),
  }).describe('Shows the traffic of each gateway in the last hour: rate, last message, share of refusals.'),
}

/** `callback-…`: they throw `callback_not_found`, `callback_released`. */
export const callbacks = {
  /** Makes a ref `{label}-{8 hex}`, which the models of `call.rootId` see as a tool. */
  create: closed({
    timeout: ms.default(60_000).describe('How long a caller of the ref waits, in ms'),
    label: z
      .string()
      .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/)
      .default('callback')
      .describe('Prefix of the ref'),
    ttl: ttl.default(86_400_000).describe('The ref expires after this many ms'),
  }).describe('Creates a callback and returns its ref, which anyone can invoke like a skill.'),
  wait: closed({
    ref: name.describe('The ref that callback-create returned'),
    timeout,
  }).describe('Returns the next invocation of a callback as { id, args }; null at the timeout.'),
  /** `ok: false`: the caller no longer waits. */
  respond: closed({
    ref: name.describe('The ref'),
    id: name.describe('The id that callback-wait returned'),
    result: z.json().default(null).describe('Result of the invocation'),
    error: z.string().exactOptional().describe('Error of the invocation, instead of a result'),
  }).describe('Answers an invocation of a callback, which unblocks its caller.'),
  release: closed({
    ref: name.describe('The ref'),
  }).describe('Ends a callback; waiting callers get an error.'),
}

/** Where a value lives: in this data dir or process, or on the message store. */
export const storeName = z.enum(['file', 'memory', 'shared'])
const keptIn = storeName.exactOptional().describe('Only sessions in this storage; default: all')

/** `session-…` */
export const sessions = {
  list: closed({ store: keptIn }).describe('Lists the sessions that skills remember.'),
  delete: closed({
    name: name.describe('The skill, or the session name in its settings'),
    key: name.describe('The key of the session, as in session-list'),
    store: keptIn,
  }).describe('Deletes a session of a skill.'),
}

/** `approval-…` */
export const approvals = {
  list: closed({
    id: optional('Only this one'),
    status: z
      .enum(['pending', 'approved', 'denied', 'expired'])
      .exactOptional()
      .describe('Only with this status'),
    limit: limit.default(100).describe('Maximum number of requests'),
  }).describe('Lists approval requests with their full arguments, oldest first.'),
  /** Throws `approval_not_found`, `approval_decided`, `forbidden`. */
  decide: closed({
    id: name.describe('The id of the request'),
    approve: z.boolean().describe('true approves, false denies'),
    reason: z.string().exactOptional().describe('Reason for the requester'),
  }).describe('Approves or denies a request, once.'),
}

/** `call-…`: calls made with `ctx.once`. */
export const calls = {
  list: open({}).describe('Lists calls made with ctx.once whose outcome is unknown, including running ones.'),
  /** Records what a person found out. Throws `not_found`. */
  settle: open({
    key: name.describe('The key, as in call-list'),
    happened: z.boolean().describe('true: it took effect and must not run again; false: it may run again'),
    result: z.json().default(null).describe('Its result, if it took effect'),
  }).describe('Settles a call with an unknown outcome, so that its skill can continue.'),
}
