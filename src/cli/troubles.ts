import { type Json, type JsonObject, objectsIn, pathGet } from '../core/json.ts'
import { age, paint, shorten } from './terminal.ts'

const LONGEST_TEXT = 160
/** Covered by other lines of `status`. */
const TOLD_ELSEWHERE = new Set(['configuration', 'store-down', 'shards-away', 'gateway-down'])

/** The list of troubles as text: the problem, its start, and what to do. */
export function humanTroubles(result: Json): string {
  const troubles = objectsIn(pathGet(result, 'troubles'))
  if (troubles.length === 0) return 'All is well.'
  return troubles
    .map((trouble) => {
      const { text, todo, since, code } = trouble
      return `${headOf(trouble)} (${code}, for ${age(since)})\n  ${text}\n  → ${todo}`
    })
    .join('\n')
}

/** Whether messages are lost, refused or stuck. */
export function hasError(result: Json): boolean {
  return objectsIn(pathGet(result, 'troubles')).some(({ severity }) => severity === 'error')
}

/** The troubles in `status`, one line each, except those covered by other lines. */
export function troubleLines(troubles: readonly JsonObject[], room: number): string[] {
  const shown = troubles.filter(({ code }) => !TOLD_ELSEWHERE.has(String(code)))
  if (shown.length === 0) return []
  const lines = shown
    .slice(0, room)
    .map(
      (trouble) =>
        `${headOf(trouble)} (${age(trouble.since)}): ${shorten(String(trouble.text), LONGEST_TEXT)}`,
    )
  const more = shown.length > room ? [`… and ${shown.length - room} more: trivium troubles`] : []
  return ['', ...lines, ...more]
}

function headOf({ severity, title }: JsonObject): string {
  const mark = severity === 'info' ? '·' : paint(severity === 'error' ? 'red' : 'yellow', '!')
  return `${mark} ${title}`
}
