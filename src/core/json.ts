import { type ZodType, z } from 'zod'
import { attempt } from '../lib/attempt.ts'
import { parseExact } from '../lib/exact-json.ts'

/** Any value that JSON can carry. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }

/** A JSON object. Parsed objects may carry a key named `__proto__`; read with `Object.hasOwn`. */
export type JsonObject = { [key: string]: Json }

/** True for a plain JSON object: neither null nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The objects of a list; none of what is no list. */
export function objectsIn(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}

/** Parses JSON; undefined for anything else. A number that a double cannot hold becomes a string with its digits. */
export function parseJson(text: string): Json | undefined {
  return attempt(() => parseExact(text) as Json)
}

/** Reads a dotted path (`a.b.0.c`) or its steps; undefined where a step is missing. Only own properties count. */
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
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return (value as Record<string, unknown>)[name]
}

/** The text at a dotted path; undefined where there is none, an empty one, or something else. */
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
  return objectsIn(pathGet(value, path))
}

/** A value as JSON carries it: what JSON cannot say (undefined, functions) is left out; `null` for nothing at all. */
export function toJson(value: unknown): Json {
  return value === undefined ? null : JSON.parse(JSON.stringify(value) ?? 'null')
}

/** A JSON object, for zod schemas. */
export const jsonObjectSchema: ZodType<JsonObject> = z.record(z.string(), z.json())
