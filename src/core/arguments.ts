import { z } from 'zod'
import { futureTime } from './future-time.ts'
import { spoken } from './spoken.ts'
import { LONGEST_TIMER, parseDuration, parseTime, TEN_YEARS } from './units.ts'

// Building blocks of the argument schemas of operations. Each schema is in the folder of its
// operation.

/** Unknown arguments are rejected. */
export const closed = z.strictObject
/** Unknown arguments are dropped, so that a route can run the skill. */
export const open = z.object

/** A non-empty string. */
export const name = z.string().min(1)
export const optional = (what: string) => name.exactOptional().describe(what)
/** The reason of a pause. If the author pauses again without one, it stays; an empty one ends that. */
export const pauseReason = z.string().exactOptional().describe('The reason, shown to others')
export const limit = z.int().min(1).max(1000)
/** A lease, or a delay until something is visible again, in ms: at most 24 days. */
export const ms = z.int().min(1).max(LONGEST_TIMER, 'expected at most 24 days (2147483647 ms)')
/** How long a value is kept, in ms: at most ten years. */
export const ttl = z.int().min(1).max(TEN_YEARS, 'expected at most ten years (315360000000 ms)')
/** How long a call waits, in ms: 0, or up to 24 days. */
export const wait = z.int().min(0).max(LONGEST_TIMER, 'expected at most 24 days (2147483647 ms)')
export const timeout = wait.default(60_000).describe('How long to wait, in ms')
/** A time, or an age such as `2h`, parsed to Unix ms. */
export const time = spoken(
  z
    .string()
    .refine(
      (text) => parseTime(text) !== undefined,
      'expected a time such as 2026-11-21T10:00:00Z, "yesterday 10:00" or 2h',
    )
    .transform((text) => parseTime(text) ?? z.NEVER),
  { type: 'time' },
)

/** A time, in UTC unless it has an offset, or the next such time of day. Parses to Unix ms. */
export const moment = z
  .string()
  .refine(
    (text) => futureTime(text) !== undefined,
    'expected a time such as 2026-12-24T18:00:00Z, 14:00 or "monday 9:30"',
  )
  .transform((text) => futureTime(text) ?? z.NEVER)

/** A duration in ms or as text, such as `2h`. Parses to ms. */
export const span = z
  .union([z.number(), z.string()])
  .refine((value) => parseDuration(value) !== undefined, 'expected a duration such as 30m, 2h or 3d')
  .meta({ title: 'duration' })
  .transform((value) => parseDuration(value) ?? z.NEVER)

/** The time after which something that a person began ends automatically. */
export const pauseEnd = spoken(
  span
    .refine((ms) => ms >= 1000 && ms <= LONGEST_TIMER, 'expected 1s to 24d')
    .exactOptional()
    .describe('Ends automatically after this time: 2h'),
  { until: 'until' },
)
