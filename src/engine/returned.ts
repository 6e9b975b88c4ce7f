import { isJsonObject } from '../core/json.ts'
import { boundedJson } from '../lib/bounded-json.ts'

/** Maximum characters of a result in the history. */
const SHOWN = 4_000

/**
 * What a target returned, for the history of its message: a text, or JSON. Undefined for an empty
 * result, and for one that only says why it sends no reply, which the history has anyway. `clean`
 * redacts secrets.
 */
export function returnedText(result: unknown, clean: (text: string) => string): string | undefined {
  if (result === undefined || result === null || result === '' || isReason(result)) return undefined
  // A secret at the end must be complete when it is redacted.
  const text = typeof result === 'string' ? result.slice(0, 2 * SHOWN) : boundedJson(result, 2 * SHOWN)
  if (text === undefined) return undefined
  const cleaned = clean(text)
  return cleaned.length > SHOWN ? `${cleaned.slice(0, SHOWN)}…` : cleaned
}

function isReason(result: unknown): boolean {
  return isJsonObject(result) && 'noReply' in result && Object.keys(result).length === 1
}
