import { stripVTControlCharacters, styleText } from 'node:util'
import Table from 'cli-table3'
import type { Json } from '../core/json.ts'
import { escapeControls } from '../lib/escape-controls.ts'

/** The outputs of the program: stdout and stderr. */
export type Streams = Record<'out' | 'err', (text: string) => void>

export type Terminal = ReturnType<typeof createTerminal>

/**
 * The output of a command. Escapes control characters, so that text of strangers cannot control the
 * terminal. All output of commands must go through it, because no other code escapes them.
 */
export function createTerminal(json: boolean, { out, err }: Streams) {
  const isTerminal = process.stdout.isTTY === true
  return {
    json,
    isTerminal,
    out: (text: string) => out(safe(text)),
    err: (text: string) => err(safe(text)),
    /**
     * Draws a full screen at each `draw` and every second. `leave` restores the previous content.
     * `quit` is called at q, Escape and Ctrl-C.
     */
    enterScreen(lines: () => readonly string[], quit: () => void) {
      // Overwrites each line in place, to avoid flicker.
      const draw = () => {
        const shown = lines().slice(0, process.stdout.rows || 24)
        out(`\x1b[H${shown.map((line) => `${safe(line)}\x1b[K`).join('\n')}\x1b[J`)
      }
      // The alternate screen, without cursor and without automatic wrapping: long lines are cut and cannot scroll the screen.
      out('\x1b[?1049h\x1b[?25l\x1b[?7l')
      const timer = setInterval(draw, 1_000)
      process.stdout.on('resize', draw)
      const keys = process.stdin.isTTY ? process.stdin.setRawMode(true) : undefined
      keys?.on('data', (pressed) => {
        if (['q', '\u001b', '\u0003'].includes(String(pressed))) quit()
      })
      const leave = () => {
        clearInterval(timer)
        keys?.setRawMode(false).pause()
        out('\x1b[?7h\x1b[?25h\x1b[?1049l')
      }
      return { draw, leave }
    },
    /** Shows progress in place of the previous line, at a terminal only. */
    progress(text: string) {
      if (!json && process.stderr.isTTY) err(`\r\x1b[K${safe(text)}`)
    },
  }
}

/** Texts from `paint`: the only control sequences that are not escaped. */
const painted = new Set<string>()
const SEQUENCES = /\p{Cc}\[\d+m[^\p{Cc}]*\p{Cc}\[\d+m/gu
const SEQUENCE = /(\p{Cc}\[\d+m[^\p{Cc}]*\p{Cc}\[\d+m)/u

function safe(text: string): string {
  return text
    .split(SEQUENCE)
    .map((part) => (painted.has(part) ? part : escapeControls(part)))
    .join('')
}

/** Colours a text if its stream supports colours (respects NO_COLOR and FORCE_COLOR). */
export function paint(
  style: 'bold' | 'red' | 'green' | 'yellow',
  word: string,
  stream: NodeJS.WriteStream = process.stdout,
): string {
  const text = styleText(style, word, { stream })
  painted.add(text)
  return text
}

/**
 * Output settings of commander for help and usage errors. With `--json` it prints nothing, because
 * they are printed as JSON.
 */
export function usageOutput({ json, out, err }: Terminal) {
  return { writeOut: out, writeErr: json ? () => {} : err }
}

/** Prints a hint that a command has a new name. */
export function hintAt({ json, err }: Terminal, oldName: string, newName: string): void {
  if (!json) err(`(${oldName} is now called: ${newName})\n`)
}

/** Prints a value: as JSON with `--json`, or else as formatted by `human`. */
export function show(terminal: Terminal, value: unknown, human: () => string): void {
  terminal.out(terminal.json ? `${JSON.stringify(value)}\n` : `${human()}\n`)
}

/** The parts of the border of a table in cli-table3. */
const BORDERS =
  'top top-mid top-left top-right bottom bottom-mid bottom-left bottom-right left left-mid mid mid-mid right right-mid'

/**
 * A table without borders, for copying and grep. In a narrow terminal, the widest columns are wrapped;
 * if that is not enough, each row becomes several lines.
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

/** Like `table`, but the text in the last column is cut to the rest of its line, if there is room for some of it. */
export function listTable(
  head: string[],
  rows: readonly (readonly unknown[])[],
  width = process.stdout.columns || Number.POSITIVE_INFINITY,
): string {
  const cells = rows.map((row) => row.map(cell))
  const before = [head, ...cells].map((row) => row.slice(0, -1))
  const widths = head.slice(0, -1).map((_, at) => Math.max(...before.map((row) => lengthOf(row[at] ?? ''))))
  const left = width - widths.reduce((sum, each) => sum + each + GAP, 0)
  if (left < LEAST_CUT) return tableOf(head, cells, width)
  const cut = (text: string) => (lengthOf(text) > left ? shorten(stripVTControlCharacters(text), left) : text)
  return tableOf(
    head,
    cells.map((row) => row.with(-1, cut(row.at(-1) ?? ''))),
    width,
  )
}

/** Less of a text (characters) says nothing. */
const LEAST_CUT = 16

function tableOf(head: string[], cells: string[][], width: number): string {
  const noBorders = Object.fromEntries(BORDERS.split(' ').map((part) => [part, '']))
  const { widths, fits } = columnWidths([head, ...cells], width, head.length > 2 ? LEAST : 0)
  if (!fits && head.length > 2) return stacked(head, cells, width)
  const output = new Table({
    head: head.map((title) => paint('bold', title)),
    chars: { ...noBorders, middle: ' '.repeat(GAP) },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
    colWidths: widths,
    wordWrap: true,
  })
  output.push(...cells)
  const text = output.toString().replaceAll(/ +$/gm, '')
  // A painted text that was broken has its colours in each line. The cells themselves have no others.
  for (const [part] of text.matchAll(SEQUENCES)) painted.add(part)
  return text
}

/** Each row as several lines: its first cell, and the others with their column titles, as many in a line as fit. */
function stacked(head: readonly string[], rows: readonly (readonly string[])[], width: number): string {
  const lines = rows.flatMap(([first = '', ...others]) => {
    const parts = others.flatMap((text, at) => {
      const title = head[at + 1] ?? ''
      if (text === '' || text === '-') return []
      return [title === '' ? text : `${title}: ${text}`]
    })
    return packed(first === '' ? parts : [first, ...parts], width - 2).map((line, at) =>
      at === 0 ? line : `  ${line}`,
    )
  })
  return lines.join('\n')
}

/** Puts several short texts into a line. Longer ones get lines of their own. */
function packed(parts: readonly string[], width: number): string[] {
  const lines: string[] = []
  for (const part of parts) {
    const last = lines.at(-1)
    const joined = `${last} · ${part}`
    if (last !== undefined && lengthOf(joined) <= width) lines.splice(-1, 1, joined)
    else lines.push(...wrapped(part, width))
  }
  return lines
}

function lengthOf(text: string): number {
  return stripVTControlCharacters(text).length
}

/** A paragraph in the width of the terminal. `first` begins it, and the other lines are indented as far. Not wrapped in a pipe. */
export function paragraph(first: string, text: string): string {
  const width = (process.stdout.columns || Number.POSITIVE_INFINITY) - first.length
  return first + wrapped(text, width).join(`\n${' '.repeat(first.length)}`)
}

/** Breaks a text between words. A longer word stays whole: ids are copied. */
function wrapped(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    const joined = `${last} ${word}`
    if (last !== undefined && lengthOf(joined) <= width) lines.splice(-1, 1, joined)
    else lines.push(word)
  }
  return lines
}

/** A narrower column of texts has a word in each line. */
const LEAST = 24

/**
 * The widths of the columns; null: as wide as the content. `fits`: whether the columns fit without breaking words. First narrows the
 * columns that can lose most.
 */
function columnWidths(
  cells: readonly (readonly string[])[],
  width: number,
  narrowest: number,
): { widths: (number | null)[]; fits: boolean } {
  const longest = (parts: readonly string[]) => Math.max(0, ...parts.map(lengthOf))
  const texts = (cells[0] ?? []).map((_, index) => cells.map((row) => row[index] ?? ''))
  const columns = texts.map((column) => {
    const [title = '', ...others] = column
    const words = longest([title, ...others.flatMap((text) => text.split(' '))])
    const fullWidth = longest(column)
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
const GAP = 2

/** The text of a cell, in one line. */
function cell(value: unknown): string {
  if (value === undefined || value === null) return '-'
  return safe((typeof value === 'string' ? value : JSON.stringify(value)).replaceAll(/\s+/g, ' '))
}

/** Formats any value: text unchanged, everything else as indented JSON. */
export function pretty(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}

/** The age of a time: `3 s`, `12 min`, `4 h`, `2 d`; `-` without a time. */
export function age(at: unknown, now = Date.now()): string {
  if (typeof at !== 'number') return '-'
  const seconds = Math.max(0, Math.round((now - at) / 1000))
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`
  return `${Math.round(seconds / 86_400)} d`
}

/** `0.4 MB`, `1200.0 MB`. */
export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}

/** The end of an id, for lists at a terminal; the whole id in a pipe. Commands take both (see `fullId`). */
export function shortId(id: unknown): string {
  const text = String(id)
  return process.stdout.isTTY && UUID.test(text) ? text.slice(-SHORT_ID) : text
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const SHORT_ID = 8

/** Shortens a text to one line of at most `width` characters. */
export function shorten(text: string, width: number): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length <= width ? line : `${line.slice(0, width - 1)}…`
}
