import { type Column, lineTable, NOT_SHOWN } from './line-table.ts'
import { paragraph } from './paragraph.ts'
import { shorten } from './short-text.ts'

/** The lines of a list with one line per row. `notes`: what stands below the list. */
type RowLines = { head: string; rows: readonly string[]; notes: readonly string[] }

/**
 * The lines of a `lineTable`, for a list with texts below its rows. Undefined if the terminal is too
 * narrow for one line per row.
 */
export function rowLines(
  columns: readonly Column[],
  rows: readonly (readonly unknown[])[],
): RowLines | undefined {
  const printed = lineTable(columns, rows).split('\n')
  const notes = printed.filter((line) => line.startsWith(NOT_SHOWN))
  const [head = '', ...lines] = printed.slice(0, printed.length - notes.length)
  return lines.length === rows.length ? { head, rows: lines, notes } : undefined
}

/** A list with lines below each row. */
export function withBelow({ head, rows, notes }: RowLines, below: readonly (readonly string[])[]): string {
  return [head, ...rows.flatMap((row, at) => [row, ...(below[at] ?? [])]), ...notes].join('\n')
}

/** The lines of a text below a row; none for an empty text. */
export function wrappedBelow(text: string): string[] {
  return text === '' ? [] : [paragraph('  ', text)]
}

/** The line of a text below a row, cut to the width of the terminal; none for an empty text. */
export function cutBelow(text: string): string[] {
  return text === '' ? [] : [`  ${shorten(text, process.stdout.columns - 2)}`]
}
