import { z } from 'zod'

/** A path on the public listener, in the options of a gateway. */
export const publicPath = z
  .string()
  .regex(/^\/[^\s?#]*$/, 'expected a path that starts with /, without ? and #')

/** One secret, or a list of them while they are rotated; parses to a list. */
export const secrets = z
  .union([z.string().min(1), z.array(z.string().min(1)).min(1)])
  .transform((value) => (typeof value === 'string' ? [value] : value))
