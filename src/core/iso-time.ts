import { z } from 'zod'

/**
 * Not used directly: its JSON Schema has a pattern of 300 characters, which every description would
 * repeat.
 */
const dateTime = z.iso.datetime({ offset: true })
/** A time of a stored record, in ISO 8601. */
export const isoTime = z
  .string()
  .refine((text) => dateTime.safeParse(text).success, 'expected a time as in ISO 8601')
  .meta({ format: 'date-time' })
