import { styleText } from 'node:util'
import { escapeControls } from './escape-controls.ts'

/** The newest texts from `paint`: the only control sequences that are not escaped. */
const painted = new Set<string>()
/** More than one output has. `top` paints new texts every second. */
const MOST_PAINTED = 50_000
const SEQUENCES = /\p{Cc}\[\d+m[^\p{Cc}]*\p{Cc}\[\d+m/gu
const SEQUENCE = /(\p{Cc}\[\d+m[^\p{Cc}]*\p{Cc}\[\d+m)/u

/** Escapes control characters in all but painted texts. */
export function escapeUnpainted(text: string): string {
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
  remember(text)
  return text
}

function remember(text: string): void {
  painted.delete(text)
  painted.add(text)
  const [oldest] = painted
  if (painted.size > MOST_PAINTED && oldest !== undefined) painted.delete(oldest)
}

/** Keeps the colours of a text that was made from painted texts and broken into lines. */
export function keepPainted(text: string): void {
  for (const [part] of text.matchAll(SEQUENCES)) remember(part)
}

/** A state in its colour, with its detail. A state `ok` that is not ok is shown as FAILING. */
export function stateText(ok: unknown, state: string, detail: unknown): string {
  const shown = ok ? paint('green', state) : paint('red', state === 'ok' ? 'FAILING' : state)
  return detail === undefined ? shown : `${shown}: ${detail}`
}
