import { retriedWord } from '../../lib/retried-words.ts'
import { scheduledRun } from '../../lib/scheduled-run.ts'
import { invoke } from '../lib/api.js'
import { authorOf } from '../lib/authors.js'
import { patternInWords } from '../lib/cause.js'
import { html } from '../lib/html.js'
import { aboutJob } from '../lib/job-words.js'
import { List } from '../lib/list.js'
import { changes, rowHeight } from '../lib/live.js'
import { Age, Badge, dateTime, Empty, Facts, Gist, Outcome, preview, useLoaded, Wait } from '../lib/parts.js'
import { Outcomes, titleOf, useRetries } from '../lib/retries.js'
import { RetryPauses } from '../lib/retry-pauses.js'
import { link } from '../lib/router.js'
import { Back } from '../lib/trail.js'
import { Cause, keyOfCause } from './causes.js'
import { senderOf } from './messages.js'

/** One retry of many dead letters: what became of each message, those that need someone first. */
export function RetriedPage({ job }) {
  const loaded = useRetries({ job })
  const [retry] = loaded.value ?? []
  if (!retry)
    return html`<section class="page"><${Back} to="dead-letters" /><${Wait} of=${loaded} what="the retry" /></section>`
  const { startedAt, by, target, messages, retried, outcomes } = retry
  return html`<section class="page fills retried" aria-labelledby="title">
    <${Back} to="dead-letters" />
    <header class="bar"><h1 id="title">${titleOf(retry)}</h1></header>
    <${Wait} of=${loaded} what="the retry" />
    <${Facts} of=${{
      outcome: html`<${Outcomes} of=${retry} withState />`,
      job: html`<a href=${link(['jobs', job])}>${aboutJob({ kind: 'dead-letters', target: { ...target, since: undefined, until: undefined } })}</a>`,
      retried: html`${dateTime(startedAt)} (<${Age} at=${startedAt} /> ago) by ${authorOf(by)} <a class="dim" href=${link('audit', { what: job })}>audit entry</a>`,
      error: target.pattern ? patternInWords(target.pattern) : (target.error ?? target.code),
    }} />
    <${RetryPauses} of=${retry} />
    <${Causes} job=${job} outcomes=${outcomes} reload=${loaded.reload} />
    ${messages.length === 0 && html`<${Empty} title=${outcomes.erased ? 'Its messages were erased.' : 'Its messages are not known.'}>${!outcomes.erased && 'They are remembered for a week.'}<//>`}
    ${messages.length < retried - (outcomes.erased ?? 0) && html`<p class="dim">${messages.length} of ${retried.toLocaleString('en')} shown.</p>`}
    <div class="fills"><${List} label="Retried messages" items=${messages} height=${rowHeight.value} keyOf=${keyOf} hrefOf=${hrefOf} row=${(message) => html`<${Row} message=${message} />`} /></div>
  </section>`
}

/** The dead letters that a retry left, by cause, as on the page of all of them. */
function Causes({ job, outcomes, reload }) {
  const { value: causes = [], reload: reloadCauses } = useLoaded(
    (signal) => invoke('dead-letter-groups', { job, recovery: true }, signal),
    [job, changes.dead.value, JSON.stringify(outcomes)],
  )
  const shown = () => {
    reload()
    reloadCauses()
  }
  if (causes.length === 0) return null
  const many = causes.reduce((sum, each) => sum + each.count, 0)
  return html`<h2>Still dead letters: ${many.toLocaleString('en')}</h2>
    <ul class="groups" aria-label="By cause">${causes.map((cause) => html`<li key=${keyOfCause(cause)} class="card"><${Cause} group=${cause} proof=${cause} within=${{ job }} reload=${shown} /></li>`)}</ul>
    <h2>Messages</h2>`
}

const keyOf = ({ id, queue }) => `${queue} ${id}`

/** The page of a message, or of the dead letter in another queue. */
function hrefOf({ id, queue, outcome }) {
  if (queue === 'dispatch') return link(['messages', id])
  const run = scheduledRun({ queue, id })
  if (run && outcome !== 'dead' && outcome !== 'withdrawn') return link(['schedules', run.schedule])
  return outcome === 'dead' || outcome === 'withdrawn'
    ? link(['dead-letters', id], { queue })
    : link('dead-letters', { queue })
}

function Row({ message }) {
  const { id, at, gateway, from, queue, outcome, text } = message
  return html`<a class="message-row" href=${hrefOf(message)}>
    ${at === undefined ? html`<span></span>` : html`<${Age} at=${at} />`}<span class="gateway">${gateway ?? queue}</span><span class="sender">${senderOf(from)}</span>
    ${text === undefined ? html`<span class="text">${preview(id)}</span>` : html`<${Gist} of=${message} />`}
    <${RetryOutcome} outcome=${outcome} />
  </a>`
}

function RetryOutcome({ outcome }) {
  if (outcome === 'dead') return html`<${Badge} kind="bad">${retriedWord(outcome)}<//>`
  if (outcome === 'withdrawn' || outcome === 'retried')
    return html`<${Badge} kind="dim">${retriedWord(outcome)}<//>`
  return html`<${Outcome} outcome=${outcome} />`
}
