import { attempt } from './attempt.ts'

/**
 * Parses JSON without losing digits: a number that a double cannot hold becomes a string with its digits. That is an integer
 * beyond ±(2^53 - 1), or a number with more significant digits than a double carries (17, beyond 2^53 15). Throws
 * as `JSON.parse` does.
 */
export function parseExact(text: string): unknown {
  const parsed: unknown = JSON.parse(text)
  // What parsed is valid JSON, so that quoting its long numbers needs no second look at its grammar.
  return hasLongNumber(text) ? JSON.parse(quoteLongNumbers(text)) : parsed
}

/** JSON for parsers that lose digits: with quotes around the numbers that `parseExact` reads as strings. Other text is as it was. */
export function quoteExact(text: string): string {
  return hasLongNumber(text) && attempt(() => JSON.parse(text)) !== undefined ? quoteLongNumbers(text) : text
}

/** No number of fewer characters loses digits, and a run of them covers an index in each step of this length. */
const LONG = 16

/** Whether a run of 16 digits and points stands where a number may: costs a tenth of parsing. May be true without need. */
export function hasLongNumber(text: string): boolean {
  for (let at = LONG - 1; at < text.length; at += LONG) {
    if (!isDigitOrPoint(text.charCodeAt(at))) continue
    let start = at
    while (start > 0 && isDigitOrPoint(text.charCodeAt(start - 1))) start--
    let end = at + 1
    while (end < text.length && isDigitOrPoint(text.charCodeAt(end))) end++
    if (end - start >= LONG && mayPrecedeNumber(text, start)) return true
    at = end - 1
  }
  return false
}

function isDigitOrPoint(code: number): boolean {
  return (code >= 48 && code <= 57) || code === 46
}

/** Most runs are ids in quotes. */
function mayPrecedeNumber(text: string, start: number): boolean {
  const before = text.charAt(text[start - 1] === '-' ? start - 2 : start - 1)
  return before === '' || ':,[ \n\r\t'.includes(before)
}

const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y

/** `text` is valid JSON. Takes linear time. */
function quoteLongNumbers(text: string): string {
  let quoted = ''
  let copied = 0
  let at = 0
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code === 34) at = endOfString(text, at)
    else if (code === 45 || (code >= 48 && code <= 57)) {
      NUMBER.lastIndex = at
      const [source = ''] = NUMBER.exec(text) ?? []
      const end = at + source.length
      if (source.length >= LONG && isLossy(source)) {
        quoted += `${text.slice(copied, at)}"${source}"`
        copied = end
      }
      at = end
    } else at++
  }
  return quoted + text.slice(copied)
}

/** The index behind the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  let end = start
  let escapes = 1
  while (escapes % 2 === 1) {
    end = text.indexOf('"', end + 1)
    escapes = 0
    while (text[end - 1 - escapes] === '\\') escapes++
  }
  return end + 1
}

function isLossy(source: string): boolean {
  const value = Number(source)
  if (/^-?\d+$/.test(source)) return !Number.isSafeInteger(value)
  if (!Number.isFinite(value)) return true
  const most = Math.abs(value) > Number.MAX_SAFE_INTEGER ? 15 : 17
  return significant(source).length > most
}

/** The digits that count: without sign, point, exponent, and the zeros around them. */
function significant(source: string): string {
  const [mantissa = ''] = source.split(/e/i)
  const digits = mantissa.replace(/[-.]/g, '').replace(/^0+/, '')
  // No pattern with `0+$`: on many zeros it would take quadratic time.
  let end = digits.length
  while (digits[end - 1] === '0') end--
  return digits.slice(0, end)
}
