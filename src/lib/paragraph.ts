import { stripVTControlCharacters } from 'node:util'
import { cellsOf } from './cells.ts'
import { paintWords } from './paint.ts'

/**
 * Wraps a paragraph to the width of the terminal; in a pipe, it stays one line. It begins with
 * `first`, and the other lines are indented by the length of `first`.
 */
export function paragraph(first: string, text: string): string {
  const width = (process.stdout.columns || Number.POSITIVE_INFINITY) - first.length
  return first + wrapped(text, width).join(`\n${' '.repeat(first.length)}`)
}

/** Wraps the sentences of a text. Indented lines, such as excerpts of files, stay as they are. */
export function sentencesInWidth(text: string): string {
  return text
    .split('\n')
    .map((line) => (/^\s/.test(line) ? line : paragraph('', line)))
    .join('\n')
}

/**
 * A command to run, in backticks. It is not wrapped: if the terminal breaks the line, the command
 * can still be copied.
 */
const COMMAND = /`(npx )?trivium /

/** Breaks a text between words. Longer words and commands stay whole, because they are copied. */
export function wrapped(text: string, width: number): string[] {
  // A long text in a pipe, whose lines have no width.
  if (width === Number.POSITIVE_INFINITY || lengthOf(text) <= width) return [text]
  const isWhole = (part: string) => lengthOf(part) <= width || COMMAND.test(part)
  const words = breakable(paintWords(text)).flatMap((part) => (isWhole(part) ? [part] : part.split(' ')))
  const lines: string[] = []
  /** Remaining width of the last line. */
  let room = 0
  for (const word of words) {
    const length = lengthOf(word)
    const fits = length < room
    lines.push(fits ? `${lines.pop()} ${word}` : word)
    room = fits ? room - length - 1 : width - length
  }
  return lines
}

/** The parts of a text between spaces outside of backticks: commands in them are copied. */
function breakable(text: string): string[] {
  const words = ['']
  const parts = text.split('`')
  for (const [index, part] of parts.entries()) {
    const isOutside = (parts.length - 1 - index) % 2 === 0
    const [first = '', ...others] = isOutside ? part.split(' ') : [part]
    words.push(`${words.pop()}${index > 0 ? '`' : ''}${first}`)
    for (const word of others) words.push(word)
  }
  return words
}

/**
 * The length of the longest text; 0 without texts. `Math.max` cannot take as many arguments as
 * there may be texts.
 */
export function longestOf(texts: readonly string[]): number {
  return texts.reduce((most, text) => Math.max(most, lengthOf(text)), 0)
}

/** The number of cells of a terminal that a text takes. */
export function lengthOf(text: string): number {
  return cellsOf(stripVTControlCharacters(text))
}
