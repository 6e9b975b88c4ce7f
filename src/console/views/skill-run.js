import { invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { tokens } from '../lib/money.js'
import { Age, Empty, Facts, Moment, took, useLoaded, Wait } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { Back } from '../lib/trail.js'
import { Caller, End, runCostText } from './skill-runs.js'

/** The most runs that can be asked for. */
const LIMIT = 200
/** Without an outcome, the newest runs; failed and cancelled ones are kept for longer. */
const KINDS = [{}, { outcome: 'failed' }, { outcome: 'cancelled' }]

/** One run of a skill that has no message. `at`: its end (Unix ms). */
export function SkillRun({ name, at }) {
  const loaded = useLoaded((signal) => runAt(name, Number(at), signal), [name, at])
  const { value } = loaded
  return html`<section class="page" aria-labelledby="title">
    <${Back} to=${['skills', name]} title=${name} />
    <h1 id="title">Run of ${name}</h1>
    <${Wait} of=${loaded} what="the run" />
    ${value && (value.run ? html`<${Run} name=${name} of=${value.run} currency=${value.currency} />` : html`<${Empty} title="This run is not known any more.">The newest runs of each skill are kept.<//>`)}
  </section>`
}

async function runAt(name, at, signal) {
  // For the currency.
  const cost = invoke('cost', { skill: name, since: '1d' }, signal)
  for (const kind of KINDS) {
    const { recent } = await invoke('skill-usage', { name, limit: LIMIT, ...kind }, signal)
    const run = recent.find((each) => each.at === at)
    if (run) return { run, currency: (await cost).currency }
  }
  return {}
}

function Run({ name, of: { at, ms, by, messageId, erased, code, error, cost }, currency }) {
  const facts = {
    skill: html`<a href=${link(['skills', name])}>${name}</a>`,
    outcome: html`<${End} code=${code} />`,
    'called by': html`<${Caller} by=${by} />`,
    began: html`<${Moment} at=${at - ms} />`,
    ended: html`<${Moment} at=${at} /> <span class="dim"><${Age} at=${at} /> ago</span>`,
    took: took(ms),
    cost: cost && `${runCostText(cost, currency)}, ${tokens(cost.inputTokens + cost.outputTokens)} tokens`,
    message: erased
      ? html`<span class="dim">erased</span>`
      : messageId && html`<a href=${link(['messages', messageId])}>${messageId}</a>`,
  }
  return html`<${Facts} of=${facts} />
    ${error && html`<h2>Error</h2><pre tabindex="0" aria-label="Error">${error}</pre>`}
    ${!messageId && !erased && html`<p class="dim">Who called it got what it returned; Trivium keeps that for runs of messages and of schedules only.</p>`}`
}
