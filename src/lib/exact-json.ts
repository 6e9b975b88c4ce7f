import { attempt } from './attempt.ts'

/**
 * Parses JSON without losing digits: a number that a double cannot represent becomes a string with
 * its digits. This affects integers beyond ±(2^53 - 1), numbers with too many significant
 * digits (more than 17, or more than 15 beyond 2^53), and those beyond the range of a double: too
 * large, or so small that they would lose digits or become zero.
 * Throws like `JSON.parse`.
 */
export function parseExact(text: string): unknown {
  const parsed: unknown = JSON.parse(text)
  // The text is valid JSON, so quoting its long numbers need not check the grammar.
  return mayLoseNumber(text) ? JSON.parse(quoteLongNumbers(text)) : parsed
}

/**
 * Quotes the numbers that `parseExact` reads as strings, for parsers that lose digits. Returns
 * other text unchanged.
 */
export function quoteExact(text: string): string {
  return mayLoseNumber(text) && attempt(() => JSON.parse(text)) !== undefined ? quoteLongNumbers(text) : text
}

/** Whether a JSON text may have a number that a double cannot represent. Has false positives. */
export function mayLoseNumber(text: string): boolean {
  return (LONG_RUN.test(text) && hasLongNumber(text)) || OUT_OF_RANGE.test(text)
}

/** Whether `JSON.parse` may have changed a number of this value. Has false positives. */
export function mayHaveLostNumber(parsed: unknown): boolean {
  // A zero may have been a smaller number. An infinite number would become null.
  const mayBeOutOfRange = (value: unknown) => value === 0 || value === Infinity || value === -Infinity
  const text = JSON.stringify(parsed, (_, value) => (mayBeOutOfRange(value) ? LONG_NUMBER : value))
  return text !== undefined && mayLoseNumber(text)
}

const LONG_NUMBER = 2 ** 60

/**
 * Numbers with fewer characters lose no digits. A run of at least this length covers one or more of
 * the indexes in steps of this length, so it suffices to look at these indexes.
 */
const LONG = 16

/** 16 digits and points. V8 skips several characters at a time, unlike with `{16}`. */
const LONG_RUN = new RegExp(String.raw`[\d.]`.repeat(LONG))

/** The end of a number such as `1e400` or `1e-400`, which JavaScript reads as infinite or zero. */
const OUT_OF_RANGE = /\d[eE][+-]?\d{3,}(?:[,}\]\s]|$)/

/** V8 looks up a method of a text anew for each character if it has seen texts of many kinds. */
const { charCodeAt } = String.prototype

/** Whether a run of 16 digits and points may be a number. Costs a tenth of parsing. */
function hasLongNumber(text: string): boolean {
  const { length } = text
  for (let at = LONG - 1; at < length; at += LONG) {
    if (!isDigitOrPoint(charCodeAt.call(text, at))) continue
    let start = at
    while (start > 0 && isDigitOrPoint(charCodeAt.call(text, start - 1))) start--
    let end = at + 1
    while (end < length && isDigitOrPoint(charCodeAt.call(text, end))) end++
    if (end - start >= LONG && mayPrecedeNumber(text, start)) return true
    at = end - 1
  }
  return false
}

/** The smallest positive double with full precision. */
const MIN_NORMAL = 2 ** -1022

/** Character codes. */
const ZERO = 48
const NINE = 57
const POINT = 46
const MINUS = 45
const QUOTE = 34

function isDigitOrPoint(code: number): boolean {
  return (code >= ZERO && code <= NINE) || code === POINT
}

/** Excludes runs directly after a quote: most of these are ids in strings. */
function mayPrecedeNumber(text: string, start: number): boolean {
  const before = text.charAt(text[start - 1] === '-' ? start - 2 : start - 1)
  return before === '' || ':,[ \n\r\t'.includes(before)
}

const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y

/** Quotes the numbers that would lose digits. `text` must be valid JSON. Takes linear time. */
function quoteLongNumbers(text: string): string {
  let quoted = ''
  let copied = 0
  let at = 0
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at)
    else if (code === MINUS || (code >= ZERO && code <= NINE)) {
      NUMBER.lastIndex = at
      const [source = ''] = NUMBER.exec(text) ?? []
      const end = at + source.length
      if (isLossy(source)) {
        quoted += `${text.slice(copied, at)}"${source}"`
        copied = end
      }
      at = end
    } else at++
  }
  return quoted + text.slice(copied)
}

/** The index after the string that starts at `start`. */
function endOfString(text: string, start: number): number {
  let end = start
  let isEscaped = true
  while (isEscaped) {
    end = text.indexOf('"', end + 1)
    let backslashes = 0
    while (text[end - 1 - backslashes] === '\\') backslashes++
    isEscaped = backslashes % 2 === 1
  }
  return end + 1
}

function isLossy(source: string): boolean {
  const value = Number(source)
  if (/^-?\d+$/.test(source)) return !Number.isSafeInteger(value)
  if (!Number.isFinite(value)) return true
  // Numbers close to zero have fewer digits.
  if (Math.abs(value) < MIN_NORMAL) return significantDigits(source) !== significantDigits(String(value))
  // See `parseExact`.
  const maxDigits = Math.abs(value) > Number.MAX_SAFE_INTEGER ? 15 : 17
  return significantDigits(source).length > maxDigits
}

/** The significant digits, without sign, point, exponent, and leading and trailing zeros. */
function significantDigits(source: string): string {
  const [mantissa = ''] = source.split(/e/i)
  const digits = mantissa.replace(/[-.]/g, '').replace(/^0+/, '')
  // Not the pattern `0+$`, which takes quadratic time on many zeros.
  let end = digits.length
  while (digits[end - 1] === '0') end--
  return digits.slice(0, end)
}
