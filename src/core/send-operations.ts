import { z } from 'zod'
import { closed, limit, optional } from './arguments.ts'
import { parseDuration } from './units.ts'

/** How far ahead (ms) a message may be scheduled, and how many may wait. */
export const LATEST_SEND = 366 * 86_400_000
export const MOST_SENDS = 10_000

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$/

/** A time, in UTC unless it has an offset. Parses to Unix ms. */
export const moment = z
  .string()
  .refine((text) => !Number.isNaN(momentOf(text)), 'expected a time such as 2026-12-24T18:00:00Z')
  .transform(momentOf)

function momentOf(text: string): number {
  if (!ISO.test(text)) return Number.NaN
  return Date.parse(/(Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`)
}

/** A duration in ms or as text, such as `2h`. Parses to ms. */
export const span = z
  .union([z.number(), z.string()])
  .refine((value) => parseDuration(value) !== undefined, 'expected a duration such as 30m, 2h or 3d')
  .meta({ title: 'duration' })
  .transform((value) => parseDuration(value) ?? z.NEVER)

/** Planned sends, made by `at` or `in` of `gateway-send`: `send-…`. */
export const sends = {
  /** Soonest first: the caller's own, for operators all, for a program those of its gateways. */
  list: closed({
    gateway: optional('Only through this gateway'),
    conversation: optional('Only into this conversation'),
    limit: limit.default(100).describe('Maximum number of entries'),
  }).describe('Lists planned sends, soonest first.'),
  /** Throws `send_not_found`, `send_key_ambiguous`, and `send_decided` if it was already due. */
  cancel: closed({
    id: optional('The send: `key` from gateway-send, `id` from send-list, or the key you chose'),
    key: optional('The `key` that was given to gateway-send'),
    gateway: optional('With a key: only through this gateway'),
    messageId: optional('With a key: only the answer to this message'),
  })
    .refine(({ id, key }) => (id === undefined) !== (key === undefined), 'give `id` or `key`')
    .describe('Cancels a planned send. It is either sent or cancelled, never both.'),
}
