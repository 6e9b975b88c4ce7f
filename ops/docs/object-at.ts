import { isJsonObject, type JsonObject } from '../../src/core/json.ts'

/** Returns the object at a path, or an empty object. Keys may contain dots. */
export function objectAt(value: JsonObject, ...path: string[]): JsonObject {
  return path.reduce((parent: JsonObject, key) => {
    const child = parent[key]
    return isJsonObject(child) ? child : {}
  }, value)
}
