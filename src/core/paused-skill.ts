import { defined } from '../lib/defined.ts'
import { TriviumError } from './errors.ts'
import { textAt } from './json.ts'

/** A pause, as the error of a call that it holds names it. */
type SkillPause = { name: string; by: string; reason?: string }

/**
 * The refusal of a call of a paused skill. Dispatched messages, schedules and events wait instead.
 * `caller`: the calling skill, if there is one.
 */
export function skillPaused({ name, by, reason }: SkillPause, caller?: string): TriviumError {
  const details = reason === undefined ? `by ${by}` : `by ${by}: ${reason}`
  return new TriviumError(
    'skill_paused',
    { name, details },
    { cause: { skill: name, ...defined({ caller }) } },
  )
}

/** The paused skill that a run called, if this made it fail, also if the caller wrapped the error. */
export function pausedSkillIn(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const isRefusal = error instanceof TriviumError && error.code === 'skill_paused'
  return isRefusal ? textAt(error.cause, 'skill') : pausedSkillIn(error.cause)
}

/** Whether an error is the refusal of a call that this skill made itself, so that the called one has not begun. */
export function isRefusedTo(caller: string, error: unknown): boolean {
  return (
    error instanceof TriviumError && error.code === 'skill_paused' && textAt(error.cause, 'caller') === caller
  )
}
