import { type JsonObject, pathGet } from '../../core/json.ts'
import { formatDuration } from '../../core/units.ts'
import { defined } from '../../lib/defined.ts'
import { paint } from '../../lib/paint.ts'
import { shorten } from '../../lib/short-text.ts'
import type { Terminal } from '../terminal.ts'
import type { Result } from './delivery.ts'

/** A delivery to print. */
export type Line = {
  event: JsonObject
  attempt: number
  /** Duration of the delivery. */
  ms: number
  /** What happens to the event next. */
  verdict: 'done' | 'retry' | 'dropped'
  result: Result
  /** Ms until the next attempt. */
  retryIn: number | undefined
}

/** Formats `10:31:07  200      12ms  hub      push     019…`; with `--json`, one JSON object. */
export function lineOf({ json }: Terminal, { event, attempt, ms, verdict, result, retryIn }: Line): string {
  const { id = null, source = null, type = null } = event
  const kind = pathGet(event, 'data.event') ?? type
  if (json) {
    const fields = {
      type: 'delivery',
      id,
      source,
      event: kind,
      attempt,
      outcome: verdict,
      ms: Math.round(ms),
    }
    return `${JSON.stringify({ ...fields, ...result.fields, ...defined({ retryIn }) })}\n`
  }
  const summary = result.summary.padEnd(12)
  const retry = retryIn === undefined ? '' : `  attempt ${attempt}, again in ${formatDuration(retryIn)}`
  const end = verdict === 'dropped' ? `  dropped after attempt ${attempt}` : retry
  const columns = [
    new Date().toTimeString().slice(0, 8),
    paint(result.ok ? 'green' : 'red', summary),
    `${Math.round(ms)}ms`.padStart(7),
    shorten(String(source), 16).padEnd(16),
    shorten(String(kind), 24).padEnd(24),
    String(id),
  ]
  return `${columns.join('  ')}${end}\n`
}
