import { isDeepStrictEqual } from 'node:util'
import { isJsonObject, type Json, type JsonObject } from '../core/json.ts'

/**
 * A skill’s JSON Schema as models and MCP clients take it. Anthropic and OpenAI refuse a request with alternatives at the top:
 * they become one object that allows more; the skill still checks.
 */
export function toolSchema({ anyOf = [], oneOf = [], allOf = [], ...rest }: JsonObject): JsonObject {
  const branches = [anyOf, oneOf, allOf].flat().filter(isJsonObject).map(toolSchema)
  if (branches.length === 0) return { ...rest, type: 'object' }
  const known = new Map<string, Json[]>()
  for (const [name, one] of branches.flatMap(({ properties }) => Object.entries<Json>(Object(properties)))) {
    const others = known.get(name) ?? []
    if (!others.some((other) => isDeepStrictEqual(other, one))) known.set(name, [...others, one])
  }
  // What the alternatives know differently, such as what tells them apart, may be any of theirs.
  const merged = [...known].map(([name, [one = {}, ...more]]) => [
    name,
    more.length > 0 ? { anyOf: [one, ...more] } : one,
  ])
  const required = branches
    .map((one) => new Set([one.required ?? []].flat()))
    .reduce((all, others) => all.intersection(others))
  return { ...rest, type: 'object', properties: Object.fromEntries(merged), required: [...required] }
}
