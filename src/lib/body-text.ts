import { attempt } from './attempt.ts'
import { counted } from './counted.ts'
import { parseExact } from './exact-json.ts'

/**
 * The text of a message for people: JSON is indented, other texts stay as they are. After
 * `maxLines`, a last line counts the others; `whole` is the command that shows all of them.
 */
export function bodyText(text: string, maxLines = Number.POSITIVE_INFINITY, whole = ''): string {
  const lines = (isJson(text) ? JSON.stringify(parseExact(text), null, 2) : text).trimEnd().split('\n')
  const more = lines.length - maxLines
  // One line would take as much room as the line that counts it.
  if (more <= 1) return lines.join('\n')
  const hint = whole === '' ? '' : `: ${whole}`
  return [...lines.slice(0, maxLines), `… ${counted(more, 'more line')}${hint}`].join('\n')
}

/** Whether a text is a JSON object or list. */
function isJson(text: string): boolean {
  return /^\s*[{[]/.test(text) && typeof attempt(() => parseExact(text)) === 'object'
}
