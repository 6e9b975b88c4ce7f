import { isJsonObject, type Json, type JsonObject, toJson } from '../core/json.ts'
import { withMaskedSecrets } from './environment.ts'

/**
 * A value as people see it who may not read secrets: masked by the names of their keys, as in the
 * configuration, and wherever `clean` finds one in a text.
 */
export function readableValue(value: unknown, clean: (text: string) => string): Json {
  return cleaned(toJson(withMaskedSecrets(value)), clean)
}

/** The same for an object. */
export function readableObject(value: JsonObject, clean: (text: string) => string): JsonObject {
  const shown = readableValue(value, clean)
  return isJsonObject(shown) ? shown : {}
}

function cleaned(value: Json, clean: (text: string) => string): Json {
  if (typeof value === 'string') return clean(value)
  if (Array.isArray(value)) return value.map((item) => cleaned(item, clean))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, cleaned(item, clean)]))
}
