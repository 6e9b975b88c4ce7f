import { hash } from 'node:crypto'

/** Maximum length of an id. */
const MAX_ID_LENGTH = 255
/** Number of characters of a longer id that are kept before its hash. */
const ID_PREFIX_LENGTH = 100

/** Makes an id usable as a store key: well-formed, and shortened without collisions. */
export function bounded(id: string): string {
  const text = id.toWellFormed()
  if (text.length <= MAX_ID_LENGTH) return text
  // The cut may be within a surrogate pair.
  return `${text.slice(0, ID_PREFIX_LENGTH).toWellFormed()}…sha256:${hash('sha256', text)}`
}
