import { stripVTControlCharacters } from 'node:util'

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

/** A space outside of backticks: commands in them are copied. */
const BREAK = / (?=(?:[^`]*`[^`]*`)*[^`]*$)/

/**
 * A command to run, in backticks. It stays whole: if the terminal breaks it, it can still be
 * copied.
 */
const COMMAND = /`(npx )?trivium /

/** Breaks a text between words. Longer words and commands stay whole, because they are copied. */
export function wrapped(text: string, width: number): string[] {
  const isWhole = (part: string) => lengthOf(part) <= width || COMMAND.test(part)
  const words = text.split(BREAK).flatMap((part) => (isWhole(part) ? [part] : part.split(' ')))
  const lines: string[] = []
  for (const word of words) {
    const last = lines.at(-1)
    const joined = `${last} ${word}`
    if (last !== undefined && lengthOf(joined) <= width) lines.splice(-1, 1, joined)
    else lines.push(word)
  }
  return lines
}

/**
 * The length of the longest text; 0 without texts. `Math.max` cannot take as many arguments as
 * there may be texts.
 */
export function longestOf(texts: readonly string[]): number {
  return texts.reduce((most, text) => Math.max(most, lengthOf(text)), 0)
}

/** The number of visible characters. */
export function lengthOf(text: string): number {
  return stripVTControlCharacters(text).length
}
