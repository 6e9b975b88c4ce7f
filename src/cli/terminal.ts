import Table from 'cli-table3'
import type { Json } from '../core/json.ts'

/** Where a command writes. `json`: the user asked for machine-readable output. */
export type Terminal = {
  json: boolean
  isTerminal: boolean
  out(text: string): void
  err(text: string): void
}

/** Where commander writes what is wrong with a command line: nowhere for machines, who get it as JSON. */
export function usageOutput({ json, err }: Terminal): { writeErr(text: string): void } {
  return { writeErr: json ? () => {} : err }
}

/** Prints a value: as JSON for machines, else as `human` makes it. */
export function show(terminal: Terminal, value: unknown, human: () => string): void {
  terminal.out(terminal.json ? `${JSON.stringify(value)}\n` : `${human()}\n`)
}

/** A table with aligned columns and no lines: it survives copying, grep and narrow windows. */
export function table(head: string[], rows: readonly (readonly unknown[])[]): string {
  const none = Object.fromEntries(BORDERS.map((part) => [part, '']))
  const made = new Table({
    head,
    chars: { ...none, middle: '  ' },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  })
  for (const row of rows) made.push(row.map(cell))
  return made.toString().replaceAll(/ +$/gm, '')
}

const BORDERS = [
  'top',
  'top-mid',
  'top-left',
  'top-right',
  'bottom',
  'bottom-mid',
  'bottom-left',
  'bottom-right',
  'left',
  'left-mid',
  'mid',
  'mid-mid',
  'right',
  'right-mid',
] as const

function cell(value: unknown): string {
  if (value === undefined || value === null) return '-'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.replaceAll(/\s+/g, ' ')
}

/** Any value for people: text as it is, everything else as indented JSON. */
export function pretty(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}

/** `3 s`, `12 min`, `4 h`, `2 d` ago. */
export function age(at: number | undefined, now: number): string {
  if (at === undefined) return '-'
  const seconds = Math.max(0, Math.round((now - at) / 1000))
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`
  return `${Math.round(seconds / 86_400)} d`
}

/** One line of at most `width` characters. */
export function shorten(text: string, width: number): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length <= width ? line : `${line.slice(0, width - 1)}…`
}
