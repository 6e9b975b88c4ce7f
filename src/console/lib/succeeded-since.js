import { invoke } from './api.js'
import { html } from './html.js'
import { changes } from './live.js'
import { Age, useLoaded } from './parts.js'
import { link } from './router.js'
import { count } from './troubles.js'

/**
 * What speaks for a retry of the dead letters of one cause, and what against it. Only a retried
 * letter, or a message with the same event, proves that they can succeed. `of`: the filter of the
 * letters; `many`, `last`: their number, and when the newest died (Unix ms).
 */
export function SucceededSince({ of, many, last }) {
  const { value: groups } = useLoaded(
    (signal) => invoke('dead-letter-groups', { ...of, recovery: true }, signal),
    [JSON.stringify(of), many, last],
  )
  // Those of several causes have no common proof.
  if (groups?.length !== 1 || groups[0].queue !== 'dispatch' || !groups[0].group) return null
  const [group] = groups
  const { retried, alike, others } = group.recovery ?? {}
  if (!retried && !alike && !others)
    return html`<${FailedAgain} of=${group} /><p class="dim">No message that came to <b>${group.group}</b> after the last failure has been handled yet.</p>`
  return html`${retried && html`<${Retried} of=${group} />`}<${FailedAgain} of=${group} />
    ${alike && html`<${Alike} of=${group} />`}${others && !retried && html`<${Others} of=${group} />`}`
}

/** On a card of a cause: evidence that its dead letters can now succeed, if any. */
export function Proof({ of }) {
  const { recovery, events = [], last } = of ?? {}
  const { retried, alike } = recovery ?? {}
  if (retried?.last > last)
    return html`<p class="dim"><b class="good-text">✓</b> <a href=${link(['messages', retried.id])}>${count(retried.count, 'dead letter', retried.more ? '+' : '')}</a> retried, ${retried.count > 1 && 'the last one '}<${Age} at=${retried.last} /> ago: done.</p>`
  return alike
    ? html`<p class="dim"><b class="good-text">✓</b> ${count(alike.count, 'message', alike.more ? '+' : '')} of the same event (${events.join(', ')}) done since the last failure.</p>`
    : null
}

/** The same for a trouble. `of`: the filter of its cause; `change` differs when the cause has changed. */
export function ProofOfCause({ of, change }) {
  const { value: groups } = useLoaded(
    (signal) => invoke('dead-letter-groups', { ...of, recovery: true }, signal),
    [JSON.stringify(of), change, changes.dead.value],
  )
  return groups?.length === 1 ? html`<${Proof} of=${groups[0]} />` : null
}

/** Letters of the cause that a retry has brought to an end. A later failure outweighs them. */
function Retried({ of: { recovery, last } }) {
  const { count: many, more, last: doneAt, id } = recovery.retried
  const isProof = doneAt > last
  return html`<p class="dim">${isProof && html`<b class="good-text">✓</b> `}<a href=${link(['messages', id])}>${count(many, 'dead letter', more ? '+' : '')} of this cause</a> ${many === 1 ? 'was retried and is done' : 'were retried and are done'}, ${many === 1 ? '' : 'the last one '}<${Age} at=${doneAt} /> ago${!isProof && ', before the last failure'}.</p>`
}

function FailedAgain({ of: { retriedAt } }) {
  if (retriedAt === undefined) return null
  return html`<p class="dim"><b class="bad-text">✗</b> The newest of these was retried <${Age} at=${retriedAt} /> ago, and failed again.</p>`
}

function Alike({ of: { group, events, last, recovery } }) {
  const { count: many, more, last: newest } = recovery.alike
  const text = count(many, 'message', more ? '+' : '')
  const since = new Date(last).toISOString()
  const [event] = events
  const shown =
    events.length === 1
      ? html`<a href=${link('messages', { route: group, outcome: 'done', event, since })}>${text}</a>`
      : text
  return html`<p class="dim"><b class="good-text">✓</b> After the last failure, <b>${group}</b> has handled ${shown} of the same event (${events.join(', ')}), the last one <${Age} at=${newest} /> ago.</p>`
}

function Others({ of: { group, last, recovery } }) {
  const { count: many, more } = recovery.others
  const since = new Date(last).toISOString()
  return html`<p class="dim">The route has handled <a href=${link('messages', { route: group, outcome: 'done', since })}>${count(many, 'other message', more ? '+' : '')}</a> since; whether these can succeed, one retry shows.</p>`
}
