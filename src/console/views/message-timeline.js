import { html } from '../lib/html.js'
import { Facts, timeOfDay, took } from '../lib/parts.js'

const ROADS = {
  accept: 'accept',
  dispatch: 'dispatch',
  receive: 'receive',
  outbox: 'out',
  events: 'events',
  push: 'push',
}
const KINDS = {
  done: 'good',
  sent: 'good',
  failed: 'bad',
  dead: 'bad',
  'send failed': 'bad',
  'not sent': 'bad',
  bounced: 'bad',
}

/** The history on the three roads on one time axis, with durations. */
export function Timeline({ shown }) {
  const { history, pushes = [], receive, events = [] } = shown
  const start = history[0]?.at ?? shown.message.receivedAt
  const pushed = pushes.map(({ at, subscription, ms, status, reason, attempt }) => {
    return {
      at,
      road: 'push',
      what: reason ? 'failed' : 'sent',
      detail: { to: subscription, attempt, ms, status, error: reason },
    }
  })
  const notes = [...history, ...pushed].toSorted((a, b) => a.at - b.at)
  return html`<ol class="timeline">
    ${notes.map(
      (
        { at, road, what, detail = {} },
        index,
      ) => html`<li key=${index} class=${`${road} ${KINDS[what] ?? ''}`}>
      <div class="when"><time title=${new Date(at).toISOString()}>${index === 0 ? timeOfDay(at) : `+${took(at - start)}`}</time></div>
      <div class="what"><span class="road">${ROADS[road] ?? road}</span> <b>${what}</b> <${Detail} detail=${detail} at=${at} /></div>
    </li>`,
    )}
  </ol>
  <${Facts} of=${{
    'receive road': `${receive?.state ?? ''}${receive?.by ? ` by ${receive.by}` : ''}`,
    'events road':
      events.length > 0
        ? events.map(({ group, state }) => `${group}: ${state}`).join(' · ')
        : 'no consumer group',
  }} />`
}

function Detail({ detail, at }) {
  // The key repeats the message id and the route name.
  const { text, error, reason, tools, ms, args, key, delay, ...said } = detail
  return html`${ms !== undefined && html`<span class="took">${took(ms)}</span> `}<span class="fields">${fieldsOf(said)}</span>
    ${(error || reason) && html`<p class="error">${error ?? reason}</p>`}
    ${delay !== undefined && html`<p class="dim">Next attempt at ${timeOfDay(at + delay)}, after ${took(delay)}.</p>`}
    ${
      tools?.length > 0 &&
      html`<ul class="tools">${tools.map(
        (
          tool,
          at,
        ) => html`<li key=${at}><code>${tool.tool}</code> ${tool.ms !== undefined && html`<span class="took">${took(tool.ms)}</span>`}
      ${tool.error ? html`<span class="error">${tool.error}</span>` : html`<span class="fields">${tool.args}</span>`}</li>`,
      )}</ul>`
    }
    ${text && html`<pre class="reply" tabindex="0" aria-label="Reply">${text}</pre>`}`
}

function fieldsOf(fields) {
  return Object.entries(fields)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' · ')
}

/** Log lines of this daemon about the message. */
export function Log({ lines }) {
  if (lines.length === 0) return null
  return html`<h2>Log</h2>
    <ol class="log">${lines.map(
      ({ at, level, message, error, stack, ...fields }, index) => html`<li key=${index} class=${level}>
      <time title=${new Date(at).toISOString()}>${timeOfDay(at)}</time> <b>${level}</b> ${message} <span class="fields">${fieldsOf(fields)}</span>
      ${error && html`<p class="error">${error}</p>`}
      ${stack && html`<details><summary>Stack</summary><pre tabindex="0" aria-label="Stack">${stack}</pre></details>`}
    </li>`,
    )}</ol>`
}
