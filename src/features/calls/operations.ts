import { z } from 'zod'
import { name, open } from '../../core/arguments.ts'

/** `call-…`: calls made with `ctx.once`. */
export const calls = {
  list: open({}).describe('Lists calls made with ctx.once whose outcome is unknown, including running ones.'),
  /**
   * Records the outcome that a person found out. Throws `not_found` if there is no such call, or it
   * is done.
   */
  settle: open({
    key: name.describe('The key, as in call-list'),
    happened: z.boolean().describe('true: it took effect and must not run again; false: it may run again'),
    result: z.json().default(null).describe('Its result, if it took effect'),
  }).describe('Settles a call with an unknown outcome, so that its skill can continue.'),
}
