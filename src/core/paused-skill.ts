import { TriviumError } from './errors.ts'
import { textAt } from './json.ts'

/** A pause, as the error of a call that it holds names it. */
type SkillPause = { name: string; by: string; reason?: string }

/** The refusal of a call of a paused skill. Dispatched messages, schedules and events wait instead. */
export function skillPaused({ name, by, reason }: SkillPause): TriviumError {
  const details = reason === undefined ? `by ${by}` : `by ${by}: ${reason}`
  return new TriviumError('skill_paused', { name, details }, { cause: { skill: name } })
}

/** The paused skill that a run called, if this made it fail, also if the caller wrapped the error. */
export function pausedSkillIn(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const isRefusal = error instanceof TriviumError && error.code === 'skill_paused'
  return isRefusal ? textAt(error.cause, 'skill') : pausedSkillIn(error.cause)
}
