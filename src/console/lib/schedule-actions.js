import { invoke } from './api.js'
import { html } from './html.js'
import { act, ask } from './parts.js'

// Each function asks, then acts. It resolves after the action, or when the question is cancelled.

export function runSchedule({ id, name, skill }) {
  return change('run', { id }, `${name} runs now.`, {
    title: `Run ${name} now?`,
    body: `The skill ${skill} runs once, in addition to the planned times.`,
    action: 'Run now',
  })
}

export function pauseSchedule({ id, name }) {
  const args = { id }
  const onInput = ({ target }) => {
    const reason = target.value.trim()
    if (reason) args.reason = reason
    else delete args.reason
  }
  return change('pause', args, `${name} is paused.`, {
    title: `Pause the schedule ${name}?`,
    body: html`<p>It does not run until you resume it. Skipped times are not made up.</p>
      <label>Reason (optional) <input data-confirms maxlength="200" onInput=${onInput} /></label>`,
    action: 'Pause',
  })
}

export function resumeSchedule({ id, name }) {
  return change('resume', { id }, `${name} continues at its next planned time.`, {
    title: `Resume the schedule ${name}?`,
    body: 'It continues at its next planned time. Skipped times are not made up.',
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
