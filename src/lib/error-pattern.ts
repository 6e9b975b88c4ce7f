/** Maximum characters of a pattern. */
const LONGEST = 200

/** Ids and numbers, which differ between messages; not the status that a server answered. */
export const VARYING =
  /([0-9a-f]{8}-[0-9a-f-]{27}|\b(?=[a-f]*\d)[0-9a-f]{6,}\b|(?<!\d)(?!(?<=\b(?:answered|http|status|code)[ :=]{1,2})[1-5]\d\d\b)\d+)/i

/**
 * The first 200 characters of an error, with `#` for its ids and numbers, except a status as in
 * `answered 503`. Dead letters with the same pattern have the same cause.
 */
export function patternOf(error: string): string {
  return error.split(VARYING).map(orHash).join('').slice(0, LONGEST)
}

/** `split` puts the ids and numbers at the odd places. */
function orHash(part: string, index: number): string {
  return index % 2 === 1 ? '#' : part
}

/**
 * The parts of an error (`known`), compared with the parts of another one with the same pattern.
 * Ids and numbers that differ become `…`; those that are in both errors, such as a status, stay.
 */
export function sharedParts(known: readonly string[], parts: readonly string[]): string[] {
  return known.map((part, index) => (index % 2 === 0 || part === parts[index] ? part : '…'))
}
