import { z } from 'zod'
import { parseTime } from '../units.ts'

const ms = z.number().int().min(1)
const ref = z.string().min(1).describe('The ref')
const deadLetter = z.strictObject({ id: z.string().min(1).describe('The id of the dead letter') })
const subscription = z.string().min(1).describe('The name of the subscription')
const time = z
  .string()
  .refine((text) => parseTime(text) !== undefined, 'expected a time such as 2026-11-21T10:00:00Z, or 2h')
  .transform((text) => parseTime(text) ?? z.NEVER)

/** `callback-…`: they throw `callback_not_found`, `callback_released`. */
export const callbacks = {
  /** Makes a ref `{label}-{8 hex}`, which the models of `call.rootId` see as a tool. */
  create: {
    description: 'Makes a callback and returns its ref, which anyone can invoke like a skill.',
    args: z.strictObject({
      timeout: ms.default(60_000).describe('How long one who invokes the ref waits, in ms'),
      label: z
        .string()
        .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/)
        .default('callback')
        .describe('How the ref begins'),
      ttl: ms.default(86_400_000).describe('The ref ends by itself after that many ms'),
    }),
  },
  wait: {
    description: 'Returns the next invocation of a callback as { id, args }; null at the timeout.',
    args: z.strictObject({
      ref: z.string().min(1).describe('The ref that callback-create returned'),
      timeout: z.number().int().min(0).default(60_000).describe('How long to wait, in ms'),
    }),
  },
  /** `ok: false`: the caller no longer waits. */
  respond: {
    description: 'Answers one invocation of a callback, which unblocks the one who invoked it.',
    args: z.strictObject({
      ref,
      id: z.string().min(1).describe('The id that callback-wait returned'),
      result: z.json().default(null).describe('What the invocation returns'),
      error: z.string().exactOptional().describe('Let the invocation fail with this reason instead'),
    }),
  },
  release: {
    description: 'Ends a callback; those who wait for its answer get an error.',
    args: z.strictObject({ ref }),
  },
}

/** `approval-…` */
export const approvals = {
  list: {
    description: 'Lists requests for approval, oldest first, each with its arguments whole.',
    args: z.strictObject({
      id: z.string().min(1).exactOptional().describe('Only this one'),
      status: z.enum(['pending', 'approved', 'denied', 'expired']).exactOptional().describe('Only those'),
      limit: z.number().int().min(1).max(1000).default(100).describe('The most requests to list'),
    }),
  },
  /** Throws `approval_not_found`, `approval_decided`, `forbidden`. */
  decide: {
    description: 'Approves or denies a request, once.',
    args: z.strictObject({
      id: z.string().min(1).describe('The id of the request'),
      approve: z.boolean().describe('true approves, false denies'),
      reason: z.string().exactOptional().describe('Why, for the one who asked'),
    }),
  },
}

/** `dead-letter-…`: all but `list` throw `dead_letter_not_found`. */
export const deadLetters = {
  list: {
    description: 'Lists what failed for good, newest first.',
    args: z.strictObject({
      queue: z.string().min(1).exactOptional().describe('dispatch, outbox, subscriptions or push/NAME'),
      group: z.string().min(1).exactOptional().describe('The route (dispatch) or the gateway (outbox)'),
      limit: z.number().int().min(1).max(1000).default(20).describe('The most dead letters to list'),
    }),
  },
  show: {
    description: 'Shows a dead letter whole: its message, every attempt and its error.',
    args: deadLetter,
  },
  retry: {
    description: 'Puts a dead letter back at the end of its lane with fresh attempts.',
    args: deadLetter,
  },
  drop: {
    description: 'Removes a dead letter for good.',
    args: deadLetter,
  },
}

/** Push subscriptions, `subscription-…`: all but `list` throw `subscription_not_found`. */
export const subscriptions = {
  list: {
    description: 'Lists the push subscriptions of routes.yaml: whether each works, and what waits for it.',
    args: z.strictObject({}),
  },
  show: {
    description: 'Shows a push subscription and its last attempts, newest first.',
    args: z.strictObject({ name: subscription }),
  },
  pause: {
    description: 'Pushes nothing more to a subscription; its events keep their places.',
    args: z.strictObject({ name: subscription }),
  },
  resume: {
    description:
      'Pushes again to a subscription that was paused, or whose receiver was gone (410) or failed.',
    args: z.strictObject({ name: subscription }),
  },
  replay: {
    description: 'Pushes again what is retained since a time, each event with the id that it had.',
    args: z.strictObject({ name: subscription, since: time.describe('A time, or how long ago: 2h') }),
  },
}

/** `call-…`: what `ctx.once` made. */
export const calls = {
  list: {
    description:
      'Lists calls made with ctx.once whose outcome is not known; one that runs right now is among them.',
    args: z.object({}),
  },
  /** What a person found out. Throws `not_found`. */
  settle: {
    description: 'Says what became of a call whose outcome was not known, so that its skill can go on.',
    args: z.object({
      key: z.string().min(1).describe('The key, as call-list gives it'),
      happened: z.boolean().describe('true: it happened and is not run again; false: it may run again'),
      result: z.json().default(null).describe('Its result, where it happened'),
    }),
  },
}
