import { type Json, type JsonObject, objectsIn, parseJson } from '../core/json.ts'
import { LONGEST_TIMER, parseDuration, TEN_YEARS } from '../core/units.ts'
import { usage } from './command.ts'

/**
 * Converts text to the type in the schema. If the schema allows any type, text that is not JSON
 * stays text.
 */
export function readValue(text: string, schema: JsonObject, name: string): Json {
  if (schema.type === 'string') return text
  const parsed = parseJson(text)
  const types = typesOf(schema)
  // Text that looks like an object, or like a number where none is allowed, is still text.
  if (types.length > 1 && types.includes('string'))
    return parsed !== undefined && typeof parsed !== 'string' && types.some(fits(parsed)) ? parsed : text
  if (schema.type === undefined) return parsed === undefined ? text : parsed
  if (schema.type === 'array' && !Array.isArray(parsed))
    return parsed === undefined ? text.split(',') : [text]
  if (parsed === undefined && isTime(schema)) {
    const time = parseDuration(text)
    if (time !== undefined) return time
    throw usage(
      `${name} takes milliseconds, or a duration such as 500ms, 30s or 5m, not ${JSON.stringify(text)}`,
    )
  }
  if (parsed === undefined) throw usage(`${name} takes ${typeName(schema)}, not ${JSON.stringify(text)}`)
  return parsed
}

/** The value of a flag, for its help. */
export function typeName(schema: JsonObject): string {
  if (isTime(schema) || schema.title === 'duration') return 'ms or duration'
  const types = typesOf(schema).map((type) => (type === 'array' ? 'list' : type))
  return types.length > 0 ? types.join(' or ') : 'json'
}

/** The types that a schema allows: one, a list, or those of the members of a union. Empty: any. */
function typesOf({ type, anyOf }: JsonObject): string[] {
  if (typeof type === 'string') return [type]
  const types: unknown[] = Array.isArray(type) ? type : objectsIn(anyOf).map((member) => member.type)
  const named = types.filter((each) => typeof each === 'string')
  return named.length === types.length ? [...new Set(named)] : []
}

function fits(value: Json): (type: string) => boolean {
  const own = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
  return (type) => type === own || (type === 'integer' && Number.isInteger(value))
}

/** Whether an argument is a duration in ms, which its maximum shows. */
function isTime({ type, maximum }: JsonObject): boolean {
  return type === 'integer' && (maximum === LONGEST_TIMER || maximum === TEN_YEARS)
}
