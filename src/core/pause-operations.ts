import { z } from 'zod'
import { closed, name, optional } from './arguments.ts'
import { span } from './send-operations.ts'
import { LONGEST_TIMER } from './units.ts'

const reason = optional('Why, for whoever looks later')
const gateway = name.describe('The gateway')
const conversation = {
  conversation: name.describe('The conversation, as its messages name it'),
  gateway: optional('Its gateway; needed only where several have one of that name'),
}

/** Pauses of dispatch: messages are accepted and wait; receive, events and replies go on. `…-pause`, `…-resume`. */
export const pauses = {
  /** Throws `forbidden`; what is not there is `not_found`, `gateway_not_found` or `skill_not_found`. */
  'gateway-pause': closed({ gateway, reason }).describe(
    'Lets the messages of a gateway wait for dispatch; they are still accepted.',
  ),
  'gateway-resume': closed({ gateway }).describe('Dispatches the messages of a gateway again, in order.'),
  'route-pause': closed({ route: name.describe('The route'), reason }).describe(
    'Lets the messages of a route wait; they are still accepted.',
  ),
  'route-resume': closed({ route: name.describe('The route') }).describe(
    'Dispatches the messages of a route again, in order.',
  ),
  'skill-pause': closed({ skill: name.describe('The skill'), reason }).describe(
    'Lets the messages of all routes to a skill wait, and its schedules; calls by name go on.',
  ),
  'skill-resume': closed({ skill: name.describe('The skill') }).describe(
    'Dispatches messages to a skill again, and runs its schedules.',
  ),
  'conversation-pause': closed({
    ...conversation,
    for: span
      .refine((ms) => ms >= 1000 && ms <= LONGEST_TIMER, 'expected 1s to 24d')
      .exactOptional()
      .describe('End by itself after this time: 2h'),
    drop: z
      .boolean()
      .default(false)
      .describe('Record its messages as handled by a person instead of letting them wait'),
    reason,
  }).describe('A person takes over: the messages of a conversation wait, or with drop need no skill.'),
  'conversation-resume': closed(conversation).describe(
    'Hands a conversation back: its messages are dispatched.',
  ),
  'route-list': closed({}).describe(
    'Lists the routes in the order in which they are tried: who answers, and whether it is paused.',
  ),
  'pause-list': closed({}).describe('Lists what is paused: since when, by whom, and until when.'),
  /** Throws `message_not_found`, `run_not_running`. */
  'run-cancel': closed({
    messageId: name.describe('The message whose attempt runs'),
    reason,
  }).describe('Aborts the running attempt on a message, which becomes a dead letter with the reason.'),
}
