import { isJsonObject } from '../core/json.ts'

/** Maximum characters of a reason in the history. */
const SHOWN = 4_000

/** Why a skill sends no reply, as it says in its result: `{ noReply: 'bulk mail' }`. */
export function saidNoReply(result: unknown): string | undefined {
  const reason = isJsonObject(result) ? result.noReply : undefined
  return typeof reason === 'string' && reason !== '' ? reason.slice(0, SHOWN) : undefined
}

/**
 * Why a result cannot be a reply in its form. Undefined for an empty result: its author wanted no
 * reply.
 */
export function unusableResult(result: unknown): string | undefined {
  if (result === undefined || result === null || result === '') return undefined
  if (Array.isArray(result)) return 'the result is a list, not a string or an object with `text`'
  if (!isJsonObject(result)) return `the result is a ${typeof result}, not a string`
  const { text, http } = result
  if (text === '') return undefined
  if (text !== undefined) return 'the `text` of the result is not a string'
  return http === undefined
    ? 'the result is an object without `text` or `http`'
    : 'the `http` of the result is not an object'
}
