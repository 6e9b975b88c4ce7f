import { defined } from '../../lib/defined.ts'
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
 * only in ids and numbers are one, which has `…` in their place. `count`: runs, each attempt at a
 * message is one; `messages`: their messages. `lastAt` (Unix ms) and `messageId` are of the newest
 * run, and `firstAt` is of the oldest known one. `pattern`: the same for all of them, see
 * `patternOf`. `errorsOf`: the number of failed runs that are known one by one, and `moreErrors` how
 * many of them have errors that are not listed. `runs`: newest first.
 */
export function runErrors(runs: readonly Run[]) {
  const failed = runs.filter(isFailure)
  const groups = Map.groupBy(failed, ({ code, error = '' }) => `${code} ${patternOf(error)}`)
  const errors = [...groups.values()]
    .flatMap((group) => summaryOf(group) ?? [])
    .sort((a, b) => b.count - a.count)
    .slice(0, MAX_ERRORS)
  const more = failed.length - errors.reduce((sum, { count }) => sum + count, 0)
  return { errors, errorsOf: failed.length, ...(more > 0 && { moreErrors: more }) }
}

/** Whether a run failed with an error of this pattern. Runs of test messages are not counted. */
export function failedWith(run: Run, pattern: string): boolean {
  return isFailure(run) && patternOf(run.error ?? '') === pattern
}

/**
 * The number of messages of failed runs; undefined if some have no message, or if some of the
 * `failed` runs are only counted. `runs`: all that are known.
 */
export function failedMessages(runs: readonly Run[], failed: number): number | undefined {
  const known = runs.filter(isFailure)
  return known.length < failed ? undefined : messagesOf(known)
}

function isFailure(run: Run): boolean {
  return outcomeOf(run) === 'failed' && !run.test
}

/** Undefined if a run has no message, or without runs. */
function messagesOf(runs: readonly Run[]): number | undefined {
  const ids = runs.map(({ messageId, erased }) => messageId ?? erased)
  return ids.length === 0 || ids.includes(undefined) ? undefined : new Set(ids).size
}

function summaryOf(group: readonly Run[]) {
  const [newest] = group
  const oldest = group.at(-1)
  if (!newest || !oldest) return undefined
  const texts = group.map(({ error = '' }) => error.split(VARYING))
  const error = texts.reduce<readonly string[]>(sharedParts, newest.error?.split(VARYING) ?? []).join('')
  const { at: lastAt, code, messageId } = newest
  const messages = messagesOf(group)
  return {
    code,
    error,
    pattern: patternOf(newest.error ?? ''),
    count: group.length,
    firstAt: oldest.at,
    lastAt,
    ...defined({ messages, messageId }),
  }
}
