import { invoke } from './api.js'
import { clockOf } from './clock-of.js'
import { html } from './html.js'
import { changes, clock } from './live.js'
import { Age, useLoaded } from './parts.js'
import { RetryAll } from './retry-all.js'
import { link } from './router.js'
import { count } from './troubles.js'
import { peopleWait } from './who-waits.js'

/**
 * What speaks for a retry of the dead letters of one cause, and what against it. Only a message of the
 * cause that was tried again, and is done after the last failure, proves that they can succeed. `of`: a
 * group with `recovery`.
 */
export function SucceededSince({ of: group }) {
  const { retried, alike, meanwhile, others } = group.recovery ?? {}
  if (!retried && !alike && !meanwhile && !others)
    return html`<${FailedAgain} of=${group} /><p>No message that came to <b>${group.group}</b> after the last failure has been handled yet.</p>`
  return html`${retried && html`<${Retried} of=${group} />`}<${FailedAgain} of=${group} />
    ${(alike || meanwhile) && html`<p><${Alike} of=${group} /></p>`}${others && !retried && !meanwhile && html`<${Others} of=${group} />`}`
}

/** Whether a message of the cause was tried again and is done after the last failure. */
export function isProven({ recovery, last }) {
  return recovery?.retried?.last > last
}

/**
 * On a card of a cause: whether its dead letters can now succeed, as far as that is known. `children`:
 * what to do if they can.
 */
function Proof({ of, children }) {
  const { recovery } = of ?? {}
  const { retried, meanwhile } = recovery ?? {}
  if (of && isProven(of))
    return html`<p class="dim"><b class="good-text">✓</b> <a href=${link(['messages', retried.id])}>${count(retried.count, 'message', retried.more ? '+' : '')} of this cause</a> retried, ${retried.count > 1 && 'the last one '}<${Age} at=${retried.last} /> ago: done.${children}</p>`
  return meanwhile ? html`<p class="dim"><${Alike} of=${of} /></p>` : null
}

/** On the card of a cause in the list: the same, what the route has handled since, and what else fails. */
export function Evidence({ of }) {
  const { retried, alike, meanwhile, others, trying } = of?.recovery ?? {}
  return html`<${Proof} of=${of} />
    ${alike && !meanwhile && !isProven(of) && html`<p class="dim"><${Alike} of=${of} /></p>`}
    ${others && !retried && !meanwhile && html`<div class="dim"><${Others} of=${of} /></div>`}
    ${trying && html`<p class="dim">Also fails: <${Trying} of=${trying} /></p>`}`
}

/** Messages with the same error that are tried again. */
export function Trying({ of: { count: many, more, routes, nextAt, waits } }) {
  const query = { outcome: 'retrying', ...(routes.length === 1 && { route: routes[0] }) }
  return html`<a href=${link('messages', query)}>${count(many, 'message', more ? '+' : '')} of ${routes.join(' and ')}</a> ${many === 1 ? 'is' : 'are'} tried again${nextAt > clock.value && `, the next one at ${clockOf(nextAt)}`}.${waits && ` ${peopleWait(waits.people)}.`}`
}

/** The same for a trouble. `of`: the filter of its cause; `change` differs when the cause has changed. */
export function ProofOfCause({ of, change }) {
  const { value: groups } = useLoaded(
    (signal) => invoke('dead-letter-groups', { ...of, recovery: true }, signal),
    [JSON.stringify(of), change, changes.dead.value],
  )
  if (!groups?.length || (groups.length > 1 && !groups.every(isProven))) return null
  return html`<${Proof} of=${groups[0]}> <${RetryAll} of=${togetherOf(groups)} filter=${of} /><//>`
}

/** A cause in all its routes. */
export function togetherOf(groups) {
  return {
    ...groups[0],
    group: groups.map(({ group }) => group).join(' and '),
    count: groups.reduce((sum, { count: many }) => sum + many, 0),
    first: Math.min(...groups.map(({ first }) => first)),
    last: Math.max(...groups.map(({ last }) => last)),
    lastNew: Math.max(...groups.map(({ lastNew }) => lastNew)),
  }
}

/** Messages of the cause that a retry has brought to an end. A later failure outweighs them. */
function Retried({ of }) {
  const { count: many, more, last: doneAt, id } = of.recovery.retried
  return html`<p>${isProven(of) && html`<b class="good-text">✓</b> `}<a href=${link(['messages', id])}>${count(many, 'message', more ? '+' : '')} of this cause</a> ${many === 1 ? 'was retried and is done' : 'were retried and are done'}, ${many === 1 ? '' : 'the last one '}<${Age} at=${doneAt} /> ago${!isProven(of) && ', before the last failure'}.</p>`
}

/** The newest letter is the one that was retried. */
function FailedAgain({ of: { queue, newest, retriedAt, count: many } }) {
  if (retriedAt === undefined) return null
  return html`<p><b class="bad-text">✗</b> ${many === 1 ? 'This one' : html`<a href=${link(['dead-letters', newest], { queue })}>One of them</a>`} was retried <${Age} at=${retriedAt} /> ago, and failed again.</p>`
}

/** Messages with the same event that are done. They may be of another kind, so they prove nothing. */
function Alike({ of }) {
  const { group, events, first, failingSince = first, lastNew: last, recovery } = of
  const { alike, meanwhile } = recovery
  const names = `of the same event (${events.join(', ')})`
  const since = new Date(last).toISOString()
  const linked = (times, text) => {
    const query = { route: group, outcome: 'done', event: events[0], ...times }
    return events.length === 1 ? html`<a href=${link('messages', query)}>${text}</a>` : text
  }
  const number = ({ count: many, more }) => `${many.toLocaleString('en')}${more ? '+' : ''}`
  const named = (one, times) => linked(times, count(one.count, 'message', one.more ? '+' : ''))
  if (!meanwhile)
    return html`After the last failure, <b>${group}</b> has handled ${named(alike, { since })} ${names}${!isProven(of) && '; whether these can succeed, one retry shows'}.`
  const during = { since: new Date(failingSince).toISOString(), until: since, attempts: '1' }
  return html`Not all fail: <b>${group}</b> handled ${named(meanwhile, during)} ${names} while these failed${alike && html`, and ${linked({ since }, number(alike))} since`}.`
}

function Others({ of: { group, lastNew: last, recovery } }) {
  const { count: many, more } = recovery.others
  const since = new Date(last).toISOString()
  return html`<p>The route has handled <a href=${link('messages', { route: group, outcome: 'done', since })}>${count(many, 'other message', more ? '+' : '')}</a> since; whether these can succeed, one retry shows.</p>`
}
