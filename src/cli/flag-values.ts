import { TriviumError } from '../core/errors.ts'

/** The value of a flag that is a whole number, 0 or more. Throws `usage` for anything else. */
export function wholeNumber(flag: string, text: string): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value
  throw new TriviumError('usage', { details: `${flag} is a whole number, not ${JSON.stringify(text)}` })
}
