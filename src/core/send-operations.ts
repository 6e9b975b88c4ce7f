import { z } from 'zod'
import { closed, limit, optional } from './arguments.ts'
import { parseDuration } from './units.ts'

/** How far ahead (ms) something may be sent, and how much may wait at once. */
export const LATEST_SEND = 366 * 86_400_000
export const MOST_SENDS = 10_000

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$/

/** A moment, UTC where it names no offset; parses to Unix ms. */
export const moment = z
  .string()
  .refine((text) => !Number.isNaN(momentOf(text)), 'expected a time such as 2026-12-24T18:00:00Z')
  .transform(momentOf)

function momentOf(text: string): number {
  if (!ISO.test(text)) return Number.NaN
  return Date.parse(/(Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`)
}

/** A span in ms, or as people write it: 2h. */
export const span = z
  .union([z.number(), z.string()])
  .refine((value) => parseDuration(value) !== undefined, 'expected a duration such as 30m, 2h or 3d')
  .meta({ title: 'duration' })
  .transform((value) => parseDuration(value) ?? z.NEVER)

/** What was sent with `at` or `in` and waits: `send-…`. */
export const sends = {
  /** Soonest first; of one's own, for operators of everybody, for a token of its gateways. */
  list: closed({
    gateway: optional('Only through this gateway'),
    conversation: optional('Only into this conversation'),
    limit: limit.default(100).describe('Maximum number of entries'),
  }).describe('Lists planned sends, soonest first.'),
  /** Throws `send_not_found`, `send_key_ambiguous`, and `send_decided` where it was due. */
  cancel: closed({
    id: optional('The send, as gateway-send (`key`) and send-list (`id`) give it, or its key'),
    key: optional('The `key` that was given to gateway-send'),
    gateway: optional('With a key: only through this gateway'),
    messageId: optional('With a key: only the answer to this message'),
  })
    .refine(({ id, key }) => (id === undefined) !== (key === undefined), 'give `id` or `key`')
    .describe('Cancels a planned send. It is either sent or cancelled, never both.'),
}
