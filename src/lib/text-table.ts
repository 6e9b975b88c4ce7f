import { stripVTControlCharacters } from 'node:util'
import Table from 'cli-table3'
import { escapeUnpainted, keepPainted, paint } from './paint.ts'
import { lengthOf, longestOf, wrapped } from './paragraph.ts'
import { shorten } from './short-text.ts'

/** The parts of the border of a table in cli-table3. */
const BORDERS =
  'top top-mid top-left top-right bottom bottom-mid bottom-left bottom-right left left-mid mid mid-mid right right-mid'

/**
 * A table without borders, for copying and grep. In a narrow terminal, the widest columns are
 * wrapped. If that is not enough, their texts are on separate lines below each row.
 */
export function table(
  head: string[],
  rows: readonly (readonly unknown[])[],
  width = process.stdout.columns || Number.POSITIVE_INFINITY,
): string {
  return tableOf(
    head,
    rows.map((row) => row.map(cell)),
    width,
  )
}

/**
 * Like `table`, but texts in the last column are cut to one line, if there is room for at least
 * `MIN_VISIBLE` characters.
 */
export function listTable(
  head: string[],
  rows: readonly (readonly unknown[])[],
  width = process.stdout.columns || Number.POSITIVE_INFINITY,
): string {
  const cells = rows.map((row) => row.map(cell))
  const before = [head, ...cells].map((row) => row.slice(0, -1))
  const widths = head.slice(0, -1).map((_, at) => longestOf(before.map((row) => row[at] ?? '')))
  const remaining = width - widths.reduce((sum, each) => sum + each + GAP, 0)
  if (remaining < MIN_VISIBLE) {
    // A word that is longer than a line, such as JSON, is cut too.
    const cutWord = (text: string) =>
      text.split(' ').some((word) => lengthOf(word) > width - 2)
        ? shorten(stripVTControlCharacters(text), width - 2)
        : text
    return tableOf(
      head,
      cells.map((row) => row.with(-1, cutWord(row.at(-1) ?? ''))),
      width,
    )
  }
  const cut = (text: string) =>
    lengthOf(text) > remaining ? shorten(stripVTControlCharacters(text), remaining) : text
  return tableOf(
    head,
    cells.map((row) => row.with(-1, cut(row.at(-1) ?? ''))),
    width,
  )
}

/** Minimum number of characters of a cut text; a shorter one is useless. */
const MIN_VISIBLE = 16

function tableOf(head: string[], cells: string[][], width: number): string {
  const { widths, fits } = columnWidths([head, ...cells], width, head.length > 2 ? MIN_TEXT_COLUMN : 0)
  if (!fits && head.length > 2) return withTextsBelow(head, cells, width)
  return grid(head, cells, widths)
}

/** Cells in columns, with a bold head. `widths`: null is as wide as the content. */
export function grid(head: readonly string[], cells: readonly string[][], widths: (number | null)[]): string {
  const noBorders = Object.fromEntries(BORDERS.split(' ').map((part) => [part, '']))
  const output = new Table({
    head: head.map((title) => paint('bold', title)),
    chars: { ...noBorders, middle: ' '.repeat(GAP) },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
    colWidths: widths,
    wordWrap: true,
  })
  for (const row of cells) output.push(row)
  const text = output.toString().replaceAll(/ +$/gm, '')
  // A painted text that was broken has its colours in each line. All escape sequences in `text`
  // come from `paint`: `cell` escaped the others.
  keepPainted(text)
  return text
}

/** Minimum number of columns of a table; with fewer, each row becomes several lines. */
const MIN_COLUMNS = 3

/** Columns with values that people pass to other commands. They leave the row last. */
const NAMING = new Set(['id', 'name', 'key', 'gateway', 'group', 'route', 'conversation'])

/** A table of the narrow columns, with the texts of the others on lines below each row. */
function withTextsBelow(head: string[], cells: string[][], width: number): string {
  const rows = [head, ...cells]
  const widthOf = (column: number) => longestOf(rows.map((row) => row[column] ?? ''))
  const widthOfAll = (columns: readonly number[]) =>
    columns.reduce((sum, column) => sum + widthOf(column) + GAP, -GAP)
  let kept = head.map((_, column) => column)
  while (widthOfAll(kept) > width) {
    const isNaming = (column: number) => NAMING.has(head[column] ?? '')
    const widest = kept
      .slice(1)
      .toSorted((a, b) => Number(isNaming(a)) - Number(isNaming(b)) || widthOf(b) - widthOf(a))[0]
    if (kept.length === MIN_COLUMNS || widest === undefined) return stacked(head, cells, width)
    kept = kept.filter((column) => column !== widest)
  }
  const pick = (row: readonly string[]) => kept.map((column) => row[column] ?? '')
  const [titles = '', ...lines] = grid(
    pick(head),
    cells.map(pick),
    kept.map(() => null),
  ).split('\n')
  const below = cells.map((row) => packed(titledTexts(head, row, kept), width - 2).map((line) => `  ${line}`))
  return [titles, ...lines.flatMap((line, at) => [line, ...(below[at] ?? [])])].join('\n')
}

/**
 * Each row as several lines: its first cell, and the others with their column titles, as many in a
 * line as fit.
 */
function stacked(head: readonly string[], rows: readonly (readonly string[])[], width: number): string {
  const lines = rows.flatMap((row) => {
    const [first = ''] = row
    const parts = titledTexts(head, row, [0])
    return packed(first === '' ? parts : [first, ...parts], width - 2).map((line, at) =>
      at === 0 ? line : `  ${line}`,
    )
  })
  return lines.join('\n')
}

/**
 * The texts of a row with the titles of their columns, without empty ones and those of the columns
 * in `except`.
 */
function titledTexts(head: readonly string[], row: readonly string[], except: readonly number[]): string[] {
  return row.flatMap((text, column) => {
    const title = head[column] ?? ''
    if (text === '' || text === '-' || except.includes(column)) return []
    return [title === '' ? text : `${title}: ${text}`]
  })
}

/** Puts several short texts into a line. Longer ones get lines of their own. */
function packed(parts: readonly string[], width: number): string[] {
  const lines: string[] = []
  for (const part of parts) {
    const last = lines.at(-1)
    const joined = last === undefined ? undefined : `${last} · ${part}`
    if (joined !== undefined && lengthOf(joined) <= width) lines.splice(-1, 1, joined)
    else lines.push(...wrapped(part, width))
  }
  return lines
}

/** Minimum width of a column of texts: a narrower one would have about one word in each line. */
const MIN_TEXT_COLUMN = 24

/**
 * The widths of the columns; null: as wide as the content. `fits`: whether the columns fit without
 * breaking words. First narrows the columns that can become narrower by the most characters.
 */
function columnWidths(
  cells: readonly (readonly string[])[],
  width: number,
  narrowest: number,
): { widths: (number | null)[]; fits: boolean } {
  const texts = (cells[0] ?? []).map((_, index) => cells.map((row) => row[index] ?? ''))
  const columns = texts.map((column) => {
    const [title = '', ...others] = column
    const words = longestOf([title, ...others.flatMap((text) => text.split(' '))])
    const fullWidth = longestOf(column)
    const minWidth = Math.min(fullWidth, Math.max(words, narrowest))
    return { fullWidth, maxCut: fullWidth - minWidth, cut: 0 }
  })
  const gaps = GAP * (columns.length - 1)
  let excess = columns.reduce((sum, { fullWidth }) => sum + fullWidth, gaps) - width
  for (const column of columns.toSorted((a, b) => b.maxCut - a.maxCut)) {
    column.cut = Math.max(0, Math.min(column.maxCut, excess))
    excess -= column.cut
  }
  const widths = columns.map(({ fullWidth, cut }) => (cut > 0 ? fullWidth - cut : null))
  return { widths, fits: excess <= 0 }
}

/** Characters between two columns. */
export const GAP = 2

/** The text of a cell, in one line. */
export function cell(value: unknown): string {
  if (value === undefined || value === null) return '-'
  return escapeUnpainted((typeof value === 'string' ? value : JSON.stringify(value)).replaceAll(/\s+/g, ' '))
}
