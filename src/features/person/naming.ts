import { isJsonObject, type Json } from '../../core/json.ts'
import { gatewayIn, type References } from './person.ts'

/**
 * Whether a value is about the person, or a text in it names them. Each text is searched as it is:
 * in JSON, an address in a new line would follow the `n` of `\n`, and seem to be a part of a word.
 * `on`: the gateway of the value, if it does not name one.
 */
export function isNamedIn(value: Json, about: References, on?: string): boolean {
  return about.refersTo(value, on) || isInTexts(value, about, on)
}

/** Whether one of the texts and keys in a value names the person. */
function isInTexts(value: Json, about: References, on?: string): boolean {
  if (typeof value === 'string') return about.isInKey(value, on)
  if (Array.isArray(value)) return value.some((element) => isInTexts(element, about, on))
  if (!isJsonObject(value)) return false
  const here = gatewayIn(value) ?? on
  return Object.entries(value).some(
    ([key, field]) => about.isInKey(key, here) || isInTexts(field, about, here),
  )
}
