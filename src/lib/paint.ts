import { styleText } from 'node:util'
import { escapeControls } from './escape-controls.ts'

/** The newest texts from `paint`: the only control sequences that are not escaped. */
const painted = new Set<string>()
/**
 * Maximum number of remembered texts; no output has as many. `top` paints new ones every second.
 */
const MOST_PAINTED = 50_000
const PAINTED = /\p{Cc}\[\d+m[^\p{Cc}]*\p{Cc}\[\d+m/gu
/** A painted text: its first sequence, its words, its last sequence. */
const PARTS = /^(\p{Cc}\[\d+m)([^\p{Cc}]*)(\p{Cc}\[\d+m)$/u
/** For `split`, whose result also has the texts of groups. */
const SPLIT_AT_PAINTED = new RegExp(`(${PAINTED.source})`, 'u')

/** Escapes control characters in all but painted texts. */
export function escapeUnpainted(text: string): string {
  return text
    .split(SPLIT_AT_PAINTED)
    .map((part) => (painted.has(part) ? part : escapeControls(part)))
    .join('')
}

/** Colours a text if its stream supports colours (respects NO_COLOR and FORCE_COLOR). */
export function paint(
  style: 'bold' | 'red' | 'green' | 'yellow',
  word: string,
  stream: NodeJS.WriteStream = process.stdout,
): string {
  const parts = escapeControls(word).split(/([\r\n\t]+)/)
  return parts
    .map((part, at) => (part === '' || at % 2 === 1 ? part : paintLine(style, part, stream)))
    .join('')
}

/** Colours a text without control characters. */
function paintLine(style: Parameters<typeof paint>[0], line: string, stream: NodeJS.WriteStream): string {
  const text = styleText(style, line, { stream })
  remember(text)
  return text
}

/**
 * Gives each word of the painted texts its own colours, so that a line can end between them. Other
 * sequences stay as they are.
 */
export function paintWords(text: string): string {
  return text
    .split(SPLIT_AT_PAINTED)
    .map((part) => (painted.has(part) ? eachWord(part) : part))
    .join('')
}

function eachWord(text: string): string {
  const [, open = '', words = '', close = ''] = PARTS.exec(text) ?? []
  return words
    .split(' ')
    .map((word) => {
      const shown = word === '' ? '' : `${open}${word}${close}`
      if (shown !== '') remember(shown)
      return shown
    })
    .join(' ')
}

function remember(text: string): void {
  painted.delete(text)
  painted.add(text)
  const [oldest] = painted
  if (painted.size > MOST_PAINTED && oldest !== undefined) painted.delete(oldest)
}

/**
 * Accepts all colours in `text`, in which other sequences must already be escaped. Needed because
 * breaking a painted text into lines makes new sequences.
 */
export function keepPainted(text: string): void {
  for (const [part] of text.matchAll(PAINTED)) remember(part)
}

/**
 * A state in its colour, with its detail. If `ok` is false, the state `ok` would mislead: it is
 * shown as FAILING.
 */
export function stateText(ok: unknown, state: string, detail: unknown): string {
  const shown = ok ? paint('green', state) : paint('red', state === 'ok' ? 'FAILING' : state)
  return detail === undefined ? shown : `${shown}: ${detail}`
}
