import { TriviumError } from './errors.ts'

/** A size limit, and a sentence that says what to do when it is reached. */
export type Limit = { most: number; what: string; todo?: string }

const INTO_A_FILE = 'Put large content into a file, and refer to it.'

/** Throws `limit_reached` if there is no room for one more, or if a text is too long. */
export function requireRoom({ most, what, todo = INTO_A_FILE }: Limit, given: number | string): void {
  const isText = typeof given === 'string'
  if (isText ? given.length <= most : given < most) return
  throw new TriviumError('limit_reached', { what, limit: isText ? `${most} characters` : most, todo })
}
