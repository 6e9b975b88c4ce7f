import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import type { Printers } from '../../core/readable.ts'
import { paint } from '../../lib/paint.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { age, shorten } from '../../lib/short-text.ts'

export const printers: Printers = {
  troubles: humanTroubles,
}

/** Maximum characters of the details of a trouble in `status`. */
const LONGEST_TEXT = 160
/** Troubles that other lines of `status` show. */
const SHOWN_ELSEWHERE = new Set(['configuration', 'store-down', 'shards-away', 'gateway-down'])

/** The list of troubles as text: the problem, its start, and what to do. */
function humanTroubles(result: Json): string {
  const troubles = objectsIn(pathGet(result, 'troubles'))
  if (troubles.length === 0) return 'All is well.'
  return troubles
    .map((trouble) => {
      const { text, todo, since, code } = trouble
      const head = paragraph('', `${headOf(trouble)} (${code}, for ${age(since)})`)
      return [head, paragraph('  ', String(text)), paragraph('  → ', String(todo))].join('\n')
    })
    .join('\n')
}

/** Whether one of the troubles is an error: messages are lost, refused or stuck. */
export function hasError(result: Json): boolean {
  return objectsIn(pathGet(result, 'troubles')).some(({ severity }) => severity === 'error')
}

/** Up to `most` troubles for `status`, except those that other lines show. Long details are cut. */
export function troubleLines(troubles: readonly JsonObject[], most: number): string[] {
  const shown = troubles.filter(({ code }) => !SHOWN_ELSEWHERE.has(String(code)))
  if (shown.length === 0) return []
  const lines = shown.slice(0, most).map((trouble) => {
    const text = shorten(String(trouble.text), LONGEST_TEXT)
    return paragraph('  ', `${headOf(trouble)} (${age(trouble.since)}): ${text}`).trimStart()
  })
  const more = shown.length > most ? [`… and ${shown.length - most} more: \`trivium trouble list\``] : []
  return ['', ...lines, ...more]
}

function headOf({ severity, title }: JsonObject): string {
  const mark = severity === 'info' ? '·' : paint(severity === 'error' ? 'red' : 'yellow', '!')
  return `${mark} ${title}`
}
