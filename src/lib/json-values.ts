/**
 * Maximum number of values in untrusted JSON: parsing and checking that many takes less than a
 * second.
 */
export const MAX_VALUES = 2 ** 20

/** Character codes. */
const QUOTE = 34
const COMMA = 44
const BRACKET = 91
const BRACE = 123

/**
 * Whether JSON text has more than `limit` values. Takes a few milliseconds per megabyte, and no
 * memory.
 */
export function hasManyValues(text: string, limit = MAX_VALUES): boolean {
  // A value takes two characters with its comma or brackets.
  if (text.length <= 2 * limit) return false
  let values = 1
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at)
    else if (code === COMMA || code === BRACKET || code === BRACE) values++
    if (values > limit) return true
  }
  return false
}

/** The index of the quote that ends the string at `start`; the end of the text if there is none. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text[end - 1 - backslashes] === '\\') backslashes++
    if (backslashes % 2 === 0) return end
  }
  return text.length
}
