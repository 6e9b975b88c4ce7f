import { type ZodType, z } from 'zod'
import { attempt } from '../lib/attempt.ts'
import { parseExact } from '../lib/exact-json.ts'
import { isObject } from '../lib/is-object.ts'

/** Any value that JSON can carry. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }

/** A JSON object. Parsed objects may carry a key named `__proto__`; read with `Object.hasOwn`. */
export type JsonObject = { [key: string]: Json }

/** True for a JSON object, false for null and arrays. */
export function isJsonObject(value: unknown): value is JsonObject {
  return isObject(value)
}

/** The objects in a list; `[]` for anything that is not a list. */
export function objectsIn(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}

/**
 * Parses JSON; undefined if it is invalid. A number that a double cannot represent becomes a string
 * with its digits.
 */
export function parseJson(text: string): Json | undefined {
  return attempt(() => parseExact(text) as Json)
}

/**
 * Reads a dotted path (`a.b.0.c`) or its steps; undefined if a step is missing. Only own properties
 * count.
 */
export function pathGet(value: unknown, path: string | readonly string[]): unknown {
  // Most paths are one name.
  if (typeof path === 'string' && !path.includes('.')) return ownAt(value, path)
  let current = value
  for (const step of typeof path === 'string' ? path.split('.') : path) {
    current = ownAt(current, step)
    if (current === undefined) return undefined
  }
  return current
}

function ownAt(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  const found = (value as Record<string, unknown>)[name]
  // Most names are absent, so the cheaper check comes first.
  return found !== undefined && Object.hasOwn(value, name) ? found : undefined
}

/** The non-empty string at a dotted path, else undefined. */
export function textAt(value: unknown, path: string): string | undefined {
  const found = pathGet(value, path)
  return typeof found === 'string' && found !== '' ? found : undefined
}

/** The object at a dotted path, else `{}`. */
export function objectAt(value: unknown, path: string): JsonObject {
  const found = pathGet(value, path)
  return isJsonObject(found) ? found : {}
}

/** The objects in the list at a dotted path; `[]` without a list. */
export function objectsAt(value: unknown, path: string): JsonObject[] {
  return objectsIn(pathGet(value, path))
}

/**
 * A value after a round trip through JSON, which drops undefined and functions; `null` if nothing
 * is left.
 */
export function toJson(value: unknown): Json {
  return value === undefined ? null : JSON.parse(JSON.stringify(value) ?? 'null')
}

/** zod schema of a JSON object. */
export const jsonObjectSchema: ZodType<JsonObject> = z.record(z.string(), z.json())
