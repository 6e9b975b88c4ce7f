import Table from 'cli-table3'
import { isJsonObject, type Json, type JsonObject } from '../core/json.ts'
import { escapeControls } from '../lib/escape-controls.ts'

/** Where a command writes. `json`: the user asked for machine-readable output. */
export type Terminal = {
  json: boolean
  isTerminal: boolean
  out(text: string): void
  err(text: string): void
}

/** What strangers wrote can not steer the terminal: control characters are escaped, here alone. */
export function createTerminal(json: boolean, { out, err }: Pick<Terminal, 'out' | 'err'>): Terminal {
  return {
    json,
    isTerminal: process.stdout.isTTY === true,
    out: (text) => out(escapeControls(text)),
    err: (text) => err(escapeControls(text)),
  }
}

/** Where commander writes help, and what is wrong with a command line: nowhere for machines, who get it as JSON. */
export function usageOutput({ json, out, err }: Terminal) {
  return { writeOut: out, writeErr: json ? () => {} : err }
}

/** Prints a value: as JSON for machines, else as `human` makes it. */
export function show(terminal: Terminal, value: unknown, human: () => string): void {
  terminal.out(terminal.json ? `${JSON.stringify(value)}\n` : `${human()}\n`)
}

const BORDERS =
  'top top-mid top-left top-right bottom bottom-mid bottom-left bottom-right left left-mid mid mid-mid right right-mid'

/** A table with aligned columns and no lines: it survives copying, grep and narrow windows. */
export function table(head: string[], rows: readonly (readonly unknown[])[]): string {
  const none = Object.fromEntries(BORDERS.split(' ').map((part) => [part, '']))
  const made = new Table({
    head,
    chars: { ...none, middle: '  ' },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  })
  for (const row of rows) made.push(row.map(cell))
  return made.toString().replaceAll(/ +$/gm, '')
}

function cell(value: unknown): string {
  if (value === undefined || value === null) return '-'
  return (typeof value === 'string' ? value : JSON.stringify(value)).replaceAll(/\s+/g, ' ')
}

/** The objects of a list; none of what is no list. */
export function objectsIn(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}

/** Any value for people: text as it is, everything else as indented JSON. */
export function pretty(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}

/** `3 s`, `12 min`, `4 h`, `2 d` ago; `-` for no time at all. */
export function age(at: unknown, now = Date.now()): string {
  if (typeof at !== 'number') return '-'
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
