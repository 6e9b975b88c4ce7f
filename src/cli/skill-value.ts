import { type Json, type JsonObject, objectsIn, parseJson } from '../core/json.ts'
import { LONGEST_TIMER, TEN_YEARS } from '../core/units.ts'
import { milliseconds, usage } from './command.ts'

/**
 * Converts text to the type in the schema. If the schema allows any type, text that is not JSON
 * stays text. Throws `usage` with the `name` of the argument for text of another type.
 */
export function readValue(text: string, schema: JsonObject, name: string): Json {
  if (schema.type === 'string') return text
  const parsed = parseJson(text)
  const types = typesOf(schema)
  // Text that looks like a number or object is still text if the schema allows no such type.
  if (types.length > 1 && types.includes('string')) {
    const isOtherType = parsed !== undefined && typeof parsed !== 'string' && types.some(isTypeOf(parsed))
    return isOtherType ? parsed : text
  }
  if (schema.type === undefined) return parsed === undefined ? text : parsed
  // A list is given as JSON, as texts separated by commas, or as one element that is JSON by
  // chance.
  if (schema.type === 'array' && !Array.isArray(parsed))
    return parsed === undefined ? text.split(',') : [text]
  if (parsed === undefined && isDuration(schema)) return milliseconds(name)(text)
  if (parsed === undefined) throw usage(`${name} takes ${typeInWords(schema)}, not ${JSON.stringify(text)}`)
  return parsed
}

/** Whether a value may be a list, alone or as an alternative to one element. */
export function mayBeList({ type, anyOf }: JsonObject): boolean {
  return type === 'array' || objectsIn(anyOf ?? null).some((each) => each.type === 'array')
}

/** The type of a value, for help and errors. */
export function typeName(schema: JsonObject): string {
  if (isDuration(schema) || schema.title === 'duration') return 'ms or duration'
  const types = typesOf(schema).map((type) => (type === 'array' ? 'list' : type))
  return types.length > 0 ? types.join(' or ') : 'json'
}

/** The type in an error. */
function typeInWords(schema: JsonObject): string {
  const name = typeName(schema)
  return name === 'integer' ? 'a whole number' : name === 'boolean' ? 'true or false' : name
}

/** The types that a schema allows: one, a list, or those of the members of a union. Empty: any. */
function typesOf({ type, anyOf }: JsonObject): string[] {
  if (typeof type === 'string') return [type]
  const types: unknown[] = Array.isArray(type) ? type : objectsIn(anyOf).map((member) => member.type)
  const names = types.filter((each) => typeof each === 'string')
  return names.length === types.length ? [...new Set(names)] : []
}

/** Makes a function that tests whether a type of JSON Schema includes the value. */
function isTypeOf(value: Json): (type: string) => boolean {
  return (type) => type === jsonTypeOf(value) || (type === 'integer' && Number.isInteger(value))
}

function jsonTypeOf(value: Json): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

/** Whether an argument is a duration in ms: only durations have one of these maxima. */
function isDuration({ type, maximum }: JsonObject): boolean {
  return type === 'integer' && (maximum === LONGEST_TIMER || maximum === TEN_YEARS)
}
