import { FAILED, OUTCOMES, outcomesNamed } from './outcomes.ts'

/** `status:dead` in a search. */
const STATUS = /(?:^|\s)(?:status|outcome):(\S+)/gi
const FAILED_OUTCOMES: readonly string[] = FAILED
/** Outcomes of messages that did not fail in the end. */
const OTHERS = OUTCOMES.filter((outcome) => !FAILED_OUTCOMES.includes(outcome)).join()

/**
 * For a filter of failed messages, the one that finds those that failed at first and were tried again
 * since, as an outcome is that of the last attempt. Undefined for other filters.
 */
export function retriedSinceFilter({
  outcome = '',
  search = '',
  ...filter
}: Record<string, unknown>): Record<string, unknown> | undefined {
  const words = [outcome, ...[...String(search).matchAll(STATUS)].map(([, value]) => value)].join()
  const isFailed = (word: string) => outcomesNamed(word).some((each) => FAILED_OUTCOMES.includes(each))
  if (!words.split(',').some(isFailed)) return undefined
  const left = String(search).replace(STATUS, ' ').trim()
  return { ...filter, outcome: OTHERS, attempts: '>1', ...(left !== '' && { search: left }) }
}
