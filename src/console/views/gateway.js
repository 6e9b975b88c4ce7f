import { invoke } from '../lib/api.js'
import { authorOf } from '../lib/authors.js'
import { ReloadOfDaemon } from '../lib/failed-reload.js'
import { html } from '../lib/html.js'
import { now } from '../lib/live.js'
import {
  Age,
  act,
  Empty,
  Facts,
  Gist,
  Loading,
  Moment,
  Outcome,
  StoreAway,
  span,
  useLoaded,
  Words,
} from '../lib/parts.js'
import { Pause, usePause } from '../lib/pause.js'
import { PauseNote } from '../lib/pauses.js'
import { refusedMany, refusesNow } from '../lib/refusing.js'
import { link, replace } from '../lib/router.js'
import { Back } from '../lib/trail.js'
import { count, withLocalTimes, withoutCommands } from '../lib/troubles.js'
import { placeInFile } from './configuration-place.js'
import { Checks } from './gateway-checks.js'
import { useFlow } from './gateway-flow.js'
import { downOf, GatewayState, stateOf, useTraffic } from './gateway-state.js'
import { TrafficOverTime } from './gateway-traffic.js'
import { Refusals } from './refusals.js'

/** One gateway: state, checks and refusals. */
export function GatewayPage({ name, query }) {
  const set = (change) => replace(['gateways', name], { ...query, ...change })
  const found = now.value?.gateways?.find((each) => each.name === name)
  const { connections, secondsSinceEvent } = found?.gauges ?? {}
  const { loaded, traffic } = useTraffic(name, stateOf(found))
  const { pause } = usePause({ kind: 'gateway', of: { gateway: name }, name })
  const down = downOf(name)
  const flow = useFlow(name, found)
  const { value: shown, reload } = useLoaded(
    (signal) => invoke('gateway-show', { gateway: name }, signal),
    [name, now.value?.configuration?.at, stateOf(found), loaded.at],
  )
  const own = traffic[name]
  // What is wrong comes first, also on a phone.
  const isRefusing = refusedMany(own)
  const isKnown = own !== undefined || loaded.error !== undefined
  const refusals = html`<h2>Refusals</h2><${ChangedSince} of=${shown} /><${Refusals} gateway=${name} at=${loaded.at} />`
  const newest = found && html`<${Newest} name=${name} at=${own?.lastAt} />`
  const isLong = isRefusing && episodesIn(shown) >= LONG_FROM
  // Beside long refusals, else below them.
  const below = html`${found && html`<${TrafficOverTime} name=${name} query=${query} set=${set} traffic=${own} isRefusing=${refusesNow(found, own, now.value?.troubles)} />`}
    <h2>Checks</h2>
    <${Checks} name=${name} of=${shown} reload=${reload} />`
  return html`<section class="page" aria-labelledby="title">
    <${Back} to="gateways" />
    <header class="bar"><h1 id="title">${name} ${found && html`<${GatewayState} of=${found} traffic=${own} isUnknown=${loaded.error !== undefined} isPaused=${pause !== undefined} />`}</h1>
      <div class="buttons">${found && html`<${Pause} of=${{ gateway: name }} kind="gateway" name=${name} />${CONNECTED.has(found.transport) && html`<${Reconnect} name=${name} />`}`}<a class="button" href=${link('messages', { gateway: name })}>Its messages</a>
        <a class="button" href=${link('compose', { gateway: name })}>Send a test message</a></div></header>
    <${ReloadOfDaemon} />
    <${PauseNote} of=${pause} />
    <${StoreAway} />
    ${now.value === undefined && html`<${Loading} />`}
    ${now.value && !now.value.error && !found && html`<${Empty} title="It does not run."><a href=${link('configuration')}>See the configuration</a><//>`}
    <div class=${`columns ${isRefusing ? 'in-three' : ''}`}><div>
    ${
      found &&
      html`<${Facts} of=${{
        transport: found.transport,
        [found.ok ? 'detail' : 'last error']:
          html`<span class=${found.ok ? '' : 'error'}>${withLocalTimes(found.detail ?? (found.ok ? 'it works' : 'it does not say why'))}</span>`,
        'does not work':
          down?.since !== undefined &&
          html`for <${Age} at=${down.since} />, since <${Moment} at=${down.since} />`,
        'what to do': down && html`<${Words} text=${withoutCommands(withLocalTimes(down.todo))} />`,
        login: found.account,
        ...secretFacts(shown),
        workers: shown?.pulled && html`<${Pulled} of=${shown.pulled} />`,
        connections: connections === undefined ? undefined : String(connections),
        'last event':
          secondsSinceEvent === undefined || /last event|no event/.test(found.detail)
            ? undefined
            : `${span(secondsSinceEvent * 1000)} ago`,
        ...flow,
        'may send to': found.open ? 'anybody (open: true)' : 'whoever wrote to it',
      }} />`
    }
    </div><div>${isKnown && (isRefusing ? refusals : newest)}</div>${isRefusing && html`<div>${newest}${isLong && below}</div>`}</div>
    ${!isLong && below}
    ${!isRefusing && refusals}
  </section>`
}

/** From this number of episodes on, refusals are much longer than what is beside them. */
const LONG_FROM = 3

function episodesIn({ refusals = [] } = {}) {
  return refusals.reduce((sum, { earlier }) => sum + 1 + earlier.length, 0)
}

/** How many messages workers have not pulled yet, and when they last did. */
function Pulled({ of: { messages, more, oldestAt, at, by } }) {
  return html`${count(messages, 'message', more ? '+' : '')} not pulled${oldestAt !== undefined && html`, oldest <${Age} at=${oldestAt} />`}, last pull <${Age} at=${at} /> ago by ${authorOf(by)}`
}

/** Where the secrets of a gateway are configured; never their values. */
function secretFacts({ secrets = [] } = {}) {
  if (secrets.length === 0) return {}
  const places = secrets.map(
    ({ setting, variables, file, line }) =>
      html`<code>${setting}</code> in <a href=${placeInFile({ file, line })}>${file}${line !== undefined && `, line ${line}`}</a>${variables.length > 0 && html`, from ${variables.map((name, index) => html`${index > 0 && ', '}<code key=${name}>${name}</code>`)} in .env or the environment`}<br />`,
  )
  return { [secrets.length === 1 ? 'secret' : 'secrets']: html`${places}` }
}

/** Refusals from before the last change of the gateway, which may have corrected the cause. */
function ChangedSince({ of: { refusals = [] } = {} }) {
  const newest = refusals.toSorted((a, b) => b.last - a.last)[0]
  if (!newest?.changed) return null
  const { last, changed } = newest
  const { at, accepted, refused, kept } = changed
  const next = kept ? '.' : ': the next delivery shows whether it is accepted.'
  const nothing = `${refused > 0 ? 'No delivery was accepted' : 'Nothing was delivered'} since${next}`
  const since = accepted > 0 ? `${accepted.toLocaleString('en')} accepted since.` : nothing
  return html`<p class="now-it">The gateway was changed <${Age} at=${at} /> ago, after the last refused delivery (<${Moment} at=${last} />): the refusals below are from before. ${since}</p>`
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
