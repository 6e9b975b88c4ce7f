import { TriviumError } from './errors.ts'

/** A limit: at most `most` of `what`. `todo`: a sentence about what to do when it is reached. */
export type Limit = { most: number; what: string; todo?: string }

const USE_A_FILE = 'Put large content into a file, and refer to it.'

/**
 * Throws `limit_reached` for a text that is too long, or for a count of items that leaves no room
 * for one more.
 */
export function requireRoom({ most, what, todo = USE_A_FILE }: Limit, given: number | string): void {
  const isText = typeof given === 'string'
  if (isText ? given.length <= most : given < most) return
  throw new TriviumError('limit_reached', { what, limit: isText ? `${most} characters` : most, todo })
}
