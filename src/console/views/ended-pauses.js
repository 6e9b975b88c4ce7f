import { invoke } from '../lib/api.js'
import { authorOf } from '../lib/authors.js'
import { html } from '../lib/html.js'
import { Badge, Moment, useLoaded } from '../lib/parts.js'
import { pausesOfDaemon, placeOfPause } from '../lib/pauses.js'
import { instant } from '../lib/range.js'
import { link } from '../lib/router.js'
import { count } from '../lib/troubles.js'
import { filtersOf } from '../lib/waiting-messages.js'

/** Maximum number of ended pauses that are listed. */
const MAX_LISTED = 20
/** The outcomes of messages that failed. */
const FAILED = 'dead,undelivered'

/** The pauses that ended in the last day. `isShown`: whether a pause is listed already. */
export function EndedPauses({ isShown }) {
  const { value = [] } = useLoaded(
    (signal) => invoke('pause-list', { ended: true }, signal),
    [pausesOfDaemon()],
  )
  const ended = value.filter((pause) => !isShown(pause)).slice(0, MAX_LISTED)
  if (ended.length === 0) return null
  return html`<h2>Ended in the last day</h2>
    <div class="scrolls" tabindex="0" role="region" aria-label="Ended in the last day"><table class="group-table">
    <thead><tr><th scope="col">what</th><th scope="col">from</th><th scope="col">to</th><th scope="col">by</th><th scope="col">reason</th><th scope="col">came meanwhile</th></tr></thead>
    <tbody>${ended.map((pause) => html`<${Ended} key=${`${pause.kind} ${pause.gateway} ${pause.name} ${pause.since}`} of=${pause} />`)}</tbody></table></div>`
}

function Ended({ of: pause }) {
  const { kind, name, label = name, gateway, since, by, reason, endedAt, endedBy, drop } = pause
  return html`<tr><td class="group-name"><${Badge}>${kind}<//> <a data-row href=${link(placeOfPause(pause).at)}>${label}</a>${gateway && html` <span class="dim">in ${gateway}</span>`}</td>
    <td class="whole-words" data-label="from"><${Moment} at=${since} /></td>
    <td class="whole-words" data-label="to"><${Moment} at=${endedAt} /> <span class="dim">${endedBy === undefined ? 'by itself' : `by ${authorOf(endedBy)}`}</span></td>
    <td class="pause-author" data-label="by">${authorOf(by) ?? ''}</td><td>${reason ?? ''}</td>
    <td class="whole-words" data-label="came meanwhile">${drop ? html`<span class="dim">handled by a person</span>` : html`<${Came} of=${pause} />`}</td></tr>`
}

/** How many messages came during a pause, and how many of them failed. */
function Came({ of: pause }) {
  const { kind, name, gateway, since, endedAt } = pause
  const { value } = useLoaded(() => countsOf(pause), [kind, name, gateway, since, endedAt, pausesOfDaemon()])
  if (!value) return null
  const { filters, came, failed } = value
  const linked = (text, outcome) => {
    const [filter, ...others] = filters
    const query = { ...filter, ...timesOf(pause), ...(outcome && { outcome }) }
    return filter && others.length === 0
      ? html`<a class=${outcome ? 'error' : ''} href=${link('messages', query)}>${text}</a>`
      : text
  }
  if (came === 0) return html`<span class="dim">no message</span>`
  return html`${linked(count(came, 'message'))}${failed > 0 && html`, ${linked(`${failed.toLocaleString('en')} failed`, FAILED)}`}`
}

const timesOf = ({ since, endedAt }) => ({ since: instant(since), until: instant(endedAt) })

async function countsOf(pause) {
  const filters = await filtersOf({ ...pause, routes: [] })
  const total = async (more) => {
    const times = timesOf(pause)
    const counts = await Promise.all(
      filters.map((filter) => invoke('message-histogram', { ...filter, ...times, ...more, buckets: 1 })),
    )
    return counts.reduce((sum, each) => sum + each.total, 0)
  }
  const [came, failed] = await Promise.all([total({}), total({ outcome: FAILED })])
  return { filters, came, failed }
}
