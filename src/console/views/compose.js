import { useEffect, useState } from 'preact/hooks'
import { call } from '../lib/api.js'
import { Field } from '../lib/form.js'
import { html } from '../lib/html.js'
import { now } from '../lib/live.js'
import { ask, Outcome, Problem, say, useLoaded, Wait } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { readFields } from '../lib/schema.js'
import { Routes } from './message.js'

/** Delay (ms) after the last key before routes are explained; and how long to wait for replies. */
const SETTLE = 300
const WAIT = 15_000

/** Maximum number of shown routes that nearly match. */
const NEAR = 5

const FIELDS = [
  { name: 'text', kind: 'long', required: true, description: 'What it says.' },
  { name: 'subject', kind: 'text' },
  { name: 'from', kind: 'text', description: 'Who writes; it counts as proven. Without it: cli.' },
  { name: 'conversation', kind: 'text', description: 'What it belongs to; without it, it stands alone.' },
  {
    name: 'data',
    kind: 'json',
    shape: 'object',
    description: 'Fields of the transport, as routes match them, such as { "event": "issues" }.',
  },
]

/** Sends a test message to a gateway, and shows the matching routes while typing. */
export function ComposePage({ query }) {
  const gateways = (now.value?.gateways ?? []).map(({ name }) => name)
  const [gateway, setGateway] = useState(query.gateway ?? 'cli')
  const [values, setValues] = useState({ ...query, text: query.text ?? 'Hello' })
  const [came, setCame] = useState()
  const [isBusy, setBusy] = useState(false)
  const { args, errors } = readFields(FIELDS, values)
  const draft = { gateway, ...args, text: args.text ?? '' }
  const explained = useExplained(draft, Object.keys(errors).length > 0)
  const chosen = explained.value?.find((route) => route.chosen)
  const send = async (event) => {
    event.preventDefault()
    if (Object.keys(errors).length > 0) return say('There is an error in the form.', 'bad')
    const routes = await call('POST', '/v1/explain', draft).catch((error) => setCame({ error }))
    if (!routes) return
    const taken = routes.find((route) => route.chosen)
    const title = `Send this message to ${gateway}?`
    const body = taken
      ? `It is accepted as if it had arrived there. The route ${taken.route} matches: ${doesOf(taken)}. Replies are shown here only.`
      : 'It is accepted as if it had arrived there. No route matches; receive and events still get it.'
    if (!(await ask({ title, body, action: 'Send test message' }))) return
    setBusy(true)
    setCame(undefined)
    await call('POST', '/v1/messages', { ...draft, wait: WAIT }).then(
      (answer) => setCame({ answer }),
      (error) => setCame({ error }),
    )
    setBusy(false)
  }
  return html`<section class="page" aria-labelledby="title">
    <header class="bar"><h1 id="title">Test message</h1></header>
    <div class="columns">
      <form class="form" noValidate onSubmit=${send}>
        <div class="field"><label for="compose-gateway">gateway</label>
          <select id="compose-gateway" value=${gateway} onChange=${(event) => setGateway(event.target.value)}>
            ${[...new Set([...gateways, gateway])].map((name) => html`<option key=${name} value=${name}>${name}</option>`)}
          </select></div>
        ${FIELDS.map(
          (
            field,
          ) => html`<${Field} key=${field.name} field=${field} value=${values[field.name] ?? ''} error=${errors[field.name]}
            set=${(value) => setValues((last) => ({ ...last, [field.name]: value }))} />`,
        )}
        <div class="buttons"><button changes class="primary" disabled=${isBusy}>${isBusy ? 'Waiting for the replies …' : 'Send test message …'}</button></div>
        <div class="came" aria-live="polite">${came && html`<${Came} of=${came} />`}</div>
      </form>
      <div class="would"><h2>Routing</h2>
        <${Wait} of=${explained} what="the routes" />
        ${explained.value && html`<${Would} routes=${explained.value} chosen=${chosen} />`}
      </div>
    </div>
  </section>`
}

/** The explanation of the routes for a draft, once typing pauses. */
function useExplained(draft, isWrong) {
  const wanted = JSON.stringify(draft)
  const [settled, setSettled] = useState(wanted)
  useEffect(() => {
    const timer = setTimeout(() => !isWrong && setSettled(wanted), SETTLE)
    return () => clearTimeout(timer)
  }, [wanted, isWrong])
  return useLoaded((signal) => call('POST', '/v1/explain', JSON.parse(settled), signal), [settled])
}

function doesOf({ skill, queue, bolt }) {
  return skill
    ? `the skill ${skill} runs`
    : queue
      ? `it goes to the queue ${queue}`
      : bolt
        ? `the app ${bolt} gets it`
        : 'nothing runs'
}

function Would({ routes, chosen }) {
  // Routes that miss by one key are the most interesting; skills have many routes for other
  // gateways.
  const misses = ({ keys }) => keys.filter(({ matched }) => !matched).length
  const others = routes.filter((route) => route !== chosen).toSorted((a, b) => misses(a) - misses(b))
  const near = others.filter((route) => misses(route) <= 1 && isForGateway(route)).slice(0, NEAR)
  const far = others.filter((route) => !near.includes(route))
  return html`<p class=${`verdict ${chosen ? 'good' : 'warn'}`}>${chosen ? html`<b>${chosen.route}</b> answers: ${doesOf(chosen)}.` : 'No route matches.'}</p>
    <${Routes} routes=${[...(chosen ? [chosen] : []), ...near]} />
    ${far.length > 0 && html`<details><summary>${far.length} other routes</summary><${Routes} routes=${far} /></details>`}`
}

function isForGateway({ keys }) {
  return keys.every(({ key, matched }) => matched || (key !== 'gateway' && key !== 'transport'))
}

function Came({ of: { answer, error } }) {
  if (error) return html`<${Problem} error=${error} />`
  const { id, outcome, replies } = answer
  return html`<h2>What came of it</h2>
    <p><${Outcome} outcome=${outcome === 'failed' ? 'dead' : (outcome ?? 'running')} /> <a href=${link(['messages', id])}>See its story</a></p>
    ${replies.length === 0 && html`<p class="dim">${outcome === undefined ? 'No reply yet; it goes on.' : 'No reply.'}</p>`}
    ${replies.map((reply, at) => html`<pre key=${at} tabindex="0" aria-label="Reply">${reply.text ?? JSON.stringify(reply, null, 2)}</pre>`)}`
}
