import { isJsonObject, type Json, type JsonObject } from '../core/json.ts'

/**
 * A skill's JSON Schema as models and MCP clients take it: an object, without alternatives at the top level, which
 * Anthropic and OpenAI refuse, and with them the whole request. Alternatives become one object with the properties of
 * all; what they have in common is required. It allows more than the skill does: the skill still checks.
 */
export function toolSchema(schema: JsonObject): JsonObject {
  const { anyOf, oneOf, allOf, ...rest } = schema
  const any = branchesOf(anyOf).concat(branchesOf(oneOf))
  const all = branchesOf(allOf)
  if (any.length + all.length === 0) return { ...rest, type: 'object' }
  const required = all.flatMap(requiredOf)
  const common = any
    .map(requiredOf)
    .reduce((left, right) => left.filter((name) => right.includes(name)), [...requiredOf(any[0] ?? {})])
  return {
    ...rest,
    type: 'object',
    properties: mergeProperties([...any, ...all]),
    required: [...new Set([...required, ...common])],
  }
}

function branchesOf(list: Json | undefined): JsonObject[] {
  return Array.isArray(list) ? list.filter(isJsonObject).map(toolSchema) : []
}

function requiredOf({ required }: JsonObject): string[] {
  return Array.isArray(required) ? required.map(String) : []
}

/** A property that the alternatives know differently, such as what tells them apart, may be any of theirs. */
function mergeProperties(branches: readonly JsonObject[]): JsonObject {
  const found = new Map<string, Json[]>()
  for (const { properties } of branches) {
    for (const [name, one] of Object.entries(isJsonObject(properties) ? properties : {})) {
      const known = found.get(name) ?? []
      const isKnown = known.some((other) => JSON.stringify(other) === JSON.stringify(one))
      found.set(name, isKnown ? known : [...known, one])
    }
  }
  return Object.fromEntries(
    [...found].map(([name, [first = {}, ...more]]) => {
      return [name, more.length === 0 ? first : { anyOf: [first, ...more] }]
    }),
  )
}
