import { useState } from 'preact/hooks'
import { call, invoke } from '../lib/api.js'
import { authorOf } from '../lib/authors.js'
import { html } from '../lib/html.js'
import { clock, now } from '../lib/live.js'
import { Age, act, Badge, Empty, Moment, span, useLoaded, Wait } from '../lib/parts.js'
import { pauseWith } from '../lib/pause.js'
import { pausesOfDaemon, placeOfPause, Waiting } from '../lib/pauses.js'
import { link } from '../lib/router.js'

/** All pauses, and a form to add one. */
export function PausedPage() {
  const loaded = useLoaded((signal) => invoke('pause-list', {}, signal), [pausesOfDaemon()])
  const { value, reload } = loaded
  return html`<section class="page" aria-labelledby="title">
    <header class="bar"><h1 id="title">Paused</h1></header>
    <${Wait} of=${loaded} what="what is paused" />
    ${value?.length === 0 && html`<${Empty} title="Nothing is paused.">Messages of what is paused are accepted and wait.<//>`}
    ${
      value?.length > 0 &&
      html`<div class="scrolls" tabindex="0" role="region" aria-label="What is paused"><table class="group-table">
      <thead><tr><th scope="col">what</th><th scope="col">since</th><th scope="col">by</th><th scope="col">reason</th><th scope="col">until</th><th scope="col">waiting</th><th scope="col"></th></tr></thead>
      <tbody>${value.map((each) => html`<${Paused} key=${keyOf(each)} pause=${each} done=${reload} />`)}</tbody></table></div>`
    }
    <h2>Pause something</h2>
    <${PauseForm} done=${reload} />
  </section>`
}

const keyOf = ({ kind, gateway = '', name }) => `${kind} ${gateway} ${name}`

function Paused({ pause, done }) {
  const { kind, name, label = name, gateway, since, by, reason, until, drop, waiting } = pause
  const { args, at } = placeOfPause(pause)
  const resume = async () => {
    await act(async () => {
      await invoke(`${kind}-resume`, args)
      return `${label} goes on.`
    })
    done()
  }
  return html`<tr>
    <td class="group-name"><${Badge} kind="warn">${kind}<//> ${at ? html`<a data-row href=${link(at)}>${label}</a>` : html`<b>${label}</b>`}${gateway && html` <span class="dim">in ${gateway}</span>`}</td>
    <td class="whole-words" data-label="since">${since !== undefined && html`<${Age} at=${since} /> ago`}</td><td data-label="by">${authorOf(by) ?? ''}</td>
    <td>${reason ?? ''}${drop && html` <span class="dim">messages are recorded as handled by a person</span>`}</td>
    <td class="whole-words" data-label="until">${until === undefined ? html`<span class="dim">it is resumed</span>` : html`<${Moment} at=${until} /> <span class="dim">in ${span(Math.max(0, until - clock.value))}</span>`}</td>
    <td class="whole-words" data-label=${waiting > 0 ? 'waiting' : undefined}><${Waiting} of=${pause} /></td>
    <td class="row-actions"><button changes type="button" class="small" onClick=${resume} aria-label=${`Resume ${kind} ${label}`}>Resume</button></td>
  </tr>`
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
    <label>Name <select required value=${name} onChange=${(event) => setName(event.target.value)}>
      <option value="" disabled>choose …</option>${names.map((each) => html`<option key=${each} value=${each}>${each}</option>`)}</select></label>
    <button changes class="primary">Pause …</button>
  </form>
  <p class="hint">A conversation is paused with <i>Take over</i> in its own view; a push under <a href=${link('queues')}>Groups and queues</a>.</p>`
}
