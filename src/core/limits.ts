import { TriviumError } from './errors.ts'

/** A bound of something that is kept whole, and what to do when it is reached (a sentence). */
export type Limit = { most: number; what: string; todo?: string }

const INTO_A_FILE = 'Keep what is large in a file, and name it.'

/** Throws `limit_reached` where there is no room for one more, or for a text that is too long. */
export function requireRoom({ most, what, todo = INTO_A_FILE }: Limit, given: number | string): void {
  const isText = typeof given === 'string'
  if (isText ? given.length <= most : given < most) return
  throw new TriviumError('limit_reached', { what, limit: isText ? `${most} characters` : most, todo })
}
