import { isJsonObject, type Json } from '../../core/json.ts'
import type { References } from './person.ts'

/**
 * Whether a value is about the person, or a text in it names them. Each text is searched as it is:
 * in JSON, an address in a new line would follow the `n` of `\n`, and seem to be a part of a word.
 */
export function isNamedIn(value: Json, about: References): boolean {
  return about.refersTo(value) || textsIn(value).some(about.isInKey)
}

/** All texts and keys in a value. */
function textsIn(value: Json): string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(textsIn)
  if (!isJsonObject(value)) return []
  return Object.entries(value).flatMap(([key, field]) => [key, ...textsIn(field)])
}
