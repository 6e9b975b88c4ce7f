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
export { sends } from './send-operations.ts'
export { usage } from './usage-operations.ts'

/** What skills do that are a method of a part each, and their arguments, by their names without the prefix they share. */
export type Operations = Record<string, ZodType>

/** The part that does these operations. What a method returns is the result of the skill, as JSON. */
export type ServiceOf<O extends Operations> = {
  [K in keyof O]: (args: z.infer<O[K]>, call: Call) => Promise<unknown>
}

const match = matchSchema.transform((given): RouteMatch => given).exactOptional()
const subscription = { name: name.describe('The name of the subscription') }
const recipients = z.union([name, z.array(name).min(1)]).exactOptional()

/** The events road: `event-…`. */
export const events = {
  /** Throws `topic_reserved` for `gateway-message`. */
  emit: closed({
    topic: name.describe('The topic; any name but gateway-message'),
    type: z.string().exactOptional().describe('What kind of event it is'),
    data: z.json().default(null).describe('What the event carries, as JSON'),
  }).describe('Publishes an event on a topic and returns its id.'),
  /** Without `queue` the group is one of `call.rootId`. Idempotent. */
  subscribe: closed({
    topic: name.describe('The topic, for example gateway-message'),
    queue: optional('The consumer group; without it you get one of your own, with a name to wait with'),
    replay: z.boolean().default(false).describe('Start with the oldest event that is kept'),
    ref: optional('A skill to invoke for each event'),
    match: match.describe(
      'Only events that fit, by the keys of a route; others are acknowledged for the group. {}: all again',
    ),
    maxDeliveries: z
      .int()
      .min(1)
      .max(1_000_000)
      .exactOptional()
      .describe('After so many deliveries under a lease an event becomes a dead letter of the group'),
  }).describe(
    'Buffers the events of a topic for a consumer group, from now or from the start of what is kept.',
  ),
  unsubscribe: closed({
    topic: name.describe('The topic'),
    queue: optional('The consumer group; without it that of this invocation'),
    ref: optional('The skill that was invoked for each event'),
  }).describe('Ends a subscription, and drops what its consumer group has not read.'),
  /** Without `queue` it reads the caller's own group, and without one of those waits for what comes next. */
  /** Throws `group_not_found`. */
  seek: closed({
    topic: name.describe('The topic'),
    queue: name.describe('The consumer group'),
    to: z.enum(['start', 'now']).describe('start: all that is kept once more; now: drops what is unread'),
  }).describe('Moves a consumer group to the start or to the end of its topic.'),
  /** Throws `group_not_found`, and `bad_request` for a range that ends before it begins. */
  replay: closed({
    topic: name.describe('The topic'),
    queue: name.describe('The consumer group'),
    ...eventRange,
  }).describe(
    'Shows a consumer group again what it has consumed, all of it or a part, as a job that job-show follows.',
  ),
  wait: closed({
    topic: name.describe('The topic, for example gateway-message'),
    queue: optional('The consumer group; without it that of this invocation, or what comes next'),
    timeout,
    ack: z.boolean().default(true).describe('Consume what is returned; false only looks'),
    max: z.int().min(1).max(10_000).default(100).describe('The most events to return'),
    lease: ms.exactOptional().describe('Hide what is returned from the group for that many ms'),
    match: match.describe('Only events that fit, by the keys of a route; a group has one filter for all'),
  }).describe(
    'Returns the events of a topic: at once where there are any, else as soon as one comes; [] at the timeout.',
  ),
  ack: closed({
    topic: name.describe('The topic'),
    queue: name.describe('The consumer group'),
    ids: z.array(z.string()).min(1).describe('The ids of the events'),
    nack: z.boolean().default(false).describe('Give them back instead of consuming them'),
    delay: wait.default(0).describe('With nack: visible again after that many ms'),
  }).describe('Consumes events that were only looked at or leased, or gives them back.'),
  extend: closed({
    topic: name.describe('The topic'),
    queue: name.describe('The consumer group'),
    ids: z.array(z.string()).min(1).describe('The ids of the events'),
    lease: ms.describe('Hide them from the group for that many ms from now'),
  }).describe(
    'Extends the lease of events while they are being worked on; `count` says how many still had one.',
  ),
}

/** The receive road, the outbox, and the gateways themselves: `gateway-…`. */
export const gateways = {
  /** A call inside a conversation means that, unless it names another. */
  receive: closed({
    gateway: optional('Only messages of this gateway'),
    conversation: optional('Only messages of this conversation'),
    timeout,
    lease: ms.exactOptional().describe('It comes back unless gateway-ack is called within that many ms'),
    match: match.describe('Only messages that fit, by the keys of a route; others stay'),
  }).describe('Takes the oldest inbound message, so that nobody else gets it; null at the timeout.'),
  ack: closed({
    receipt: name.describe('The receipt of the message'),
  }).describe('Consumes a message that gateway-receive returned with a lease.'),
  nack: closed({
    receipt: name.describe('The receipt of the message'),
    delay: wait.default(0).describe('It can be taken again after that many ms'),
  }).describe(
    'Gives back a message that gateway-receive returned with a lease, to be taken again now or later.',
  ),
  extend: closed({
    receipt: name.describe('The receipt of the message'),
    lease: ms.describe('It comes back unless gateway-ack is called within that many ms from now'),
  }).describe('Extends the lease of a message while it is being worked on.'),
  /**
   * It answers the message of the call, or of `messageId` or `receipt`; `key` is by default `message:route:ordinal`. Throws
   * `no_reply_target`, `target_not_allowed`, `message_not_found`, `receipt_expired`, `forbidden`, `send_rejected` (`data` of ours).
   */
  send: closed({
    text: z.string().describe('What to send'),
    subject: z.string().exactOptional().describe('The subject, where the transport has one'),
    attachments: z.array(attachmentSchema).exactOptional().describe('Files that Trivium already keeps'),
    data: jsonObjectSchema
      .exactOptional()
      .describe('What else the transport can do, such as blocks, a modal or an ephemeral reply in Slack'),
    messageId: optional('Answer this message, from anywhere'),
    receipt: optional('Answer the message that has this receipt of gateway-receive'),
    gateway: optional('Another gateway than that of the message; needs `to`'),
    to: z
      .union([name, z.array(name).min(1)])
      .exactOptional()
      .describe('Another target than the conversation, for mail one or several addresses; needs `gateway`'),
    cc: recipients.describe('Mail: addresses that get a copy'),
    bcc: recipients.describe('Mail: addresses that get a copy that the others do not see'),
    replyAll: z
      .literal(true)
      .exactOptional()
      .describe('Mail: answer all whom the message went to, besides our own addresses'),
    'reply-all': z.literal(true).exactOptional().describe('The same as replyAll'),
    calendar: z
      .enum(['accept', 'tentative', 'decline'])
      .exactOptional()
      .describe('Mail: answer the invitation in the message'),
    key: optional('The same key is sent once; with messageId or receipt for that message'),
    wait: wait.exactOptional().describe('Wait that many ms for what the transport says'),
    at: moment.exactOptional().describe('Send at this time: 2026-12-24T18:00:00Z; at most 366 days ahead'),
    in: span.exactOptional().describe('Send after this time: 30m, 2h, 3d'),
  })
    .refine(
      ({ messageId, receipt, gateway, to = gateway }) =>
        [messageId, receipt, to].filter((each) => each !== undefined).length <= 1,
      'give one of messageId, receipt, or gateway with to: each says where it goes',
    )
    .describe(
      'Replies into the current conversation, or from anywhere to the message that messageId or receipt names, or sends to another target where the gateway allows that.',
    ),
  list: closed({}).describe('Lists the gateways that run, and whether each is well.'),
  /** Throws `gateway_not_found`, `forbidden`. */
  reconnect: closed({
    gateway: name.describe('The gateway'),
  }).describe(
    'Ends the connection of one gateway of this daemon and makes it anew, leaves the others alone, and tells how it stands.',
  ),
}

/** The workspaces that let an app in by OAuth: `slack-…`. */
export const installs = {
  installs: closed({
    gateway: optional('Only those of this gateway'),
  }).describe('Lists the workspaces in which a Slack app is installed by OAuth.'),
  /** Throws `not_found`. */
  'installs-remove': closed({
    team: name.describe('The id of the workspace or the organisation'),
    gateway: optional('Only from this gateway'),
  }).describe('Removes an installation of a Slack app, and revokes its tokens.'),
}

/** `refused`: those that this daemon remembers. */
export const refusals = {
  refused: closed({
    gateway: optional('Only refusals of this gateway'),
  }).describe('Lists what gateways refused last: when, from where, why, and how it began.'),
}

/** `callback-…`: they throw `callback_not_found`, `callback_released`. */
export const callbacks = {
  /** Makes a ref `{label}-{8 hex}`, which the models of `call.rootId` see as a tool. */
  create: closed({
    timeout: ms.default(60_000).describe('How long one who invokes the ref waits, in ms'),
    label: z
      .string()
      .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/)
      .default('callback')
      .describe('How the ref begins'),
    ttl: ttl.default(86_400_000).describe('The ref ends by itself after that many ms'),
  }).describe('Makes a callback and returns its ref, which anyone can invoke like a skill.'),
  wait: closed({
    ref: name.describe('The ref that callback-create returned'),
    timeout,
  }).describe('Returns the next invocation of a callback as { id, args }; null at the timeout.'),
  /** `ok: false`: the caller no longer waits. */
  respond: closed({
    ref: name.describe('The ref'),
    id: name.describe('The id that callback-wait returned'),
    result: z.json().default(null).describe('What the invocation returns'),
    error: z.string().exactOptional().describe('Let the invocation fail with this reason instead'),
  }).describe('Answers one invocation of a callback, which unblocks the one who invoked it.'),
  release: closed({
    ref: name.describe('The ref'),
  }).describe('Ends a callback; those who wait for its answer get an error.'),
}

/** Where a value lives: in this data dir or process, or on the message store. */
export const storeName = z.enum(['file', 'memory', 'shared'])
const keptIn = storeName.exactOptional().describe('Only those that are kept there; default: all')

/** `session-…` */
export const sessions = {
  list: closed({ store: keptIn }).describe('Lists the conversations that skills remember.'),
  delete: closed({
    name: name.describe('The skill, or the name of the session in its settings'),
    key: name.describe('What the key of the session resolved to, as session-list shows it'),
    store: keptIn,
  }).describe('Makes a skill forget one conversation.'),
}

/** `approval-…` */
export const approvals = {
  list: closed({
    id: optional('Only this one'),
    status: z.enum(['pending', 'approved', 'denied', 'expired']).exactOptional().describe('Only those'),
    limit: limit.default(100).describe('The most requests to list'),
  }).describe('Lists requests for approval, oldest first, each with its arguments whole.'),
  /** Throws `approval_not_found`, `approval_decided`, `forbidden`. */
  decide: closed({
    id: name.describe('The id of the request'),
    approve: z.boolean().describe('true approves, false denies'),
    reason: z.string().exactOptional().describe('Why, for the one who asked'),
  }).describe('Approves or denies a request, once.'),
}

/** Push subscriptions, `subscription-…`: all but `list` throw `subscription_not_found`. */
export const subscriptions = {
  list: closed({}).describe(
    'Lists the push subscriptions of routes.yaml: whether each works, and what waits for it.',
  ),
  show: closed(subscription).describe('Shows a push subscription and its last attempts, newest first.'),
  pause: closed(subscription).describe(
    'Pushes nothing more to a subscription; its events keep their places.',
  ),
  resume: closed(subscription).describe(
    'Pushes again to a subscription that was paused, or whose receiver was gone (410) or failed.',
  ),
  replay: closed({
    ...subscription,
    ...eventRange,
  }).describe(
    'Pushes again what is retained of a topic, all of it or a part, each event with the id that it had, as a job that job-show follows.',
  ),
}

/** `call-…`: what `ctx.once` made. */
export const calls = {
  list: open({}).describe(
    'Lists calls made with ctx.once whose outcome is not known; one that runs right now is among them.',
  ),
  /** What a person found out. Throws `not_found`. */
  settle: open({
    key: name.describe('The key, as call-list gives it'),
    happened: z.boolean().describe('true: it happened and is not run again; false: it may run again'),
    result: z.json().default(null).describe('Its result, where it happened'),
  }).describe('Says what became of a call whose outcome was not known, so that its skill can go on.'),
}
