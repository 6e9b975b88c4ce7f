import { z } from 'zod'
import { size } from '../src/core/units.ts'

/** A path on the public listener, in the options of a gateway. */
export const publicPath = z
  .string()
  .regex(/^\/[^\s?#]*$/, 'expected a path that starts with /, without ? and #')

/** How large what comes in may be that goes whole through the store, the routes and the skills. GitHub sends no more either. */
export const bodySize = size.refine(
  (bytes) => bytes <= 25 * 1024 * 1024,
  'expected at most 25mb: it goes whole through the store, routes and skills; let senders link to what is larger',
)

/** One secret, or a list of them while they are rotated; parses to a list. `what` is said where there is none. */
export function secretsOf(what?: string) {
  return z
    .union([z.string().min(1), z.array(z.string().min(1)).min(1)], {
      error: ({ input }) =>
        input !== undefined ? 'expected a text, or a list of them' : what && `missing key "secret": ${what}`,
    })
    .transform((value) => (typeof value === 'string' ? [value] : value))
}

export const secrets = secretsOf()
