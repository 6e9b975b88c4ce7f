import { stripVTControlCharacters } from 'node:util'
import { paint } from './paint.ts'
import { lengthOf, longestOf } from './paragraph.ts'
import { shorten } from './short-text.ts'
import { cell, GAP, grid, table } from './text-table.ts'

/** A column of a list. */
export type Column = {
  title: string
  /** The title in a pipe, which has times instead of ages. */
  piped?: string
  /** Minimum width of a text that is cut in a narrow terminal. Absent: the texts are never cut. */
  least?: number
  /** The part of the terminal that such a text gets, if that is more than `least`. */
  share?: number
  /** In a terminal that is too narrow, the text has several lines instead of being cut. */
  wraps?: true
  /** Cuts the beginning of a text instead of its end: ids differ at the end. */
  keepsEnd?: true
  /** Cuts the middle of a text, whose beginning and end tell it from others. */
  keepsBoth?: true
  /** Cut only when the other columns are at their least. */
  cutLast?: true
  /**
   * The column is left out if it is empty, or if the terminal is too narrow for cut texts. Columns
   * with a higher number go first.
   */
  leftOut?: number
}

/** The beginning of the line below a list that names the columns it leaves out. */
export const NOT_SHOWN = 'Not shown: '

/**
 * A table with one line for each row. In a narrow terminal, texts are cut, and then columns are
 * left out and named below the table; `--json` and a pipe have everything. If that is not enough,
 * the rows have several lines, see `table`. In a pipe, tabs separate the columns.
 */
export function lineTable(
  columns: readonly Column[],
  rows: readonly (readonly unknown[])[],
  width = terminalWidth(),
): string {
  const cells = rows.map((row) => row.map(cell))
  const inUse = withTexts(columns, cells, width)
  if (!Number.isFinite(width)) return tabSeparated(inUse)
  const { used, kept } = keptIn(inUse, width)
  const head = kept.map(({ title }) => title)
  const whole = cells.map((_, at) => kept.map(({ texts }) => texts[at + 1] ?? ''))
  const missing = used.filter((column) => !kept.includes(column))
  const note = missing.length === 0 ? '' : `\n${notShown(missing, width)}`
  if (leastWidth(kept) > width) return table(head, whole, width) + note
  const widths = widthsIn(kept, width)
  const lines = whole.map((row) => row.map((text, index) => cut(text, widths[index] ?? 0, kept[index] ?? {})))
  const lineWidths = kept.map(({ wraps }, at) => (wraps ? (widths[at] ?? null) : null))
  return grid(head, lines, lineWidths) + note
}

/** The titles of the columns with data that `lineTable` leaves out because the terminal is too narrow. */
export function leftOutOf(
  columns: readonly Column[],
  rows: readonly (readonly unknown[])[],
  width = terminalWidth(),
): string[] {
  if (!Number.isFinite(width)) return []
  const cells = rows.map((row) => row.map(cell))
  const { used, kept } = keptIn(withTexts(columns, cells, width), width)
  return used.filter((column) => !kept.includes(column)).map(({ title }) => title)
}

function terminalWidth(): number {
  return process.stdout.columns || Number.POSITIVE_INFINITY
}

function withTexts(columns: readonly Column[], cells: readonly string[][], width: number): InUse[] {
  return columns.map((column, index) => ({
    ...column,
    ...(column.least !== undefined && { least: Math.max(column.least, shareOf(column, width)) }),
    texts: textsOf(column, cells, index),
  }))
}

/** `used`: the columns that are not left out for being empty. `kept`: those of them that fit. */
function keptIn(columns: readonly InUse[], width: number): { used: InUse[]; kept: InUse[] } {
  const used = columns.filter(({ texts, leftOut }) => leftOut === undefined || texts.slice(1).some(hasText))
  let kept = used
  while (leastWidth(kept) > width) {
    const dispensable = kept.filter(({ leftOut }) => leftOut !== undefined)
    const [first] = dispensable.toSorted((a, b) => Number(b.leftOut) - Number(a.leftOut))
    if (first === undefined) break
    kept = kept.filter((column) => column !== first)
  }
  return { used, kept }
}

/** A head and rows for programs: always the same columns, and no text is cut or padded. */
function tabSeparated(columns: readonly InUse[]): string {
  const lines = columns[0]?.texts.map((_, at) => columns.map(({ texts }) => texts[at] ?? '').join('\t'))
  const [, ...rows] = lines ?? []
  const head = columns.map(({ title, piped = title }) => piped).join('\t')
  // In colour only if it is forced (FORCE_COLOR).
  return [paint('bold', head), ...rows].join('\n')
}

/** Without a terminal, all columns have room for their texts anyway. */
function shareOf({ share = 0 }: Column, width: number): number {
  return Number.isFinite(width) ? Math.floor(share * width) : 0
}

/** Names the columns that are left out, in one line. */
export function notShown(missing: readonly Pick<Column, 'title'>[], width: number): string {
  const names = missing.map(({ title }) => title).join(', ')
  return shorten(`${NOT_SHOWN}${names} (wider terminal, --json)`, width)
}

type InUse = Column & { texts: readonly string[] }

function textsOf({ title }: Column, cells: readonly string[][], index: number): string[] {
  return [title, ...cells.map((row) => row[index] ?? '')]
}

function hasText(text: string): boolean {
  return text !== '' && text !== '-'
}

function fullWidth({ texts }: InUse): number {
  return longestOf(texts)
}

function leastOf(column: InUse): number {
  return Math.min(fullWidth(column), Math.max(column.least ?? Number.POSITIVE_INFINITY, column.title.length))
}

function leastWidth(columns: readonly InUse[]): number {
  return columns.reduce((sum, column) => sum + leastOf(column) + GAP, -GAP)
}

/**
 * The widths of the columns. Cuts columns that keep their end (ids) first, then columns that may be
 * left out, unless both of their ends count, then the others, and `cutLast` at the end; among these,
 * always the widest.
 */
function widthsIn(columns: readonly InUse[], width: number): number[] {
  const widths = columns.map(fullWidth)
  const least = columns.map(leastOf)
  let excess = widths.reduce((sum, each) => sum + each + GAP, -GAP) - width
  const steps: readonly ((column: InUse) => boolean)[] = [
    ({ keepsEnd }) => keepsEnd === true,
    ({ leftOut, keepsBoth, cutLast }) => leftOut !== undefined && !keepsBoth && !cutLast,
    ({ cutLast }) => !cutLast,
    () => true,
  ]
  for (const isCut of steps) {
    while (excess > 0) {
      const cuttable = widths.map((each, index) => {
        const column = columns[index]
        return column && isCut(column) && each > (least[index] ?? each) ? each : 0
      })
      const widest = Math.max(...cuttable)
      if (widest === 0) break
      widths[cuttable.indexOf(widest)] = widest - 1
      excess -= 1
    }
  }
  return widths
}

function cut(
  text: string,
  width: number,
  { keepsEnd, keepsBoth, wraps }: Pick<Column, 'keepsEnd' | 'keepsBoth' | 'wraps'>,
): string {
  if (wraps || lengthOf(text) <= width) return text
  const plain = stripVTControlCharacters(text)
  if (keepsEnd) return `…${plain.slice(1 - width)}`
  if (!keepsBoth) return shorten(plain, width)
  const start = Math.floor((width - 1) / 3)
  return `${plain.slice(0, start)}…${plain.slice(start + 1 - width)}`
}
