import { invoke } from './api.js'
import { reasonField } from './ask-reason.js'
import { html } from './html.js'
import { changes } from './live.js'
import { act, ask } from './parts.js'

/** What giving up a message does, by its outcome. */
const EFFECTS = {
  retrying: 'No further attempt begins, and its sender gets no answer from the skill.',
  waiting: 'No skill runs for it, and its sender gets no answer.',
  approval: 'Its request is denied, no skill runs for it any more, and its sender gets no answer.',
}

/** Whether a message with this outcome can be given up. */
export function mayGiveUp(outcome) {
  return outcome in EFFECTS
}

/** Asks for a reason and what happens to it, then ends a message before its next attempt. */
export async function giveUp(id, outcome) {
  let drop = false
  const { field, given } = reasonField()
  const choice = (value, label) =>
    html`<label><input type="radio" name="drop" checked=${value === drop} onChange=${() => {
      drop = value
    }} />${label}</label>`
  const body = html`<p>${EFFECTS[outcome]}</p>${field}
    <fieldset class="ends"><legend>Then</legend>${choice(false, 'keep it as a dead letter')}${choice(true, 'drop it')}</fieldset>`
  if (!(await ask({ title: 'Give up this message?', body, action: 'Give up', danger: true }))) return
  await act(async () => {
    const { cancelled, outcome: end } = await invoke('run-cancel', { messageId: id, drop, ...given() })
    changes.dead.value++
    if (cancelled) return drop ? 'It is given up and dropped.' : 'It is given up, and a dead letter now.'
    if (mayGiveUp(end)) return 'It is given up once its route has a place for it.'
    return `It had already ended: ${end}.`
  })
}
