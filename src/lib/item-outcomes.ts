import { IN_PROGRESS, outcomesNamed } from './outcomes.ts'

/** Whether an outcome is found by a word of the filter. `waiting` includes all that is in progress. */
export function isWantedOutcome(outcome: string, wanted: string | undefined): boolean {
  if (wanted === undefined) return true
  if (wanted === 'waiting') return IN_PROGRESS.some((each) => each === outcome)
  return outcomesNamed(wanted).includes(outcome)
}
