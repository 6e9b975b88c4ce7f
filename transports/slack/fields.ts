import { isJsonObject, type JsonObject, pathGet } from '../../src/core/json.ts'

/** The text at a dotted path; undefined where there is none, or something else. */
export function textAt(value: unknown, path: string): string | undefined {
  const found = pathGet(value, path)
  return typeof found === 'string' && found !== '' ? found : undefined
}

/** The object at a dotted path, or an empty one. */
export function objectAt(value: unknown, path: string): JsonObject {
  const found = pathGet(value, path)
  return isJsonObject(found) ? found : {}
}

/** The objects in the list at a dotted path; none where there is no list. */
export function objectsAt(value: unknown, path: string): JsonObject[] {
  const found = pathGet(value, path)
  return Array.isArray(found) ? found.filter(isJsonObject) : []
}

/** What JSON says; undefined where it is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
