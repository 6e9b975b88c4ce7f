import { z } from 'zod'
import { parseTime } from './units.ts'

/** Other arguments are refused. */
export const closed = z.strictObject
/** Others are dropped, so that a route can run it. */
export const open = z.object

/** A text that is not empty. */
export const name = z.string().min(1)
export const optional = (what: string) => name.exactOptional().describe(what)
export const ms = z.int().min(1)
export const limit = z.int().min(1).max(1000)
export const timeout = z.int().min(0).default(60_000).describe('How long to wait, in ms')
/** A time, or how long ago, as Unix ms. */
export const time = z
  .string()
  .refine((text) => parseTime(text) !== undefined, 'expected a time such as 2026-11-21T10:00:00Z, or 2h')
  .transform((text) => parseTime(text) ?? z.NEVER)
