import { useEffect, useRef, useState } from 'preact/hooks'
import { invoke } from '../lib/api.js'
import { Field } from '../lib/form.js'
import { html } from '../lib/html.js'
import { bodyFault, faultText, looksLikeJson } from '../lib/json-fault.js'
import { formatJson } from '../lib/json-format.js'
import { isNarrow, now } from '../lib/live.js'
import { act, say, useLoaded, Wait } from '../lib/parts.js'
import { link, replace } from '../lib/router.js'
import { usualValues } from '../lib/samples.js'
import { readFields } from '../lib/schema.js'
import { senderIn } from '../lib/sender-in.js'
import { tests } from '../lib/tests.js'
import { draftOf, useExplained, useSend } from './compose-send.js'
import { StartFrom, valuesOf } from './compose-start.js'
import { gatewayLeft, KeptNote, useTestValues } from './compose-values.js'
import { NotChecked, RoutingResult, Verdict } from './routing.js'
import { TestHistory } from './test-history.js'
import { TestResult } from './test-result.js'

const FROM = {
  name: 'from',
  kind: 'text',
  description: 'The sender, who counts as verified. Without it: cli.',
}
const CONVERSATION = {
  name: 'conversation',
  kind: 'text',
  description: 'The conversation that it belongs to. Without it: a new one.',
}
const FIELDS = {
  webhook: [
    {
      name: 'text',
      kind: 'long',
      rows: 12,
      required: true,
      description: 'The body, as the provider sends it. It is not split: of a list, give one element.',
    },
    {
      name: 'event',
      kind: 'text',
      description:
        'The name of the event. Without it, it is read from the body or the headers, as in a delivery.',
    },
    { name: 'headers', kind: 'json', shape: 'object' },
    FROM,
    CONVERSATION,
  ],
  email: [
    { name: 'subject', kind: 'text' },
    { name: 'text', kind: 'long', required: true, description: 'What it says.' },
    FROM,
    CONVERSATION,
    { name: 'data', kind: 'json', shape: 'object', description: 'Fields of the mail, as routes match them.' },
  ],
}
const OTHER = [
  { name: 'text', kind: 'long', required: true, description: 'What it says.' },
  FROM,
  CONVERSATION,
  {
    name: 'data',
    kind: 'json',
    shape: 'object',
    description: 'Fields of the transport, as routes match them, such as { "direct": true }.',
  },
]

/** Fields that a phone shows unfolded. */
const isMain = ({ name }) => name === 'text' || name === 'subject'

/** A form for a test message. Shows the matching routes while typing, then the result. */
export function ComposePage({ query }) {
  const gateways = now.value?.gateways ?? []
  const gateway = query.gateway ?? usualGateway(gateways)
  const about = gateways.find(({ name }) => name === gateway)
  const fields = FIELDS[about?.transport] ?? OTHER
  const { value: routes, error: noRoutes } = useLoaded((signal) => invoke('route-list', {}, signal), [])
  const isKnown = about && (routes || noRoutes)
  const { values, set, fill, kept } = useTestValues(
    isKnown ? gateway : undefined,
    query,
    usualValues(about, routes),
  )
  useLike(query.like, fill)
  const [sent, setSent] = useState()
  const form = useRef()
  const result = useRef()
  const routing = useRef()
  const isOfOther = useOtherGateway(sent, gateway)
  const { args, errors } = readFields(fields, values)
  const fault = about?.transport === 'webhook' ? bodyFault(values.text) : undefined
  const warning = fault && `Not valid JSON, ${faultText(fault)}`
  const sender = senderIn(values.text, about?.senderAt)
  const draft = draftOf(gateway, { ...(sender && { from: sender }), ...args })
  const isWrong = Object.keys(errors).length > 0
  const explained = useExplained(draft, isWrong)
  const { routes: explainedRoutes, message } = explained.value ?? {}
  const { send, isBusy } = useSend(setSent)
  const pick = (name) => replace('compose', { gateway: name })
  const load = (test) => {
    fill({ ...test.values }, test.gateway)
    pick(test.gateway)
  }
  const see = (test) => setSent({ ...test })
  useInView(result, sent)
  const submit = (event) => {
    event.preventDefault()
    if (isWrong) return say('There is an error in the form.', 'bad')
    send({ gateway, values, draft, warning })
  }
  const others = fields.filter((field) => !isMain(field))
  const fieldOf = (
    field,
  ) => html`<${Field} key=${field.name} field=${shownField(field, { values, about, sender, conversation: message?.conversation })} value=${values[field.name] ?? ''} error=${errors[field.name]} warning=${field.name === 'text' ? warning : undefined}
    set=${(value) => set(field.name, value)} />${field.name === 'text' && html`<${Format} text=${values.text} set=${(value) => set('text', value)} />`}`
  return html`<section class="page compose" aria-labelledby="title">
    <header class="bar"><h1 id="title">Test message</h1></header>
    <div class="columns">
      <form ref=${form} class="form" noValidate onSubmit=${submit}>
        <div class="starts">
          <div class="field"><label for="compose-gateway">gateway</label>
            <select id="compose-gateway" value=${gateway} onChange=${(event) => pick(event.target.value)}>
              ${[...gateways, ...(about ? [] : [{ name: gateway }])].map(({ name, transport, scheme }) => html`<option key=${name} value=${name}>${name}${transport && ` (${[transport, scheme !== 'none' && scheme].filter(Boolean).join(', ')})`}</option>`)}
            </select></div>
          <${StartFrom} key=${gateway} gateway=${gateway} about=${about} routes=${routes} values=${values} take=${fill} />
        </div>
        <${KeptNote} kept=${kept} gateway=${gateway} fields=${fields} />
        ${query.like && html`<p class="hint">A copy of <a href=${link(['messages', query.like])}>a message</a>, in a conversation of its own. Change what you like.</p>`}
        ${about?.scheme && about.scheme !== 'none' && html`<p class="hint">A test skips the check of the signature (${about.scheme}).</p>`}
        ${fields.filter(isMain).map(fieldOf)}
        <details class="more-fields" open=${!isNarrow.value || others.some(({ name }) => values[name] || errors[name])}><summary>${others.map(({ name }) => name).join(', ')}</summary>${others.map(fieldOf)}</details>
        <div class="buttons send-bar">${isNarrow.value && html`<${Line} errors=${errors} warning=${warning} routes=${explainedRoutes} />`}${isNarrow.value && html`<${Jump} to=${routing} name="Routing" />${sent && html`<${Jump} to=${result} name="Result" />`}`}<button changes class="primary" aria-disabled=${isBusy}>${isBusy ? 'Sending …' : 'Send test message …'}</button></div>
      </form>
      <div class="would">
        <div class="came" ref=${result} aria-live="polite">${sent && html`<${ResultOf} key=${sent.key} isOfOther=${isOfOther} test=${sent} again=${() => send(sent)} edit=${isNarrow.value && (() => form.current?.scrollIntoView())} />`}</div>
        <h2 ref=${routing}>Routing</h2>
        ${
          isWrong
            ? html`<${NotChecked} errors=${errors} />`
            : html`<${Wait} of=${explained} what="the routes" />
          ${explainedRoutes && html`<${RoutingResult} routes=${explainedRoutes} warning=${warning} />`}`
        }
      </div>
    </div>
    <${TestHistory} load=${load} again=${send} see=${see} />
  </section>`
}

/** A field with what it depends on: JSON is code; sender and conversation may be in the text. */
function shownField(field, { values, about, sender, conversation }) {
  if (field.name === 'text') return { ...field, isCode: looksLikeJson(values.text ?? '') }
  if (field.name === 'conversation' && conversation && !values.conversation)
    return {
      ...field,
      description: `The conversation that it belongs to. Without it: ${conversation}, as in a delivery.`,
    }
  if (field.name !== 'from' || !sender) return field
  const description = `The sender, who counts as verified. Without it: ${sender}, from ${about.senderAt}, as in a delivery.`
  return { ...field, description }
}

/** Indents a text that is JSON. */
function Format({ text = '', set }) {
  const formatted = looksLikeJson(text) ? formatJson(text) : text
  if (formatted === text) return null
  return html`<div class="buttons format"><button type="button" class="small" onClick=${() => set(formatted)}>Format</button></div>`
}

/** Shows the result of each test that is sent or chosen: on a phone it is below the form. */
function useInView(result, sent) {
  useEffect(() => {
    const { top } = result.current.getBoundingClientRect()
    if (sent && (top < 0 || top > innerHeight / 2)) result.current.scrollIntoView()
  }, [sent])
}

/** On a phone, routing and result are below the form. */
function Jump({ to, name }) {
  return html`<button type="button" class="small" onClick=${() => to.current?.scrollIntoView()}>${name} ↓</button>`
}

/** Whether the last test went to another gateway than the one chosen after it. */
function useOtherGateway(sent, gateway) {
  const [left, setLeft] = useState()
  useEffect(() => setLeft(sent?.key), [gateway])
  return sent !== undefined && sent.gateway !== gateway && left === sent.key
}

/** The result of a test; closed after another gateway was chosen. */
function ResultOf({ isOfOther, test, again, edit }) {
  const result = html`<${TestResult} test=${test} again=${again} edit=${edit} />`
  return isOfOther
    ? html`<details><summary>Result of the test at ${test.gateway}</summary>${result}</details>`
    : result
}

/** On a phone, the routing is below the form: which route takes the message, beside the button. */
function Line({ errors, warning, routes }) {
  if (Object.keys(errors).length > 0) return html`<${NotChecked} errors=${errors} />`
  return routes && html`<${Verdict} chosen=${routes.find(({ chosen }) => chosen)} warning=${warning} />`
}

/** Fills the form with the message of an id. */
function useLike(id, take) {
  useEffect(() => {
    if (id) act(async () => take(valuesOf((await invoke('message-show', { id })).message)))
  }, [id])
}

/** The gateway of the last test, else the first that is not the command line. */
function usualGateway(gateways) {
  const known = (name) => gateways.some((each) => each.name === name)
  if (known(gatewayLeft())) return gatewayLeft()
  const last = tests.value.find((each) => known(each.gateway))
  return last?.gateway ?? gateways.find(({ transport }) => transport !== 'cli')?.name ?? 'cli'
}
