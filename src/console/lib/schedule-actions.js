import { invoke } from './api.js'
import { act, ask, dateTime } from './parts.js'
import { pauseWith } from './pause.js'
import { count } from './troubles.js'

// Each function asks, then acts. It resolves after the action, or when the question is cancelled.

export function runSchedule({ id, name, skill }) {
  return change('run', { id }, `${name} runs now.`, {
    title: `Run ${name} now?`,
    body: `The skill ${skill} runs once, in addition to the planned times.`,
    action: 'Run now',
  })
}

/** Asks for a reason and an end, then pauses, or changes the present pause. */
export function pauseSchedule({ id, name, paused: before }) {
  return pauseWith({ kind: 'schedule', of: { id }, name, before })
}

export function resumeSchedule({ id, name, next, paused: { skipped, skippedMore } = {} }) {
  const at = next === undefined ? '' : `, ${dateTime(next)}`
  const past =
    skipped > 0
      ? `${skippedMore ? 'At least ' : ''}${count(skipped, 'planned time')} ${skipped === 1 ? 'was' : 'were'} skipped and will not be made up.`
      : 'No planned time was skipped.'
  return change('resume', { id }, `${name} continues at its next planned time${at}.`, {
    title: `Resume the schedule ${name}?`,
    body: `It continues at its next planned time${at}. ${past}`,
    action: 'Resume',
  })
}

async function change(verb, args, said, question) {
  if (!(await ask(question))) return
  await act(async () => {
    await invoke(`schedule-${verb}`, args)
    return said
  })
}
