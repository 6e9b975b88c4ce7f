import { invoke } from './api.js'
import { act, ask, dateTime } from './parts.js'
import { pauseWith } from './pause.js'
import { count } from './troubles.js'

// Each function asks, then acts. It resolves after the action, or when the question is cancelled.

export function runSchedule({ id, name, skill, skillPause }) {
  const said = ({ skillPause: pause }) =>
    pause ? `${name} waits for skill ${skill}, which is paused, and then runs.` : `${name} runs now.`
  const wait = skillPause ? ` The skill is paused: the run waits for the end of the pause.` : ''
  return change('run', { id }, said, {
    title: `Run ${name} now?`,
    body: `The skill ${skill} runs once, in addition to the planned times.${wait}`,
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
  return change('resume', { id }, () => `${name} continues at its next planned time${at}.`, {
    title: `Resume the schedule ${name}?`,
    body: `It continues at its next planned time${at}. ${past}`,
    action: 'Resume',
  })
}

/** `said`: makes the sentence after the action from the answer of the daemon. */
async function change(verb, args, said, question) {
  if (!(await ask(question))) return
  await act(async () => said(await invoke(`schedule-${verb}`, args)))
}
