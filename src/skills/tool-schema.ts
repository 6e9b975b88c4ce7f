import { isDeepStrictEqual } from 'node:util'
import { type Json, type JsonObject, objectsIn, toJson } from '../core/json.ts'

/**
 * A skill's JSON Schema as models and MCP clients take it: an object, without alternatives at the top level, which
 * Anthropic and OpenAI refuse, and with them the whole request. Alternatives become one object with the properties of
 * all; what they have in common is required. It allows more than the skill does: the skill still checks.
 */
export function toolSchema({ anyOf, oneOf, allOf, ...rest }: JsonObject): JsonObject {
  const any = [anyOf, oneOf].flatMap(branchesOf)
  const all = branchesOf(allOf)
  if (any.length + all.length === 0) return { ...rest, type: 'object' }
  const isCommon = (name: Json) => any.every((one) => requiredOf(one).includes(name))
  const required = [...all.flatMap(requiredOf), ...any.slice(0, 1).flatMap(requiredOf).filter(isCommon)]
  return { ...rest, type: 'object', properties: mergeProperties([...any, ...all]), required }
}

function branchesOf(list: Json | undefined): JsonObject[] {
  return objectsIn(list).map(toolSchema)
}

function requiredOf({ required }: JsonObject): Json[] {
  return Array.isArray(required) ? required : []
}

/** A property that the alternatives know differently, such as what tells them apart, may be any of theirs. */
function mergeProperties(branches: readonly JsonObject[]): JsonObject {
  const merged: JsonObject = {}
  for (const [name, one] of branches.flatMap(({ properties }) => Object.entries(Object(properties)))) {
    const known = merged[name]
    const isNew = known !== undefined && !isDeepStrictEqual(known, one)
    merged[name] = isNew ? { anyOf: [known, toJson(one)] } : toJson(one)
  }
  return merged
}
