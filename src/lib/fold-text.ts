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
/** Letters that Unicode does not decompose, as people type them who do not have them. */
const LIKE_OTHERS: Readonly<Record<string, string>> = {
  ...{ ł: 'l', ø: 'o', đ: 'd', ð: 'd', ħ: 'h', ŧ: 't', ı: 'i' },
  ...{ ß: 'ss', æ: 'ae', œ: 'oe', þ: 'th' },
}
const LIKE_OTHER = new RegExp(`[${Object.keys(LIKE_OTHERS).join('')}]`, 'g')
const SYNTAX = /[\\^$.*+?()[\]{}|/]/g

/**
 * A text in lower case without the marks of letters, and with other letters for those in
 * `LIKE_OTHERS`: `Leïla Łoś` becomes `leila los`.
 */
export function foldText(text: string): string {
  // The lower case of İ has a mark, so marks are removed after it.
  const plain = text.toLowerCase().normalize('NFD').replace(MARKS, '').normalize('NFC')
  return plain.replace(LIKE_OTHER, (letter) => LIKE_OTHERS[letter] ?? letter)
}

/**
 * The source of a pattern that finds a text in others, with or without the marks of letters:
 * `leila` in `Leïla`, and the other way round. The pattern needs the flags `iu`.
 */
export function foldedPattern(text: string): string {
  return foldText(text).replace(EACH, (part) => {
    if (!/\p{L}/u.test(part)) return part.replace(SYNTAX, '\\$&')
    const letters = [...part].map(patternOfLetter).join('')
    const asOne = part.length > 1 && lettersWithMarks().get(part)
    return asOne ? `(?:${letters}|[${asOne}]${ANY_MARKS})` : letters
  })
}

/** Two letters that may be one, or a character. */
const EACH = /ss|ae|oe|th|./gsu
const ANY_MARKS = '[\\u0300-\\u036f]*'

function patternOfLetter(letter: string): string {
  return `[${letter}${lettersWithMarks().get(letter) ?? ''}]${ANY_MARKS}`
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

/** The letters with marks by the text without: `àáâ…` of `a`, `ß` of `ss`. */
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
