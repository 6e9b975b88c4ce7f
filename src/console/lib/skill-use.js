import { skillPauseText, skillUseOf } from '../../lib/skill-pause-text.ts'
import { invoke } from './api.js'
import { useLoaded } from './parts.js'

/** Sentences on what pausing a skill holds. */
export async function effectOfSkillPause(name, signal) {
  const [routes, schedules, { callers }, requests] = await Promise.all([
    invoke('route-list', {}, signal),
    invoke('schedule-list', {}, signal),
    invoke('skill-usage', { name, limit: 1 }, signal),
    invoke('approval-list', { status: 'pending', limit: 1_000 }, signal),
  ])
  const asking = requests.filter(({ skill, calledBy }) => skill === name && calledBy)
  const by = [...callers.map((caller) => caller.by), ...asking.map(({ calledBy }) => `skill ${calledBy}`)]
  return skillPauseText(skillUseOf(name, { routes, schedules, callers: by }))
}

/** The same, once it is known. */
export function SkillPauseEffect({ name }) {
  const { value } = useLoaded((signal) => effectOfSkillPause(name, signal), [name])
  return value ?? null
}
