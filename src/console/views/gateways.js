import { useState } from 'preact/hooks'
import { call, invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { clock, now } from '../lib/live.js'
import { Age, act, Badge, Empty, Facts, Problem, StoreAway, span, useLoaded } from '../lib/parts.js'
import { Pause } from '../lib/pause.js'
import { link } from '../lib/router.js'
import { Back } from '../lib/trail.js'

/** Every gateway, and the newest refusals of all. */
export function GatewaysPage() {
  const gateways = now.value?.gateways ?? []
  const { value: status } = useLoaded(
    (signal) => call('GET', '/v1/status', undefined, signal),
    [gateways.length],
  )
  return html`<section class="page" aria-labelledby="title">
    <header class="bar"><h1 id="title">Gateways</h1><${CheckAll} names=${gateways.map(({ name }) => name)} /></header>
    <${StoreAway} />
    <div class="cards">${gateways.map((each) => html`<${Card} key=${each.name} gateway=${each} />`)}
      ${(status?.disabled ?? []).map(
        ({ name, transport, why }) => html`<article class="card" key=${name}>
        <header class="card-head"><h2>${name}</h2><${Badge}>off<//></header><p class="dim">${transport}</p><p>${why}</p></article>`,
      )}
    </div>
    <h2>Newest refusals</h2>
    <${Refusals} />
  </section>`
}

function Card({ gateway: { name, transport, ok, detail } }) {
  return html`<article class="card">
    <header class="card-head"><h2><a data-row href=${link(['gateways', name])}>${name}</a></h2><${Standing} ok=${ok} /></header>
    <p class="dim">${transport}</p>
    <p class=${ok ? 'detail' : 'detail error'}>${detail ?? ''}</p>
  </article>`
}

function Standing({ ok }) {
  return html`<${Badge} kind=${ok ? 'good' : 'bad'}>${ok ? 'works' : 'does not work'}<//>`
}

/** One gateway: how it stands, what checks find, what it refused. */
export function GatewayPage({ name }) {
  const found = now.value?.gateways?.find((each) => each.name === name)
  const { connections, secondsSinceEvent } = found?.gauges ?? {}
  return html`<section class="page" aria-labelledby="title">
    <${Back} to="gateways" title="Gateways" />
    <header class="bar"><h1 id="title">${name} ${found && html`<${Standing} ok=${found.ok} />`}</h1>
      <div class="buttons">${found && html`<${Pause} of=${{ gateway: name }} kind="gateway" name=${name} /><${Reconnect} name=${name} />`}<a class="button" href=${link('messages', { gateway: name })}>Its messages</a>
        <a class="button" href=${link('compose', { gateway: name })}>Send a test message</a></div></header>
    <${StoreAway} />
    ${now.value && !now.value.error && !found && html`<${Empty} title="It does not run."><a href=${link('configuration')}>See the configuration</a><//>`}
    ${
      found &&
      html`<${Facts} of=${{
        transport: found.transport,
        [found.ok ? 'detail' : 'last error']:
          html`<span class=${found.ok ? '' : 'error'}>${found.detail ?? (found.ok ? 'it works' : 'it does not say why')}</span>`,
        connections: connections === undefined ? undefined : String(connections),
        'last event':
          secondsSinceEvent === undefined
            ? undefined
            : `${span(secondsSinceEvent * 1000)} ago, or none since the start`,
        'may send to': found.open ? 'anybody (open: true)' : 'whoever wrote to it',
      }} />`
    }
    <h2>Checks</h2>
    <${Checks} name=${name} />
    <h2>Refusals</h2>
    <${Refusals} gateway=${name} />
  </section>`
}

/** For a connection that hangs. Its clients are cut off and come back; what is stored is not touched. */
function Reconnect({ name }) {
  const reconnect = () =>
    act(async () => {
      const { ok, detail } = await invoke('gateway-reconnect', { gateway: name })
      if (!ok) throw new Error(`${name} does not work: ${detail ?? 'it does not say why'}`)
      return `${name} is connected anew.`
    })
  return html`<button changes type="button" onClick=${reconnect}>Reconnect</button>`
}

/** What `trivium doctor` finds of it. Checks try what they check, at the provider: they run when somebody asks. */
function Checks({ name }) {
  const { value, error, reload } = useLoaded((signal) => call('GET', '/v1/doctor', undefined, signal), [name])
  const [began, setBegan] = useState()
  const check = () =>
    act(async () => {
      setBegan(Date.now())
      await call('POST', '/v1/doctor', { gateway: name }).finally(() => setBegan(undefined))
      reload()
    })
  if (error) return html`<${Problem} error=${error} retry=${reload} />`
  const own = (value ?? []).filter((each) => each.name.startsWith(`${name}: `))
  const [{ at } = {}] = own
  return html`<ul class="plain">${at !== undefined && own.map((each) => html`<${Finding} key=${each.name} gateway=${name} of=${each} />`)}
    ${value && at === undefined && html`<li class="dim">Not checked since the daemon started.</li>`}</ul>
  <p class="buttons"><button changes type="button" disabled=${began !== undefined} onClick=${check}>${at === undefined ? 'Check now' : 'Check again'}</button>
    <span role="status" class="dim">${began !== undefined ? `Checking for ${span(Math.max(0, clock.value - began))}; a mailbox sends a mail to itself and waits for it.` : ''}
      ${began === undefined && at !== undefined && html`Checked <${Age} at=${at} /> ago.`}</span></p>`
}

function Finding({ gateway, of: { name, ok, warning, detail } }) {
  const [kind, word] = ok ? (warning ? ['warn', 'note'] : ['good', 'good']) : ['bad', 'wrong']
  return html`<li><${Badge} kind=${kind}>${word}<//> <b>${name.slice(gateway.length + 2)}</b> ${detail}</li>`
}

/** Checks all gateways, one after the other, and shows how far it is. */
function CheckAll({ names }) {
  const [done, setDone] = useState()
  const [wrong, setWrong] = useState()
  const run = () =>
    act(async () => {
      setWrong(undefined)
      const failed = []
      for (const [index, gateway] of names.entries()) {
        setDone(index)
        const found = await call('POST', '/v1/doctor', { gateway })
        if (found.some(({ ok }) => !ok)) failed.push(gateway)
      }
      setWrong(failed)
    }).finally(() => setDone(undefined))
  return html`<span class="buttons"><span role="status" class="dim">${done !== undefined && `Checking ${names[done]}: ${done + 1} of ${names.length}`}
    ${wrong && (wrong.length > 0 ? html`Wrong: ${wrong.map((name) => html`<a key=${name} href=${link(['gateways', name])}>${name}</a> `)}` : 'All checks are good.')}</span>
    <button changes type="button" disabled=${done !== undefined || names.length === 0} onClick=${run}>Check all</button></span>`
}

/** When, from where, why, and how it began: as text, whoever wrote it. */
function Refusals({ gateway }) {
  const refused = now.value?.rates?.refused ?? 0
  const { value, error, reload } = useLoaded(
    (signal) => invoke('refused', gateway ? { gateway } : {}, signal),
    [gateway, refused],
  )
  if (error) return html`<${Problem} error=${error} retry=${reload} />`
  const refusals = value?.refusals ?? []
  if (value && refusals.length === 0) return html`<p class="dim">None since this daemon started.</p>`
  return html`<ul class="refusals">${refusals.slice(0, 50).map(
    ({ at, gateway: by, reason, from, why, body }, index) => html`<li key=${`${at} ${index}`}>
      <p><${Age} at=${at} /> <b>${by}</b> <code>${reason}</code> ${from && html`<span class="dim">from ${from}</span>`}</p>
      ${why && html`<p>${why}</p>`}
      ${body && html`<details><summary>What was sent</summary><pre tabindex="0" aria-label="What was sent">${body}</pre></details>`}
    </li>`,
  )}</ul>`
}
