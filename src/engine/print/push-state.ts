import { type JsonObject, pathGet } from '../../core/json.ts'
import { paint } from '../../lib/paint.ts'
import { age } from '../../lib/short-text.ts'

/**
 * The state of a push: `failing for 12 min: it answered 503`, `paused by ada`, `fails 20 of 50`. An
 * active push shows its share of errors if that is known; else it is `retrying` while its newest
 * attempts fail.
 */
export function pushState({ state, detail, failingSince, errors }: JsonObject): string {
  const since = failingSince === undefined ? '' : ` for ${age(failingSince)}`
  if (state === 'failing') return withDetail(paint('red', `failing${since}`), detail)
  const failed = pathGet(errors, 'failed')
  if (state === 'active' && failed !== undefined)
    return paint('yellow', `fails ${failed} of ${pathGet(errors, 'of')}`)
  if (state === 'active') return failingSince === undefined ? 'active' : paint('yellow', `retrying${since}`)
  if (state === 'disabled') return withDetail(paint('red', 'disabled'), detail)
  return paint('yellow', [state, detail].filter(Boolean).join(' '))
}

function withDetail(state: string, detail: unknown): string {
  return detail === undefined ? state : `${state}: ${detail}`
}
