import { useState } from 'preact/hooks'
import { call, invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { now } from '../lib/live.js'
import { Age, act, Badge, Empty, span, useLoaded, Wait } from '../lib/parts.js'
import { pauseWith } from '../lib/pause.js'
import { link } from '../lib/router.js'

/** All pauses, and a form to add one. */
export function PausedPage() {
  const { troubles = [] } = now.value ?? {}
  const known = troubles.filter(({ code }) => /paused$/.test(code)).map(({ key, count }) => `${key} ${count}`)
  const loaded = useLoaded((signal) => invoke('pause-list', {}, signal), [known.join()])
  const { value, reload } = loaded
  return html`<section class="page" aria-labelledby="title">
    <header class="bar"><h1 id="title">Paused</h1></header>
    <${Wait} of=${loaded} what="what is paused" />
    ${value?.length === 0 && html`<${Empty} title="Nothing is paused.">Messages of what is paused are accepted and wait.<//>`}
    ${value?.length > 0 && html`<ul class="paused-list">${value.map((each) => html`<${Paused} key=${keyOf(each)} pause=${each} done=${reload} />`)}</ul>`}
    <h2>Pause something</h2>
    <${PauseForm} done=${reload} />
  </section>`
}

const keyOf = ({ kind, gateway = '', name }) => `${kind} ${gateway} ${name}`

/** How each kind is resumed, and its page. */
const KINDS = {
  gateway: ({ name }) => ({ args: { gateway: name }, at: ['gateways', name] }),
  route: ({ name }) => ({ args: { route: name }, at: 'configuration' }),
  skill: ({ name }) => ({ args: { skill: name }, at: ['skills', name] }),
  conversation: ({ gateway, name }) => ({
    args: { gateway, conversation: name },
    at: ['conversations', gateway, name],
  }),
  subscription: ({ name }) => ({ args: { name }, at: 'queues' }),
  schedule: ({ name }) => ({ args: { id: name } }),
}

function Paused({ pause, done }) {
  const { kind, name, label = name, gateway, since, by, reason, until, drop } = pause
  const { args, at } = KINDS[kind](pause)
  const resume = async () => {
    await act(async () => {
      await invoke(`${kind}-resume`, args)
      return `${label} goes on.`
    })
    done()
  }
  return html`<li class="card">
    <div><p class="pause-head"><${Badge} kind="warn">${kind}<//> ${at ? html`<a href=${link(at)}>${label}</a>` : html`<b>${label}</b>`}${gateway && html` <span class="dim">in ${gateway}</span>`}</p>
    <p class="dim">${since !== undefined && html`For <${Age} at=${since} />`}${by && ` by ${by}`}${reason && `: ${reason}`}${until !== undefined && `; ends in ${span(Math.max(0, until - Date.now()))}`}${drop && '; messages are recorded as handled by a person'}</p></div>
    <button changes type="button" onClick=${resume} aria-label=${`Resume ${kind} ${label}`}>Resume</button>
  </li>`
}

/** Gateways, routes and skills by name. Conversations are taken over in their own view. */
function PauseForm({ done }) {
  const [kind, setKind] = useState('route')
  const [name, setName] = useState('')
  const { value: routes = [] } = useLoaded((signal) => invoke('route-list', {}, signal), [])
  const { value: skills = [] } = useLoaded((signal) => call('GET', '/v1/skills', undefined, signal), [])
  const names = {
    route: routes.map((each) => each.name),
    skill: skills
      .filter(({ kind, shipped }) => kind !== 'built-in' && !(shipped && kind === 'prefix'))
      .map((each) => each.name),
    gateway: (now.value?.gateways ?? []).map((each) => each.name),
  }[kind]
  const submit = async (event) => {
    event.preventDefault()
    if (!(await pauseWith({ kind, of: { [kind]: name }, name }))) return
    setName('')
    done()
  }
  return html`<form class="pause-form" onSubmit=${submit}>
    <label>What <select value=${kind} onChange=${(event) => {
      setKind(event.target.value)
      setName('')
    }}><option value="route">route</option><option value="skill">skill</option><option value="gateway">gateway</option></select></label>
    <label>Name <input required list="pause-names" autocomplete="off" value=${name} onInput=${(event) => setName(event.target.value)} />
      <datalist id="pause-names">${names.map((each) => html`<option key=${each} value=${each}></option>`)}</datalist></label>
    <button changes class="primary">Pause …</button>
  </form>
  <p class="hint">A conversation is paused with <i>Take over</i> in its own view; a push under <a href=${link('queues')}>Groups and queues</a>.</p>`
}
