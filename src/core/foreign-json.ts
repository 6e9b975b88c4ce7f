import { hasManyValues, MAX_VALUES } from '../lib/json-values.ts'
import { TriviumError } from './errors.ts'
import { type Json, parseJson } from './json.ts'

/**
 * Like `parseJson`, for untrusted text. Throws `bad_request` if it has so many values that parsing
 * it would block the event loop for too long.
 */
export function parseForeignJson(text: string): Json | undefined {
  requireFewValues(text)
  return parseJson(text)
}

/** Throws `bad_request` for JSON with too many values. */
export function requireFewValues(text: string): void {
  if (hasManyValues(text)) throw new TriviumError('bad_request', { reason: MANY_VALUES })
}

export const MANY_VALUES = `its JSON has more than ${MAX_VALUES} values; send them in several requests, or as a file`
