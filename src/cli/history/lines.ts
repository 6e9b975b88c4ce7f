import { paint } from '../../lib/paint.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { shorten } from '../../lib/short-text.ts'

/** A row of the transcript or of the trace. */
export type Row = {
  /** ISO 8601. */
  time: string
  /** Short texts beside the time: `id`, `who`, `gateway`. */
  cells: readonly string[]
  /** Texts as a program reads them: one line each. */
  fields: readonly string[]
  /** What people read, in lines. The first one has a mark, such as an arrow, before it. */
  mark: string
  lines: readonly string[]
}

/** The titles of the cells and of the fields. */
export type Titles = Pick<Row, 'cells' | 'fields'>

/** Minimum width of a terminal in which a text is beside its cells; else it is below them. */
const MIN_WIDE = 120
/** Maximum widths of the cells beside a text. */
const WIDE = [8, 18, 10, 16]
const INDENT = '    '
/** Minimum characters of who wrote an entry, in a narrow terminal. */
const MIN_WHO = 8

/**
 * Makes a function that prints rows one by one: at a terminal with a line for each day, and with a
 * head if it is wide; in a pipe with tabs between the fields.
 */
export function createLines(titles: Titles, width = process.stdout.columns ?? 0): (row: Row) => string {
  if (!(width > 0)) return tabSeparated(titles.fields)
  const isWide = width >= MIN_WIDE
  let day = ''
  let hasHead = !isWide
  return (row) => {
    const lines: string[] = []
    if (!hasHead) lines.push(paint('bold', `${beside('time', titles.cells)}text`))
    hasHead = true
    const on = row.time.slice(0, 10)
    if (on !== day) lines.push(paint('bold', `${on} (UTC)`))
    day = on
    return [...lines, ...(isWide ? wideRow(row) : narrowRow(row))].join('\n')
  }
}

function tabSeparated(titles: readonly string[]): (row: Row) => string {
  let head = `${paint('bold', ['time', ...titles].join('\t'))}\n`
  return ({ time, fields }) => {
    const line = [time, ...fields.map((field) => field.replaceAll(/\s+/g, ' ').trim())].join('\t')
    const lines = `${head}${line}`
    head = ''
    return lines
  }
}

/** The time and the cells, each with a gap after it. */
function beside(time: string, cells: readonly string[]): string {
  const shown = cells.map((text, at) => shorten(text, WIDE[at] ?? 0).padEnd(WIDE[at] ?? 0))
  return [time.padEnd('hh:mm:ss'.length), ...shown].map((text) => `${text}  `).join('')
}

function wideRow({ time, cells, mark, lines: [first = '', ...others] }: Row): string[] {
  const head = beside(time.slice(11, 19), cells)
  const blank = ' '.repeat(head.length + mark.length + 1)
  return [paragraph(`${head}${mark} `, first), ...others.map((line) => indented(blank, line))]
}

function narrowRow({ time, cells: [id = '', ...cells], mark, lines }: Row): string[] {
  const start = `${time.slice(11, 19)}  ${mark} `
  const others = [...cells.slice(1), id].filter((cell) => cell !== '')
  const left = (process.stdout.columns || Number.POSITIVE_INFINITY) - [start, '', ...others].join('  ').length
  const who = cells[0] === undefined ? [] : [shorten(cells[0], Math.max(MIN_WHO, left))]
  return [start + [...who, ...others].join('  '), ...lines.map((line) => indented(INDENT, line))]
}

/** An empty line has no indentation. */
function indented(indent: string, line: string): string {
  return line.trim() === '' ? '' : paragraph(indent, line)
}
