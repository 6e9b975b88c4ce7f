import { z } from 'zod'
import { closed, name, optional, pauseEnd, pauseReason as reason } from '../../core/arguments.ts'
import { spoken } from '../../core/spoken.ts'

const gateway = name.describe('The gateway')
const conversation = {
  conversation: spoken(name.describe('The conversation id, as in its messages'), { id: 'conversation' }),
  gateway: optional('Its gateway; only needed if several gateways have a conversation with this id'),
}

/**
 * Pauses of dispatch (`…-pause`, `…-resume`): messages are accepted and wait; receive, events and
 * replies continue.
 */
export const pauses = {
  /**
   * Throws `forbidden`; for an unknown object `not_found`, `gateway_not_found` or
   * `skill_not_found`.
   */
  'gateway-pause': closed({ gateway, for: pauseEnd, reason }).describe(
    'Pauses a gateway: its messages are accepted but wait for dispatch.',
  ),
  'gateway-resume': closed({ gateway }).describe(
    'Resumes a gateway: waiting messages are dispatched in order.',
  ),
  'route-pause': closed({ route: name.describe('The route'), for: pauseEnd, reason }).describe(
    'Pauses a route: its messages are accepted but wait.',
  ),
  'route-resume': closed({ route: name.describe('The route') }).describe(
    'Resumes a route: waiting messages are dispatched in order.',
  ),
  'skill-pause': closed({ skill: name.describe('The skill'), for: pauseEnd, reason }).describe(
    'Pauses a skill: messages, schedules, events, approved requests and calls by other skills wait.',
  ),
  'skill-resume': closed({ skill: name.describe('The skill') }).describe(
    'Resumes a skill: all that waits for it runs.',
  ),
  'conversation-pause': closed({
    ...conversation,
    for: pauseEnd,
    drop: z
      .boolean()
      .default(false)
      .describe('Record new messages as handled by a person instead of letting them wait'),
    reason,
  }).describe(
    'Pauses a conversation because a person takes over: its messages wait, or with drop are not dispatched.',
  ),
  'conversation-resume': closed(conversation).describe(
    'Resumes a conversation: waiting messages are dispatched.',
  ),
  'route-list': closed({
    last: z
      .literal(true)
      .exactOptional()
      .describe('Adds when the last message of each route arrived (`lastAt`, Unix ms)'),
  }).describe('Lists the routes in order, with their targets and whether they are paused.'),
  'pause-list': closed({
    ended: z
      .literal(true)
      .exactOptional()
      .describe('Those of gateways, routes, skills and conversations that ended in the last day'),
  }).describe('Lists pauses with their start, author and end; first the one of everything after a restore.'),
  /** Throws `message_not_found`, `run_not_running`. */
  'run-cancel': closed({
    messageId: spoken(name.describe('The message that runs, is retried, or waits'), { id: 'message' }),
    reason: optional('The reason, shown to others'),
    drop: z.boolean().default(false).describe('Remove the dead letter permanently'),
  }).describe(
    'Ends the running attempt on a message, or gives up a message that is retried or waits: it becomes a dead letter with the reason. A request for its approval is denied.',
  ),
}
