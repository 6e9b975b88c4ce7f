import { z } from 'zod'
import { LONGEST_TIMER, parseTime, TEN_YEARS } from './units.ts'

/** Unknown arguments are rejected. */
export const closed = z.strictObject
/** Unknown arguments are dropped, so that a route can run the skill. */
export const open = z.object

/** A non-empty string. */
export const name = z.string().min(1)
export const optional = (what: string) => name.exactOptional().describe(what)
export const limit = z.int().min(1).max(1000)
/** A lease, or a delay until something is visible again, in ms: at most 24 days. */
export const ms = z.int().min(1).max(LONGEST_TIMER, 'expected at most 24 days (2147483647 ms)')
/** How long a value is kept, in ms: at most ten years. */
export const ttl = z.int().min(1).max(TEN_YEARS, 'expected at most ten years (315360000000 ms)')
/** How long a call waits, in ms: 0, or up to 24 days. */
export const wait = z.int().min(0).max(LONGEST_TIMER, 'expected at most 24 days (2147483647 ms)')
export const timeout = wait.default(60_000).describe('How long to wait, in ms')
/** A time, or an age such as `2h`, parsed to Unix ms. */
export const time = z
  .string()
  .refine((text) => parseTime(text) !== undefined, 'expected a time such as 2026-11-21T10:00:00Z, or 2h')
  .transform((text) => parseTime(text) ?? z.NEVER)
