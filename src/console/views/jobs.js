import { html } from '../lib/html.js'
import { KIND_NAMES } from '../lib/job-words.js'
import { Jobs } from '../lib/jobs.js'
import { Empty, StoreAway } from '../lib/parts.js'
import { boundsIn, Range } from '../lib/range.js'
import { link, replace } from '../lib/router.js'
import { JobPage } from './job.js'

const STATES = [
  ['running', 'running'],
  ['delivering', 'delivering'],
  ['retrying', 'retrying'],
  ['done', 'done'],
  ['with-failures', 'with failures'],
  ['failed', 'failed'],
  ['cancelled', 'cancelled'],
  ['cancelling', 'cancelling'],
]

/** All long jobs, or one of them. */
export function JobsPage({ path: [id], query }) {
  return id === undefined ? html`<${AllJobs} query=${query} />` : html`<${JobPage} key=${id} id=${id} />`
}

/** Replays, bulk retries and drops, erasures. The filter is in the address. */
function AllJobs({ query }) {
  const { kind = '', state = '', since = '', until = '' } = query
  const set = (change) => replace('jobs', { ...query, ...change })
  const of = { ...boundsIn(query), ...(kind && { kind }), ...(state && { state }) }
  const pick = (name, label, options) => html`<label class="pick"><span>${label}</span>
    <select value=${query[name] ?? ''} onChange=${(event) => set({ [name]: event.target.value })}>
      <option value="">any</option>${options.map(([value, shown]) => html`<option key=${value} value=${value}>${shown}</option>`)}
    </select></label>`
  const none =
    kind || state || since || until
      ? html`<${Empty} title="No job matches."><a href=${link('jobs')}>Show all jobs</a><//>`
      : html`<${Empty} title="There are no jobs.">
          Work that takes long is listed here for a week: a <a href=${link('queues')}>replay</a>, a retry of
          many <a href=${link('dead-letters')}>dead letters</a>, erasing a <a href=${link('people')}>person</a>.
        <//>`
  return html`<section class="page" aria-labelledby="title">
    <header class="bar"><h1 id="title">Jobs</h1>
      <div class="filter">${pick('kind', 'Kind', Object.entries(KIND_NAMES))}${pick(
        'state',
        'State',
        STATES,
      )}<${Range} query=${query} set=${set} /></div></header>
    <${StoreAway} />
    <p class="hint jobs-hint">Jobs run in the daemon. You can close this page; a restart continues them.</p>
    <${Jobs} of=${of} none=${none} isAll />
  </section>`
}
