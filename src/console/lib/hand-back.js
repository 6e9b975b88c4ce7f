import { invoke, mayRun } from './api.js'
import { html } from './html.js'
import { dismiss, isAnswered } from './resume.js'
import { count } from './troubles.js'
import { heldBy } from './waiting-messages.js'

/**
 * The question before several conversations are handed back: how many messages run then, and
 * whether those that a person has answered are recorded as handled instead. `change(row)` hands one
 * back.
 */
export async function handBackQuestion(rows) {
  const all = await Promise.all(rows.map(readHeld))
  const places = new Map(all.map((held) => [held.row, held]))
  const total = all.reduce((sum, { ids }) => sum + ids.length, 0)
  const answered = all.filter((held) => held.canDismiss)
  const many = answered.reduce((sum, { ids }) => sum + ids.length, 0)
  let isHandled = many > 0
  const choose = (event) => {
    isHandled = event.target.checked
  }
  const more = all.some(({ isCut }) => isCut) ? '+' : ''
  const place = rows.length === 1 ? 'it' : 'them'
  const body = html`<p>${total === 0 ? `No message is held in ${place}.` : `${count(total, 'message', more)} ${total === 1 ? 'is' : 'are'} held in ${place}. ${whatRuns(total, many)}`}</p>
    ${many > 0 && html`<p><label><input type="checkbox" checked=${isHandled} onChange=${choose} /> No skill runs for the ${count(many, 'message')} that a person has answered</label></p>`}`
  const change = async (row) => {
    const { pause, ids, canDismiss } = places.get(row)
    if (canDismiss && isHandled) await dismiss(pause, ids)
    await invoke('conversation-resume', { gateway: row.gateway, conversation: row.conversation })
  }
  return { body, change }
}

/** What runs in any case. A checkbox decides on the answered messages. */
function whatRuns(total, answered) {
  if (answered > 0) return answered < total ? 'Those that nobody has answered run now, oldest first.' : ''
  return total === 1 ? 'It runs now.' : 'They run now, oldest first.'
}

/** The messages that a conversation holds, and whether they can be recorded as handled. */
async function readHeld(row) {
  const { gateway, conversation: name, heldBy: hold } = row
  const pause = { kind: 'conversation', gateway, name, reason: hold?.reason }
  const held = await heldBy(pause)
  const canDismiss =
    held.ids.length > 0 && !held.isCut && mayRun('conversation-pause') && (await isAnswered(pause, held))
  return { row, pause, ...held, canDismiss }
}
