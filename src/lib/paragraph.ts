import { stripVTControlCharacters } from 'node:util'

/** A paragraph in the width of the terminal. `first` begins it, and the other lines are indented as far. Not wrapped in a pipe. */
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

/** Breaks a text between words. A longer word stays whole: ids are copied. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    const joined = `${last} ${word}`
    if (last !== undefined && lengthOf(joined) <= width) lines.splice(-1, 1, joined)
    else lines.push(word)
  }
  return lines
}

/** The number of characters that are seen. */
export function lengthOf(text: string): number {
  return stripVTControlCharacters(text).length
}
