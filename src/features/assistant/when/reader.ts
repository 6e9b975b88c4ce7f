/** A word, number or mark with its position in the text. Lower case, apart from time zone names. */
export type Token = { word: string; start: number; end: number }

const ZONE = String.raw`(?:[A-Z][A-Za-z]+(?:\/[A-Z][\w+-]+){1,2}|UTC|GMT)(?![\w/])`
const TOKEN = new RegExp(
  String.raw`${ZONE}|[ap]\.m\b\.?|\d+(?:st|nd|rd|th)\b|\d+|[\p{L}][\p{L}’']*|[^\s\p{L}\d]`,
  'gu',
)

/** Splits a text into words, numbers, time zone names and punctuation. */
export function tokensOf(text: string): Token[] {
  return [...text.matchAll(TOKEN)].map(({ 0: word, index }) => {
    const isZone = new RegExp(`^${ZONE}$`).test(word)
    return { word: isZone ? word : word.toLowerCase(), start: index, end: index + word.length }
  })
}

export type Reader = ReturnType<typeof createReader>

/** Reads tokens in order, with backtracking. */
export function createReader(tokens: readonly Token[], from: number) {
  let at = from
  const peek = (ahead = 0) => tokens[at + ahead]?.word ?? ''
  /** Takes and returns the next word if the whole word matches. */
  const take = (words: RegExp): string | undefined => {
    const word = peek()
    if (word === '' || !new RegExp(`^(?:${words.source})$`, words.flags).test(word)) return undefined
    at += 1
    return word
  }
  return {
    peek,
    take,
    /** The current index. */
    at: () => at,
    /** True if there is no space before the next token. */
    isJoined: () => at > 0 && tokens[at]?.start === tokens[at - 1]?.end,
    /** The result of `read`. If that is undefined, nothing is taken. */
    attempt<T>(read: () => T | undefined): T | undefined {
      const before = at
      const found = read()
      if (found === undefined) at = before
      return found
    },
    /** Takes all of these words, or none. */
    takeAll(...words: RegExp[]): boolean {
      const before = at
      const isComplete = words.every((word) => take(word) !== undefined)
      if (!isComplete) at = before
      return isComplete
    },
  }
}

/** Each word is at the index of its value. */
const NUMBERS = 'zero one two three four five six seven eight nine ten eleven twelve'.split(' ')
/** Each word is at the index of its value. */
const ORDINALS = 'zeroth first second third fourth fifth'.split(' ')
const OTHER_NUMBERS: Record<string, number> = {
  a: 1,
  an: 1,
  fifteen: 15,
  twenty: 20,
  thirty: 30,
  sixty: 60,
  ninety: 90,
}

/** Parses an integer of up to four digits, or one of the number words. */
export function readNumber(reader: Reader): number | undefined {
  const word = reader.take(new RegExp(`\\d{1,4}|${[...NUMBERS, ...Object.keys(OTHER_NUMBERS)].join('|')}`))
  if (word === undefined) return undefined
  return OTHER_NUMBERS[word] ?? (NUMBERS.includes(word) ? NUMBERS.indexOf(word) : Number(word))
}

/** Parses an ordinal such as `1st` or `second`. `last` is -1. */
export function readOrdinal(reader: Reader): number | undefined {
  const word = reader.take(new RegExp(`\\d{1,2}(?:st|nd|rd|th)|${ORDINALS.join('|')}|last`))
  if (word === undefined) return undefined
  if (word === 'last') return -1
  return ORDINALS.includes(word) ? ORDINALS.indexOf(word) : Number.parseInt(word, 10)
}
