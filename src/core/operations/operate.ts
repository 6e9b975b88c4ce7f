import { z } from 'zod'
import { parseTime } from '../units.ts'
import { openOperation, operation } from './operation.ts'

const ms = z.number().int().min(1)
const ref = z.string().min(1).describe('The ref')
const deadLetter = { id: z.string().min(1).describe('The id of the dead letter') }
const subscription = z.string().min(1).describe('The name of the subscription')
const time = z
  .string()
  .refine((text) => parseTime(text) !== undefined, 'expected a time such as 2026-11-21T10:00:00Z, or 2h')
  .transform((text) => parseTime(text) ?? z.NEVER)

/** `callback-…`: they throw `callback_not_found`, `callback_released`. */
export const callbacks = {
  /** Makes a ref `{label}-{8 hex}`, which the models of `call.rootId` see as a tool. */
  create: operation('Makes a callback and returns its ref, which anyone can invoke like a skill.', {
    timeout: ms.default(60_000).describe('How long one who invokes the ref waits, in ms'),
    label: z
      .string()
      .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/)
      .default('callback')
      .describe('How the ref begins'),
    ttl: ms.default(86_400_000).describe('The ref ends by itself after that many ms'),
  }),
  wait: operation('Returns the next invocation of a callback as { id, args }; null at the timeout.', {
    ref: z.string().min(1).describe('The ref that callback-create returned'),
    timeout: z.number().int().min(0).default(60_000).describe('How long to wait, in ms'),
  }),
  /** `ok: false`: the caller no longer waits. */
  respond: operation('Answers one invocation of a callback, which unblocks the one who invoked it.', {
    ref,
    id: z.string().min(1).describe('The id that callback-wait returned'),
    result: z.json().default(null).describe('What the invocation returns'),
    error: z.string().exactOptional().describe('Let the invocation fail with this reason instead'),
  }),
  release: operation('Ends a callback; those who wait for its answer get an error.', { ref }),
}

/** `approval-…` */
export const approvals = {
  list: operation('Lists requests for approval, oldest first, each with its arguments whole.', {
    id: z.string().min(1).exactOptional().describe('Only this one'),
    status: z.enum(['pending', 'approved', 'denied', 'expired']).exactOptional().describe('Only those'),
    limit: z.number().int().min(1).max(1000).default(100).describe('The most requests to list'),
  }),
  /** Throws `approval_not_found`, `approval_decided`, `forbidden`. */
  decide: operation('Approves or denies a request, once.', {
    id: z.string().min(1).describe('The id of the request'),
    approve: z.boolean().describe('true approves, false denies'),
    reason: z.string().exactOptional().describe('Why, for the one who asked'),
  }),
}

/** `dead-letter-…`: all but `list` throw `dead_letter_not_found`. */
export const deadLetters = {
  list: operation('Lists what failed for good, newest first.', {
    queue: z.string().min(1).exactOptional().describe('dispatch, outbox, subscriptions or push/NAME'),
    group: z.string().min(1).exactOptional().describe('The route (dispatch) or the gateway (outbox)'),
    limit: z.number().int().min(1).max(1000).default(20).describe('The most dead letters to list'),
  }),
  show: operation('Shows a dead letter whole: its message, every attempt and its error.', deadLetter),
  retry: operation('Puts a dead letter back at the end of its lane with fresh attempts.', deadLetter),
  drop: operation('Removes a dead letter for good.', deadLetter),
}

/** Push subscriptions, `subscription-…`: all but `list` throw `subscription_not_found`. */
export const subscriptions = {
  list: operation(
    'Lists the push subscriptions of routes.yaml: whether each works, and what waits for it.',
    {},
  ),
  show: operation('Shows a push subscription and its last attempts, newest first.', { name: subscription }),
  pause: operation('Pushes nothing more to a subscription; its events keep their places.', {
    name: subscription,
  }),
  resume: operation(
    'Pushes again to a subscription that was paused, or whose receiver was gone (410) or failed.',
    { name: subscription },
  ),
  replay: operation('Pushes again what is retained since a time, each event with the id that it had.', {
    name: subscription,
    since: time.describe('A time, or how long ago: 2h'),
  }),
}

/** `call-…`: what `ctx.once` made. */
export const calls = {
  list: openOperation(
    'Lists calls made with ctx.once whose outcome is not known; one that runs right now is among them.',
    {},
  ),
  /** What a person found out. Throws `not_found`. */
  settle: openOperation(
    'Says what became of a call whose outcome was not known, so that its skill can go on.',
    {
      key: z.string().min(1).describe('The key, as call-list gives it'),
      happened: z.boolean().describe('true: it happened and is not run again; false: it may run again'),
      result: z.json().default(null).describe('Its result, where it happened'),
    },
  ),
}
