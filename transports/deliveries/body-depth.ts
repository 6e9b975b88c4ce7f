import { TriviumError } from '../../src/core/errors.ts'
import type { Json } from '../../src/core/json.ts'
import { isShallow } from '../../src/lib/shallow.ts'

const MAX_DEPTH = 1_000

/** Throws `bad_request` if the JSON of a body, or of a part of one, is nested too deeply. */
export function requireShallow(text: string, value: Json): void {
  // Each level needs two characters, so most texts are short enough to skip the check.
  if (text.length < MAX_DEPTH * 2 || isShallow(value, MAX_DEPTH)) return
  throw new TriviumError('bad_request', { reason: `its JSON is nested more than ${MAX_DEPTH} deep` })
}
