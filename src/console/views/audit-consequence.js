import { answersAfter } from '../../lib/answers-after.ts'
import { invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { Age, Outcome, useLoaded } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { After, AnswersAfter } from './approval-card.js'
import { DECISION, inWords, Result, What, Who } from './audit-parts.js'

/** How long (ms) before its entry an answer by hand may have been sent. */
const SENDING = 60_000
/** Maximum number of other entries about the same object. */
const MAX_OTHERS = 8

/** What came of an action: of a decision, or of the message that it was about. */
export function Consequence({ of: entry }) {
  const { action, status, target, about } = entry
  if (status !== 'done') return null
  if (action === DECISION && target?.id) return html`<${OfRequest} id=${target.id} />`
  return about ? html`<${OfMessage} of=${entry} />` : null
}

function OfRequest({ id }) {
  const { value } = useLoaded((signal) => invoke('approval-list', { id }, signal), [id])
  const [request] = value ?? []
  if (!request || (!request.message && !request.run)) return null
  return html`<h2>What came of it</h2><div class="came-of"><${After} of=${request} /></div>`
}

function OfMessage({ of: { at, action, about } }) {
  const id = about.messageId
  const { value } = useLoaded((signal) => invoke('message-show', { id }, signal), [id])
  if (!value) return null
  const answers =
    action === 'gateway-send'
      ? nearest(answersAfter(at - SENDING, value.history), at)
      : answersAfter(at, value.history)
  return html`<h2>What came of it</h2>
    <p>The <a href=${link(['messages', id])}>message</a> is now <${Outcome} outcome=${value.outcome} /></p>
    <div class="came-of"><${AnswersAfter} of=${answers} from=${about.from.name ?? about.from.address ?? about.from.id} /></div>`
}

/** The answer closest to a time: the one that the entry is about. */
function nearest(answers, at) {
  return answers.toSorted((a, b) => Math.abs(a.at - at) - Math.abs(b.at - at)).slice(0, 1)
}

/** The newest other entries about the same object. */
export function SameObject({ of: { id }, object }) {
  const { value } = useLoaded(
    (signal) => invoke('audit-list', { what: object, limit: MAX_OTHERS + 1 }, signal),
    [object],
  )
  const others = (value?.entries ?? []).filter((each) => each.id !== id).slice(0, MAX_OTHERS)
  if (others.length === 0) return null
  return html`<h2>Also about it</h2><div class="audit"><table aria-label="Also about it"><tbody>${others.map(
    (
      each,
    ) => html`<tr key=${each.id} class=${each.status}><td class="time"><a class="plain-text" href=${link(['audit', each.id])}><${Age} at=${each.at} /> ago</a></td>
      <td class="by"><${Who} of=${each} to=${link('audit', { by: each.by })} /></td>
      <td class="what"><a class="title" href=${link(['audit', each.id])}>${inWords(each)}</a> <${What} of=${each} />${each.reason && html` <q class="dim">${each.reason}</q>`}</td>
      <td class="outcome"><${Result} of=${each} /></td></tr>`,
  )}</tbody></table></div>`
}
