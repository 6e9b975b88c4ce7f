import { openGroups } from '../../lib/open-groups.ts'
import { html } from '../lib/html.js'
import { Age, Badge } from '../lib/parts.js'

/**
 * Something open as a row: its state, what it is, why, and the action at the right. `below` takes the whole width.
 */
export function OpenRow({ badge, children, why, notes, action, below }) {
  return html`<li class="open-row"><div class="row-state">${badge}</div><div class="row-what">${children}${why && html`<div class="row-why">${why}</div>`}${notes}</div>${action && html`<div class="row-action">${action}</div>`}${below && html`<div class="row-below">${below}</div>`}</li>`
}

/** The state of open things of one group, in the same words on each page. */
export function OpenBadge({ of: { kind, since, said, isWait }, title }) {
  return html`<${Badge} kind=${kind} title=${title}>${isWait ? html`waits <${Age} at=${since} />, ${said}` : html`${said} · <${Age} at=${since} />`}<//>`
}

/** The same of one thing. */
export const BadgeOf = ({ of }) => html`<${OpenBadge} of=${openGroups([of])[0]} />`
