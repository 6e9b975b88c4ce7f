import { z } from 'zod'
import { closed, limit, ms, name, optional, time, timeout, wait } from '../../core/arguments.ts'
import { matchSchema } from '../../core/match.ts'
import { spoken } from '../../core/spoken.ts'
import { replayArguments } from './event-range.ts'

const match = matchSchema.exactOptional()

const eventIds = spoken(z.array(z.string()).min(1).describe('The ids of the events'), { id: 'event' })

/** The events road: `event-…`. */
export const events = {
  /** Throws `topic_reserved` for `gateway-message`. */
  emit: closed({
    topic: name.describe('The topic; any name that is not reserved for Trivium'),
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
      'Only events that match, with the match keys of a route; others are acknowledged for the group. {} removes the filter',
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
    until: time
      .exactOptional()
      .describe('With now: skip only events published before a time, or an age such as 2h'),
    dryRun: z
      .boolean()
      .default(false)
      .describe('Only count the events that would come again (`redelivered`) or be `skipped`'),
  }).describe('Moves a consumer group to the start of its topic, or to its end (see event-skip).'),
  /** Throws `group_not_found`. */
  skip: closed({
    topic: name.describe('The topic'),
    queue: name.describe('The consumer group'),
    until: time
      .exactOptional()
      .describe('Only events published before a time, or older than an age such as 2h'),
    dryRun: z.boolean().default(false).describe('Only count the events that would be `skipped`'),
  }).describe('Skips the events that a consumer group has not read: all, or the older ones.'),
  /** Throws `group_not_found`, and `bad_request` for a range that ends before it begins. */
  replay: closed({
    topic: name.describe('The topic'),
    queue: name.describe('The consumer group'),
    ...replayArguments,
  }).describe('Redelivers consumed events to a consumer group, all or a range, as a job (see job-show).'),
  /** Throws `event_not_found`. */
  show: closed({
    topic: name.describe('The topic'),
    id: spoken(name.describe('The id of the event'), { id: 'event' }),
  }).describe('Shows a retained event with its data, without consuming it.'),
  list: closed({
    topic: name.describe('The topic'),
    since: time.exactOptional().describe('Only events published since a time, or an age such as 2h'),
    until: time.exactOptional().describe('Only events published before a time, or an age such as 2h'),
    before: spoken(optional('`next` of the previous page: only older events'), { id: 'event' }),
    limit: limit.default(20).describe('Maximum number of events'),
  }).describe('Lists the retained events of a topic, newest first, without consuming them.'),
  groups: closed({
    topic: optional('Only the groups of this topic'),
    queue: optional('Only this consumer group'),
    history: z.boolean().default(false).describe('With the backlog of the last day, as this daemon saw it'),
    since: time.exactOptional().describe('With history: only since a time, or an age such as 2h'),
    until: time.exactOptional().describe('With history: only before a time, or an age such as 2h'),
  }).describe('Lists consumer groups with their backlog in events and time, their rate, and their readers.'),
  /** Throws `group_not_found`. */
  unread: closed({
    topic: name.describe('The topic'),
    queue: name.describe('The consumer group'),
    after: optional('`next` of the previous page: only later events'),
    limit: spoken(limit.default(50).describe('Maximum number of events'), { screenDefault: 20 }),
  }).describe('Lists the events that a consumer group has not read, oldest first, without consuming them.'),
  wait: closed({
    topic: name.describe('The topic, for example gateway-message'),
    queue: optional('The consumer group; default: that of this invocation, or the next events'),
    timeout,
    ack: z.boolean().default(true).describe('Consume the returned events; false only peeks'),
    max: z.int().min(1).max(10_000).default(100).describe('Maximum number of events'),
    lease: ms.exactOptional().describe('Hide the returned events from the group for this many ms'),
    match: match.describe('Only events that match, with the match keys of a route; a group has one filter'),
  }).describe(
    'Returns events of a topic: immediately if there are any, else as soon as one arrives; [] at the timeout.',
  ),
  ack: closed({
    topic: name.describe('The topic'),
    queue: name.describe('The consumer group'),
    ids: eventIds,
    nack: z.boolean().default(false).describe('Release them instead of consuming them'),
    delay: wait.default(0).describe('With nack: visible again after this many ms'),
  }).describe('Consumes peeked or leased events, or releases them.'),
  extend: closed({
    topic: name.describe('The topic'),
    queue: name.describe('The consumer group'),
    ids: eventIds,
    lease: ms.describe('Hide them from the group for this many ms from now'),
  }).describe('Extends the lease of events in progress; `count`: number of events still leased.'),
}
