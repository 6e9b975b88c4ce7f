import { lastSaidAt } from '../../lib/last-said.ts'
import { authorOf } from '../lib/authors.js'
import { Held, isHeld } from '../lib/held.js'
import { html } from '../lib/html.js'
import { keyOf } from '../lib/inbox.js'
import { Marked } from '../lib/marked.js'
import { Age, Badge, Gist, Outcome } from '../lib/parts.js'
import { pauseWith } from '../lib/pause.js'
import { link } from '../lib/router.js'
import { Select } from '../lib/selection.js'
import { count } from '../lib/troubles.js'
import { senderOf } from './messages.js'

/** Outcomes that say why somebody waits. */
const WHY_WAITS = new Set(['approval', 'running', 'dead', 'retrying', 'replying', 'bounced'])

export const hrefOf = ({ gateway, conversation }) => link(['conversations', gateway, conversation])

/** A conversation in the list. `reload` runs after it was taken over. */
export function row(conversation, { reload, wanted, selection }) {
  const { gateway, conversation: name, messages, hasMore, notes, from, waitingSince, heldBy } = conversation
  const plus = hasMore ? '+' : ''
  const takeOver = async () => {
    if (
      await pauseWith({
        kind: 'conversation',
        of: { gateway, conversation: name },
        name: senderOf(from),
        action: 'Take over',
      })
    )
      reload()
  }
  const label = `Select ${senderOf(from)} in ${gateway}`
  return html`<${Select} of=${selection} id=${keyOf(conversation)} label=${label} /><a class=${`message-row talk ${waitingSince === undefined ? '' : 'waits'}`} href=${hrefOf(conversation)}>
    <span class="gateway">${gateway}</span>
    <span class="sender"><${Marked} text=${senderOf(from)} wanted=${wanted} />${(messages > 1 || hasMore) && html` <span class="many" title=${count(messages, 'message', plus)}>${messages}${plus}<span class="unseen"> messages</span></span>`}</span>
    <${Said} of=${conversation} wanted=${wanted} />
    <span class="turn">${notes > 0 && html`<span class="noted" title="For colleagues only">${count(notes, 'note')}</span> `}<${Turn} of=${conversation} /></span>
    <span class="last">${waitingSince === undefined ? html`<${Age} at=${lastSaidAt(conversation)} />` : html`<${Badge} kind="warn">waits <${Age} at=${waitingSince} /><//>`}</span>
  </a>${!heldBy && html`<button changes type="button" class="small take" tabindex="-1" onClick=${takeOver} aria-label=${`Take over ${senderOf(from)}`}>Take over …</button>`}`
}

/** The newest message, or what a search found, then the last answer, delivered or not. */
function Said({ of: conversation, wanted }) {
  const { reply, undelivered } = conversation
  const answer = undelivered ?? reply
  return html`<span class="said"><${Gist} of=${{ ...conversation, event: undefined }} wanted=${wanted} />${answer?.text && html`<span class="answer"><span class="dim">${authorOf(answer.by) ?? 'answer'}:</span> <${Marked} text=${answer.text} wanted=${wanted} /></span>`}</span>`
}

/**
 * Who has taken over, and why the sender still waits; otherwise, whether the message still waits
 * for its skill after an answer of a person, or its outcome.
 */
function Turn({ of: { outcome, waitingSince, reply, undelivered, settled, heldBy } }) {
  const holder = heldBy && html`<${Badge} kind="busy">${authorOf(heldBy.by) ?? 'somebody'} has it<//> `
  if (undelivered) return html`${holder}<${Badge} kind="bad">not delivered<//>`
  if (waitingSince !== undefined)
    return html`${holder}${WHY_WAITS.has(outcome) && html`<${Outcome} outcome=${outcome} />`}`
  if (isHeld(outcome, { heldBy, waitingSince })) return html`${holder}<${Held} />`
  if (holder) return holder
  if (settled) return html`<${Badge} kind="good">settled<//>`
  return reply && outcome === 'unrouted'
    ? html`<${Badge} kind="good">answered<//>`
    : html`<${Outcome} outcome=${outcome} />`
}
