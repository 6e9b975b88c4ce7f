/** A lower-case word with its position in the text. */
export type Token = { word: string; start: number; end: number }

const ZONE = String.raw`(?:[A-Z][A-Za-z]+(?:\/[A-Z][\w+-]+){1,2}|UTC|GMT)(?![\w/])`
const TOKEN = new RegExp(
  String.raw`${ZONE}|[ap]\.m\b\.?|\d+(?:st|nd|rd|th)\b|\d+|[\p{L}][\p{L}’']*|[^\s\p{L}\d]`,
  'gu',
)

/** Splits a text into words, numbers, time zone names and punctuation. */
export function tokensOf(text: string): Token[] {
  return [...text.matchAll(TOKEN)].map(({ 0: said, index }) => {
    const isZone = new RegExp(`^${ZONE}$`).test(said)
    return { word: isZone ? said : said.toLowerCase(), start: index, end: index + said.length }
  })
}

export type Reader = ReturnType<typeof createReader>

/** Reads tokens in order, with backtracking. */
export function createReader(tokens: readonly Token[], from: number) {
  let at = from
  const peek = (ahead = 0) => tokens[at + ahead]?.word ?? ''
  /** Takes the next word if it matches. */
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
    /** The result of `read`; if undefined, resets to the position before. */
    attempt<T>(read: () => T | undefined): T | undefined {
      const before = at
      const found = read()
      if (found === undefined) at = before
      return found
    },
    /** Takes all of these words, or none. */
    takeAll(...words: RegExp[]): boolean {
      const before = at
      const isThere = words.every((word) => take(word) !== undefined)
      if (!isThere) at = before
      return isThere
    },
  }
}

const NUMBERS = 'zero one two three four five six seven eight nine ten eleven twelve'.split(' ')
const ORDINALS = 'zeroth first second third fourth fifth'.split(' ')
const MORE: Record<string, number> = {
  a: 1,
  an: 1,
  fifteen: 15,
  twenty: 20,
  thirty: 30,
  sixty: 60,
  ninety: 90,
}

/** Parses an integer, in digits or as a word. */
export function readNumber(reader: Reader): number | undefined {
  const word = reader.take(new RegExp(`\\d{1,4}|${[...NUMBERS, ...Object.keys(MORE)].join('|')}`))
  if (word === undefined) return undefined
  return MORE[word] ?? (NUMBERS.includes(word) ? NUMBERS.indexOf(word) : Number(word))
}

/** Parses an ordinal such as `1st` or `second`; `last` is -1. */
export function readOrdinal(reader: Reader): number | undefined {
  const word = reader.take(new RegExp(`\\d{1,2}(?:st|nd|rd|th)|${ORDINALS.join('|')}|last`))
  if (word === undefined) return undefined
  if (word === 'last') return -1
  return ORDINALS.includes(word) ? ORDINALS.indexOf(word) : Number.parseInt(word, 10)
}
