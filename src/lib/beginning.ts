/**
 * Whether a bound of a range (Unix ms or ISO 8601) is the beginning of everything that is retained,
 * as in `--since all`.
 */
export function isBeginning(time: unknown): boolean {
  if (typeof time !== 'string') return time === 0
  return /^1970-01-01T00:00(:00(\.0+)?)?Z$/.test(time)
}

/** How texts name it: `from the beginning`. */
export const BEGINNING = 'the beginning'
