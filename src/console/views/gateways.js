import { useEffect, useState } from 'preact/hooks'
import { call, invoke } from '../lib/api.js'
import { authorOf } from '../lib/authors.js'
import { html } from '../lib/html.js'
import { clock, now } from '../lib/live.js'
import { percent } from '../lib/money.js'
import {
  Age,
  act,
  Badge,
  Empty,
  Facts,
  Gist,
  Loading,
  Moment,
  Outcome,
  StoreAway,
  span,
  useLoaded,
  Wait,
} from '../lib/parts.js'
import { Pause, usePause } from '../lib/pause.js'
import { PauseFacts, PauseNote, Waiting } from '../lib/pauses.js'
import { MANY_REFUSED, refusedMany, refusesNow } from '../lib/refusing.js'
import { link } from '../lib/router.js'
import { Back } from '../lib/trail.js'
import { count, withLocalTimes } from '../lib/troubles.js'
import { useFlow } from './gateway-flow.js'
import { Refusals } from './refusals.js'

/** Polling interval of the traffic, in ms. */
const POLL_INTERVAL = 10_000

/** The traffic of the last hour per gateway, polled while the page is shown. */
function useTraffic(gateway) {
  const loaded = useLoaded(
    (signal) => invoke('gateway-traffic', gateway ? { gateway } : {}, signal),
    [gateway, now.value?.rates?.refused ?? 0],
  )
  const { value, reload } = loaded
  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), POLL_INTERVAL)
    return () => clearInterval(timer)
  }, [gateway])
  return { loaded, traffic: Object.fromEntries((value ?? []).map((each) => [each.gateway, each])) }
}

/** All gateways, and their newest refusals. */
export function GatewaysPage() {
  const gateways = now.value?.gateways ?? []
  const status = useLoaded((signal) => call('GET', '/v1/status', undefined, signal), [gateways.length])
  const { loaded, traffic } = useTraffic()
  const pauses = pausedGateways(now.value?.troubles)
  return html`<section class="page" aria-labelledby="title">
    <header class="bar"><h1 id="title">Gateways</h1><${CheckAll} names=${gateways.map(({ name }) => name)} /></header>
    <${StoreAway} />
    ${now.value === undefined ? html`<${Loading} />` : loaded.error && html`<${Wait} of=${loaded} what="the traffic" />`}
    ${status.error && html`<${Wait} of=${status} what="the gateways that are off" />`}
    <div class="cards">${worstFirst(gateways, traffic, pauses).map((each) => html`<${Card} key=${each.name} gateway=${each} traffic=${traffic[each.name]} isUnknown=${loaded.error !== undefined} />`)}
      ${(status.value?.disabled ?? []).map(
        ({ name, transport, why }) => html`<article class="card" key=${name}>
        <header class="card-head"><h2>${name}</h2><${Badge}>off<//></header><p class="dim">${transport}</p><p>${why}</p></article>`,
      )}
    </div>
    <h2>Refusals</h2>
    <${Refusals} />
  </section>`
}

function pausedGateways(troubles = []) {
  return new Set(troubles.filter(({ code }) => code === 'paused').map(({ where }) => where.gateway))
}

/** When a gateway stopped working; undefined if it works. */
function downSinceOf(name) {
  return now.value?.troubles?.find(({ code, where }) => code === 'gateway-down' && where.gateway === name)
    ?.since
}

/** The order: not working, refusing all, refusing many, paused, and the others as configured. */
function worstFirst(gateways, traffic, paused) {
  const rank = (gateway) => {
    const { name, ok } = gateway
    if (!ok) return 0
    if (refusesNow(gateway, traffic[name], now.value?.troubles)) return traffic[name].errorShare === 1 ? 1 : 2
    return paused.has(name) ? 3 : 4
  }
  return gateways.toSorted((one, other) => rank(one) - rank(other))
}

function Card({ gateway, traffic, isUnknown }) {
  const { name, transport, ok, detail } = gateway
  const { pause } = usePause({ kind: 'gateway', of: { gateway: name }, name })
  const downSince = downSinceOf(name)
  return html`<article class="card gateway-card" aria-labelledby=${`gateway-${name}`}>
    <header class="card-head"><h2 id=${`gateway-${name}`}><a href=${link(['gateways', name])}>${name}</a></h2><${GatewayState} of=${gateway} traffic=${traffic} isUnknown=${isUnknown} isPaused=${pause !== undefined} /></header>
    <p class="dim">${transport}</p>
    <p class=${ok ? 'detail' : 'detail error'}>${withLocalTimes(detail ?? '')}</p>
    ${downSince !== undefined && html`<p class="dim">for <${Age} at=${downSince} /></p>`}
    <${Traffic} of=${traffic} />
    <p class="buttons"><${Pause} isSmall kind="gateway" of=${{ gateway: name }} name=${name} />
      <a class="button small" href=${link('messages', { gateway: name })} aria-label=${`Messages of ${name}`}>Messages</a></p>
    ${pause && html`<p class="pause-line">Paused<${PauseFacts} of=${pause} />. <${Waiting} of=${pause} />${pause.waiting > 0 && (pause.waiting === 1 ? ' waits.' : ' wait.')}</p>`}
  </article>`
}

/** Rate, last message, refusals, and a chart of the last hour, with the times of its ends if `hasAxis`. */
function Traffic({ of, hasAxis = false }) {
  if (!of) return html`<p class="traffic dim">…</p>`
  const { perMinute, lastAt, searchedTo, refused, errorShare, minutes } = of
  return html`<div class="traffic"><${Sparkline} of=${minutes} />${hasAxis && html`<p class="axis dim"><span>${minutes.accepted.length} min ago</span><span>now</span></p>`}
    <p>${perMinute.toLocaleString('en')} a minute <span class="dim">${lastAt === undefined ? (searchedTo === undefined ? 'no message yet' : html`none for <${Age} at=${searchedTo} />`) : html`last <${Age} at=${lastAt} /> ago`}</span>
    ${refused > 0 && html`<span class="error">${refused.toLocaleString('en')} refused (${percent(errorShare)})</span>`}</p></div>`
}

const WIDTH = 240
const HEIGHT = 32

/**
 * Accepted and refused messages per minute in the last hour, as two lines, with the highest number.
 * The numbers next to the chart give the same information.
 */
function Sparkline({ of: { accepted, refused } }) {
  const most = Math.max(1, ...accepted, ...refused)
  const path = (counts) =>
    counts
      .map(
        (count, at) =>
          `${((at * WIDTH) / (counts.length - 1)).toFixed(1)},${(HEIGHT - 1 - ((HEIGHT - 2) * count) / most).toFixed(1)}`,
      )
      .join(' ')
  const hasAny = [...accepted, ...refused].some((count) => count > 0)
  return html`<span class="scale">${hasAny && `peak: ${most.toLocaleString('en')} a minute`}</span><svg class="sparkline" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
    <polyline class="good" points=${path(accepted)} />
    ${refused.some((count) => count > 0) && html`<polyline class="bad" points=${path(refused)} />`}
  </svg>`
}

/** A paused gateway is not shown as working. If it refuses or is down, that is shown too. */
function GatewayState({ of, traffic, isUnknown, isPaused }) {
  const isFine = of.ok && !refusesNow(of, traffic, now.value?.troubles)
  return html`<span class="states">${!(isPaused && isFine) && html`<${Connection} of=${of} traffic=${traffic} isUnknown=${isUnknown} />`}${isPaused && html` <${Badge} kind="warn">paused<//>`}</span>`
}

function Connection({ of, traffic, isUnknown }) {
  const { ok, recovered = 'works' } = of
  // Without its traffic, it is unknown whether the gateway refuses.
  if (ok && !traffic)
    return html`<${Badge} title="Its traffic is not known">${isUnknown ? 'connected' : '…'}<//>`
  const { errorShare } = traffic ?? {}
  if (ok && refusesNow(of, traffic, now.value?.troubles))
    return html`<${Badge} kind=${errorShare === 1 ? 'bad' : 'warn'}>${errorShare === 1 ? 'refuses all' : 'refuses many'}<//>`
  return html`<${Badge} kind=${ok ? 'good' : 'bad'}>${ok ? recovered : 'does not work'}<//>`
}

/** One gateway: state, checks and refusals. */
export function GatewayPage({ name }) {
  const found = now.value?.gateways?.find((each) => each.name === name)
  const { connections, secondsSinceEvent } = found?.gauges ?? {}
  const { loaded, traffic } = useTraffic(name)
  const { pause } = usePause({ kind: 'gateway', of: { gateway: name }, name })
  const downSince = downSinceOf(name)
  const flow = useFlow(name, found)
  const { value: shown } = useLoaded(
    (signal) => invoke('gateway-show', { gateway: name }, signal),
    [name, now.value?.configuration?.at, loaded.at],
  )
  return html`<section class="page" aria-labelledby="title">
    <${Back} to="gateways" />
    <header class="bar"><h1 id="title">${name} ${found && html`<${GatewayState} of=${found} traffic=${traffic[name]} isUnknown=${loaded.error !== undefined} isPaused=${pause !== undefined} />`}</h1>
      <div class="buttons">${found && html`<${Pause} of=${{ gateway: name }} kind="gateway" name=${name} />${CONNECTED.has(found.transport) && html`<${Reconnect} name=${name} />`}`}<a class="button" href=${link('messages', { gateway: name })}>Its messages</a>
        <a class="button" href=${link('compose', { gateway: name })}>Send a test message</a></div></header>
    <${PauseNote} of=${pause} />
    <${StoreAway} />
    ${now.value === undefined && html`<${Loading} />`}
    ${now.value && !now.value.error && !found && html`<${Empty} title="It does not run."><a href=${link('configuration')}>See the configuration</a><//>`}
    <div class="columns"><div>
    ${
      found &&
      html`<${Facts} of=${{
        transport: found.transport,
        [found.ok ? 'detail' : 'last error']:
          html`<span class=${found.ok ? '' : 'error'}>${withLocalTimes(found.detail ?? (found.ok ? 'it works' : 'it does not say why'))}</span>`,
        'does not work':
          downSince !== undefined &&
          html`for <${Age} at=${downSince} />, since <${Moment} at=${downSince} />`,
        login: found.account,
        ...secretFacts(shown),
        workers: shown?.pulled && html`<${Pulled} of=${shown.pulled} />`,
        connections: connections === undefined ? undefined : String(connections),
        'last event':
          secondsSinceEvent === undefined || /last event/.test(found.detail)
            ? undefined
            : `${span(secondsSinceEvent * 1000)} ago, or none since the start`,
        ...flow,
        'may send to': found.open ? 'anybody (open: true)' : 'whoever wrote to it',
      }} />`
    }
    ${found && html`<h2>Last hour</h2><${Wait} of=${loaded} what="the traffic" /><div class="wide-traffic"><${Traffic} of=${traffic[name]} hasAxis /></div>`}
    </div><div>${found && html`<${Newest} name=${name} at=${traffic[name]?.lastAt} />`}</div></div>
    <${ChangedSince} of=${shown} />
    ${refusedMany(traffic[name]) && html`<h2>Refusals</h2><${Refusals} gateway=${name} />`}
    <h2>Checks</h2>
    <${Checks} name=${name} traffic=${traffic[name]} />
    ${!refusedMany(traffic[name]) && html`<h2>Refusals</h2><${Refusals} gateway=${name} />`}
  </section>`
}

/** How many messages workers have not pulled yet, and when they last did. */
function Pulled({ of: { messages, more, oldestAt, at, by } }) {
  return html`${count(messages, 'message', more ? '+' : '')} not pulled${oldestAt !== undefined && html`, oldest <${Age} at=${oldestAt} />`}, last pull <${Age} at=${at} /> ago by ${authorOf(by)}`
}

/** Where the secrets of a gateway are configured; never their values. */
function secretFacts({ secrets = [] } = {}) {
  if (secrets.length === 0) return {}
  const places = secrets.map(
    ({ setting, variables, file }) =>
      html`<code>${setting}</code> in ${file}${variables.length > 0 && html`, from ${variables.map((name) => html`<code key=${name}>${name}</code> `)}in .env or the environment`}<br />`,
  )
  return { [secrets.length === 1 ? 'secret' : 'secrets']: html`${places}` }
}

/** Refusals from before the last change of the configuration, which may have corrected the cause. */
function ChangedSince({ of: { refusals = [] } = {} }) {
  const { ok, goodAt } = now.value?.configuration ?? {}
  const last = Math.max(...refusals.map((each) => each.last))
  if (!ok || !Number.isFinite(last) || goodAt <= last) return null
  return html`<p class="now-it">The configuration was loaded <${Age} at=${goodAt} /> ago, after the last refused delivery (<${Moment} at=${last} />): the refusals below are from before. The next delivery shows whether it is accepted.</p>`
}

/** Number of messages shown. */
const NEWEST_SHOWN = 6

/** The newest messages of a gateway. `at`: time of the last one. */
function Newest({ name, at }) {
  const { value } = useLoaded(
    (signal) => invoke('message-search', { gateway: name, limit: NEWEST_SHOWN }, signal),
    [name, at],
  )
  if (!value) return null
  return html`<h2>Newest messages</h2>
    ${value.messages.length === 0 && html`<p class="dim">None yet.</p>`}
    <ul class="newest">${value.messages.map(
      (message) =>
        html`<li key=${message.id}><a data-row href=${link(['messages', message.id])}><${Age} at=${message.at} /><span class="one-line"><${Gist} of=${message} /></span><${Outcome} outcome=${message.outcome} /></a></li>`,
    )}</ul>`
}

/** Transports that keep a connection. */
const CONNECTED = new Set(['email', 'slack', 'websocket', 'bullmq'])

/** For a hanging connection. Clients must connect again; stored data is not affected. */
function Reconnect({ name }) {
  const reconnect = () =>
    act(async () => {
      const { ok, detail } = await invoke('gateway-reconnect', { gateway: name })
      if (!ok) throw new Error(`${name} does not work: ${detail ?? 'it does not say why'}`)
      return `${name} is connected anew.`
    })
  return html`<button changes type="button" onClick=${reconnect}>Reconnect</button>`
}

/**
 * The checks of `trivium doctor` for this gateway. They contact the provider, so they run only on
 * request.
 */
function Checks({ name, traffic }) {
  const loaded = useLoaded((signal) => call('GET', '/v1/doctor', undefined, signal), [name])
  const { value, reload } = loaded
  const [began, setBegan] = useState()
  const check = () =>
    act(async () => {
      setBegan(Date.now())
      await call('POST', '/v1/doctor', { gateway: name }).finally(() => setBegan(undefined))
      reload()
    })
  if (!value) return html`<${Wait} of=${loaded} what="the checks" />`
  const own = (value ?? []).filter((each) => each.name.startsWith(`${name}: `))
  const [{ at } = {}] = own
  return html`<ul class="plain"><${RefusedFinding} of=${traffic} />${at !== undefined && own.map((each) => html`<${Finding} key=${each.name} gateway=${name} of=${each} />`)}
    ${value && at === undefined && html`<li class="dim">Not tested since the daemon started. The state above is from its own traffic.</li>`}</ul>
  <p class="buttons"><button changes type="button" disabled=${began !== undefined} onClick=${check}>${at === undefined ? 'Check now' : 'Check again'}</button>
    <span role="status" class="dim">${began !== undefined ? `Checking for ${span(Math.max(0, clock.value - began))}; a mailbox sends a mail to itself and waits for it.` : ''}
      ${began === undefined && at !== undefined && html`Checked <${Age} at=${at} /> ago.`}</span></p>`
}

/** The checks contact the provider. Its deliveries to us may be refused all the same. */
function RefusedFinding({ of: { refused = 0, errorShare = 0 } = {} }) {
  if (refused === 0 || errorShare < MANY_REFUSED) return null
  return html`<li><${Badge} kind="bad">failing<//> <b>deliveries</b> ${refused.toLocaleString('en')} of the last hour were refused (${percent(errorShare)}): see the refusals</li>`
}

function Finding({ gateway, of: { name, ok, warning, detail } }) {
  const [kind, word] = ok ? (warning ? ['warn', 'note'] : ['good', 'ok']) : ['bad', 'failing']
  return html`<li><${Badge} kind=${kind}>${word}<//> <b>${name.slice(gateway.length + 2)}</b> ${detail}</li>`
}

/** Checks all gateways, one after another, with progress. */
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
    ${wrong && (wrong.length > 0 ? html`Failing: ${wrong.map((name) => html`<a key=${name} href=${link(['gateways', name])}>${name}</a> `)}` : 'All checks are ok.')}</span>
    <button changes type="button" disabled=${done !== undefined || names.length === 0} onClick=${run}>Check all</button></span>`
}
