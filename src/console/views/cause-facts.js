import { invoke } from '../lib/api.js'
import { clockOf } from '../lib/clock-of.js'
import { MAX_LETTERS } from '../lib/decide-letters.js'
import { html } from '../lib/html.js'
import { changes, clock, now } from '../lib/live.js'
import { Age, dateTime, Facts, Moment, span, useLoaded } from '../lib/parts.js'
import { Retries } from '../lib/retries.js'
import { RetryAll } from '../lib/retry-all.js'
import { link } from '../lib/router.js'
import { isProven, SucceededSince, Trying, togetherOf } from '../lib/succeeded-since.js'
import { count } from '../lib/troubles.js'
import { WhoWaits } from '../lib/who-waits.js'
import { CauseOwner } from './cause-owner.js'
import { SAME_TIME } from './causes.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR
/** Maximum number of changes before a cause that are shown. */
const MOST_CHANGES = 2

/**
 * One cause at a glance. `of`: its filter; `letters`: newest first; `retry`: retries some of them;
 * `done`: called after a retry of all.
 */
export function CauseFacts({ of, letters, retry, done }) {
  const { value: groups = [] } = useLoaded(
    (signal) => invoke('dead-letter-groups', { ...of, recovery: true }, signal),
    [JSON.stringify(of), letters.length, letters[0].at, changes.dead.value],
  )
  const first = Math.min(...groups.map(({ first: at, failingSince = at }) => failingSince))
  // A cause may be that of several routes.
  const areOfRoutes = groups.length > 0 && groups.every(({ queue, group }) => queue === 'dispatch' && group)
  const trying = groups.find(({ recovery }) => recovery?.trying)?.recovery.trying
  const waiting = groups.filter(({ queue, waits }) => waits && queue !== 'outbox')
  return html`<div class="cause-facts"><${Facts} of=${{
    failures:
      groups.length > 0 &&
      html`<${Failures} first=${first} last=${Math.max(...groups.map(({ lastNew }) => lastNew))} letters=${letters} />`,
    waiting:
      waiting.length > 0 &&
      waiting.map(
        ({ group, waits }) =>
          html`<p key=${group}><${WhoWaits} of=${waits} />${waiting.length > 1 && ` (${group})`}</p>`,
      ),
    'next step':
      areOfRoutes &&
      html`<${NextStep} of=${groups} filter=${of} letters=${letters} retry=${retry} done=${done} />`,
    successes:
      areOfRoutes &&
      groups.map(
        (group) =>
          html`<div key=${group.group}>${groups.length > 1 && html`<b>${group.group}</b>`}<${SucceededSince} of=${group} /></div>`,
      ),
    'also fails': areOfRoutes && trying && html`<${Trying} of=${trying} />`,
    'before it': groups.length > 0 && html`<${Before} first=${first} />`,
  }} /><${Retries} of=${of} since="1d" /></div>`
}

/** When and how often. */
function Failures({ first, last, letters }) {
  const many = count(letters.length, 'dead letter', letters.length === MAX_LETTERS ? '+' : '')
  if (last - first < SAME_TIME) return html`${many}, <${Clock} at=${last} /> (<${Age} at=${last} /> ago)`
  const recent = letters.filter(({ at, firstAt = at }) => clock.value - firstAt < HOUR).length
  const lately = recent > 0 && recent < letters.length ? `, ${recent} in the last hour` : ''
  return html`${many}${lately}; first failure <${Clock} at=${first} /> (<${Age} at=${first} /> ago), last <${Clock} at=${last} /> (<${Age} at=${last} /> ago)`
}

/** A time without seconds, and without its date if it is today. */
function Clock({ at }) {
  return html`<time datetime=${iso(at)} title=${dateTime(at)}>${clockOf(at)}</time>`
}

/** What changed in the day before the first failure: the configuration, files of skills, or a start of the daemon. */
function Before({ first }) {
  const { value } = useLoaded(
    (signal) =>
      invoke(
        'audit-list',
        { action: '*-change', since: iso(first - DAY), until: iso(first), limit: MOST_CHANGES },
        signal,
      ),
    [first],
  )
  const { startedAt = 0 } = now.value ?? {}
  const isStart = startedAt <= first && first - startedAt < DAY
  const entries = value?.entries
  if (!entries && !isStart) return null
  if (!isStart && entries.length === 0)
    return html`<span class="dim">No change of the configuration or a skill in the day before.</span>`
  return html`${isStart && html`<p>The daemon started <${Moment} at=${startedAt} />, ${span(first - startedAt)} before.</p>`}${entries?.map(
    ({ id, at, target = {}, ...entry }) =>
      html`<p key=${id}><a href=${link(['audit', id])}>${changeOf(entry)}</a> <${Moment} at=${at} />, ${span(first - at)} before${[target.changed, target.variables, target.skills].map((names) => names && html`: <code>${[names].flat().join(', ')}</code>`)}</p>`,
  )}`
}

/** What an entry about a change says. */
function changeOf({ action, outcome }) {
  const done = outcome === 'ok' || outcome === 'done'
  if (action === 'skill-change')
    return done ? 'Files of a skill changed' : 'Changed files of a skill do not load'
  return done ? 'Configuration changed' : 'A changed configuration was refused'
}

const iso = (at) => new Date(at).toISOString()

/** What to do next: one retry shows whether the cause is gone, unless that is known for each route. */
function NextStep({ of: groups, filter, letters, retry, done }) {
  if (groups.every(isProven))
    return html`<${RetryAll} of=${togetherOf(groups)} filter=${filter} note=${html`<${CauseOwner} of=${filter} />`} done=${done} /> A message of this cause is done since the last failure.`
  if (groups.some((group) => group.retriedAt !== undefined && !isProven(group)))
    return 'Fix the cause first: the last retry failed again.'
  const oldest = letters.reduce((one, other) => (arrival(other) < arrival(one) ? other : one))
  if (letters.length === 1) return 'Retry it when the cause is gone.'
  return html`Fix the cause, then try one: <button changes type="button" class="small" onClick=${() => retry([oldest])}>Retry the oldest</button>`
}

const arrival = ({ message, at }) => message?.receivedAt ?? at
