import type { JsonObject } from '../../src/core/json.ts'

/** The limit of most lists, which is not mentioned. */
const COMMON_LIST_LIMIT = 1000

/**
 * The range of a value in brackets: ` (1 to 256)`, ` (at least 16 characters)`. Empty without one.
 */
export function rangeOf(schema: JsonObject): string {
  const range = numbersOf(schema) ?? lengthOf(schema) ?? itemsOf(schema)
  return range === undefined ? '' : ` (${range})`
}

function numbersOf({ minimum, maximum }: JsonObject): string | undefined {
  const from = typeof minimum === 'number' && minimum > Number.MIN_SAFE_INTEGER ? minimum : undefined
  const to = typeof maximum === 'number' && maximum < Number.MAX_SAFE_INTEGER ? maximum : undefined
  if (from !== undefined && to !== undefined) return `${from} to ${to}`
  if (from !== undefined) return `at least ${from}`
  return to === undefined ? undefined : `at most ${to}`
}

function lengthOf({ minLength, maxLength }: JsonObject): string | undefined {
  if (typeof maxLength === 'number') return `at most ${maxLength} characters`
  return typeof minLength === 'number' && minLength > 1 ? `at least ${minLength} characters` : undefined
}

function itemsOf({ maxItems }: JsonObject): string | undefined {
  return typeof maxItems === 'number' && maxItems < COMMON_LIST_LIMIT ? `at most ${maxItems}` : undefined
}
