import { html } from './html.js'
import { Badge } from './parts.js'

/** Outcomes of messages that their skill has yet to handle. */
const UNHANDLED = new Set(['waiting', 'retrying', 'approval'])

/**
 * Whether a message of a conversation that a person has taken over still waits for its skill,
 * although it is answered. `of`: the conversation.
 */
export function isHeld(outcome, { heldBy, waitingSince }) {
  return heldBy !== undefined && waitingSince === undefined && UNHANDLED.has(outcome)
}

export function Held() {
  return html`<${Badge} kind="warn" title="Its skill runs for it when the conversation is handed back">message held<//>`
}
