import { patternOf, sharedParts, VARYING } from '../../lib/error-pattern.ts'
import { CANCELLED, type Run } from './run-log.ts'

/** Maximum number of errors in a result. */
const MAX_ERRORS = 20

/** How a run ended. */
export function outcomeOf({ code }: Pick<Run, 'code'>): 'ok' | 'failed' | 'cancelled' {
  if (code === undefined) return 'ok'
  return code === CANCELLED ? 'cancelled' : 'failed'
}

/**
 * The errors of failed runs, most frequent first, without runs of test messages. Errors that differ
 * only in ids and numbers are one, which has `…` in their place. `lastAt` (Unix ms) and `messageId`
 * are of the newest run. `runs`: newest first.
 */
export function runErrors(runs: readonly Run[]) {
  const failed = runs.filter((run) => outcomeOf(run) === 'failed' && !run.test)
  const groups = Map.groupBy(failed, ({ code, error = '' }) => `${code} ${patternOf(error)}`)
  return [...groups.values()]
    .flatMap((group) => summaryOf(group) ?? [])
    .sort((a, b) => b.count - a.count)
    .slice(0, MAX_ERRORS)
}

function summaryOf(group: readonly Run[]) {
  const [newest] = group
  if (!newest) return undefined
  const texts = group.map(({ error = '' }) => error.split(VARYING))
  const error = texts.reduce<readonly string[]>(sharedParts, newest.error?.split(VARYING) ?? []).join('')
  const { at: lastAt, code, messageId } = newest
  return { code, error, count: group.length, lastAt, ...(messageId !== undefined && { messageId }) }
}
