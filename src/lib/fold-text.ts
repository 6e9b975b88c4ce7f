/**
 * The marks of Latin, Greek and Cyrillic letters. Those of other scripts are parts of words, and
 * stay.
 */
const MARKS = /[\u0300-\u036f]+/g
/** The code points of letters with marks: Latin, Greek and Cyrillic, and their extensions. */
const WITH_MARKS = [
  [0xc0, 0x24f],
  [0x370, 0x52f],
  [0x1e00, 0x1fff],
] as const
const SYNTAX = /[\\^$.*+?()[\]{}|/]/g

/** A text in lower case without the marks of letters: `Leïla` becomes `leila`. */
export function foldText(text: string): string {
  // The lower case of İ has a mark, so marks are removed after it.
  return text.toLowerCase().normalize('NFD').replace(MARKS, '').normalize('NFC')
}

/**
 * The source of a pattern that finds a text in others, with or without the marks of letters:
 * `leila` in `Leïla`, and the other way round. The pattern needs the flags `iu`.
 */
export function foldedPattern(text: string): string {
  return [...foldText(text)]
    .map((letter) => {
      if (!/\p{L}/u.test(letter)) return letter.replace(SYNTAX, '\\$&')
      return `[${letter}${lettersWithMarks().get(letter) ?? ''}][\\u0300-\\u036f]*`
    })
    .join('')
}

/** Maximum characters of a text that a pattern finds: patterns are up to 100 times as long. */
const LONGEST = 1_000

/** Returns a test of texts for a part. It ignores case and the marks of letters. */
export function foldedTest(part: string): (text: string | undefined) => boolean {
  if (part.length > LONGEST) {
    const folded = foldText(part)
    return (text) => text !== undefined && foldText(text).includes(folded)
  }
  const pattern = new RegExp(foldedPattern(part), 'iu')
  return (text) => text !== undefined && pattern.test(text)
}

let known: Map<string, string> | undefined

/** The letters with marks by the letter without: `àáâ…` of `a`. */
function lettersWithMarks(): Map<string, string> {
  if (known) return known
  known = new Map()
  for (const [first, last] of WITH_MARKS)
    for (let code = first; code <= last; code++) {
      const letter = String.fromCodePoint(code)
      const folded = foldText(letter)
      if (folded !== letter.toLowerCase()) known.set(folded, (known.get(folded) ?? '') + letter)
    }
  return known
}
